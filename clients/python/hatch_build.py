"""Packs src/foliot/client alone, as the distribution foliot-client."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def _modules(root: Path) -> Path:
    """In a source distribution they lie beside this file, in the repository two folders up."""
    inside = root / "src" / "foliot" / "client"
    return inside if inside.is_dir() else root.parents[1] / "src" / "foliot" / "client"


class ApiVersion(MetadataHookInterface):
    """The version of the API that the modules were written from."""

    def update(self, metadata: dict[str, Any]) -> None:
        operations = (_modules(Path(self.root)) / "operations.py").read_text(encoding="utf-8")
        found = re.search(r'^VERSION = "(.+)"$', operations, re.MULTILINE)
        if found is None:
            raise RuntimeError("operations.py names no version: run make reference")
        metadata["version"] = found[1]


class Modules(BuildHookInterface[Any]):
    """`foliot` itself gets no `__init__.py`: where the server is installed too, it has its own."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        place = "foliot/client" if self.target_name == "wheel" else "src/foliot/client"
        modules = _modules(Path(self.root))
        for file in sorted([*modules.glob("*.py"), modules / "py.typed"]):
            build_data["force_include"][str(file)] = f"{place}/{file.name}"
