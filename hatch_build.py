"""Builds the dashboard into the wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Dashboard(BuildHookInterface[Any]):
    """Only for wheels that are installed elsewhere: in a checkout, `make` builds when something changed."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        ui = _ui(Path(self.root))
        return [] if ui is None or ui.skipped() else [ui.NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        ui = _ui(Path(self.root))
        if version == "editable" or ui is None or ui.skipped():
            return
        try:
            built = ui.build()
        except ui.NotBuilt as why:
            self.app.display_warning(ui.told(why))
            return
        build_data["force_include"][str(built)] = "foliot/web/dist"


def _ui(root: Path) -> ModuleType | None:
    """`ui/build.py`; None where there is only Python, as in the image of a part that answers no browser."""
    path = root / "ui" / "build.py"
    spec = importlib.util.spec_from_file_location("foliot_ui_build", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
