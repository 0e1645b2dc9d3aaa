"""Builds the dashboard into the wheel and the source distribution."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "set SKIP_DASHBOARD=1 for a wheel without a dashboard"


class Dashboard(BuildHookInterface[Any]):
    """Only for what is installed elsewhere: in a checkout, `make` builds when something changed.

    The source distribution contains the built dashboard, so that its wheel is made without Node. A wheel without a
    dashboard is made only on request (SKIP_DASHBOARD=1): pip hides what a hook warns of.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        ui = _ui(Path(self.root))
        return [] if ui is None or _skipped() or self._packed().is_dir() else [ui.NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or _skipped():
            return
        place = "src/foliot/web/dist" if self.target_name == "sdist" else "foliot/web/dist"
        built = self._packed()
        if not built.is_dir():
            built = self._built()
        build_data["force_include"][str(built)] = place

    def _packed(self) -> Path:
        """What a source distribution contains; a checkout, which has no PKG-INFO, builds anew."""
        root = Path(self.root)
        return root / "src/foliot/web/dist" if (root / "PKG-INFO").is_file() else root / "no-dist"

    def _built(self) -> Path:
        ui = _ui(Path(self.root))
        if ui is None:
            raise RuntimeError(f"there is no ui/ to build the dashboard from: {WITHOUT}")
        try:
            return Path(ui.build())
        except ui.NotBuilt as why:
            raise RuntimeError(f"{ui.told(why)}\n{WITHOUT}") from why


def _skipped() -> bool:
    """As in `ui/build.py`, which may not be there."""
    return os.environ.get("SKIP_DASHBOARD", "0") not in {"", "0"}


def _ui(root: Path) -> ModuleType | None:
    """`ui/build.py`; None where there is only Python, as in the image of spiders."""
    path = root / "ui" / "build.py"
    spec = importlib.util.spec_from_file_location("foliot_ui_build", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
