"""The actions of a process by kind, and the disk that its database is on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.config.settings import Settings
from foliot.engine.ports import Action


@dataclass(frozen=True, slots=True)
class Registry:
    """The registered actions of this process, by kind."""

    actions: Mapping[str, Action]

    def get(self, kind: str) -> Action | None:
        return self.actions.get(kind)

    def kinds(self) -> Sequence[str]:
        return sorted(self.actions)


def disk_of(settings: Settings) -> Mapping[str, Any]:
    path = settings.sqlite_path
    if path is None or not path.exists():
        return {}
    return {"path": str(path), "bytes": path.stat().st_size, "free": shutil.disk_usage(path.parent).free}
