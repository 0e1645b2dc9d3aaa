"""The health file: touched by the process itself, for probes that cannot or should not connect to it.

A fresh file means that the event loop runs; its first word says whether the database answers. Nothing else is checked:
no restart of this process repairs a broker or a Scrapyd that is down.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from foliot.config.settings import Settings
from foliot.db.database import Database
from foliot.features.health.probes import DatabaseProbe

PERIOD = 5.0
PATIENCE = 3.0
"""Timeout of the database check, within which the file must be touched all the same."""
READY = "ready"


@dataclass(frozen=True, slots=True)
class HealthFileWritten:
    """The result of one round."""

    rest: float


@dataclass(slots=True, kw_only=True)
class HealthFile:
    """Touches the file each round, and rewrites it only when its state changes: a full disk does not stop it."""

    path: Path
    database: DatabaseProbe
    period: float = PERIOD
    name: str = "health file"
    topics: Sequence[str] = ()
    _said: str | None = field(init=False, default=None)
    _over: bool = field(init=False, default=False)

    async def run_once(self) -> HealthFileWritten:
        try:
            why = await asyncio.wait_for(self.database.check(), PATIENCE)
        except TimeoutError:
            why = "the database did not answer in time"
        word = READY if why is None else f"not ready: {why}"
        if self._over:
            return HealthFileWritten(self.period)
        if word != self._said or not self.path.exists():
            self._write(word)
        os.utime(self.path)
        return HealthFileWritten(self.period)

    def _write(self, word: str) -> None:
        """Atomic: a reader never sees a partial file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        fresh.write_text(f"{word}\n", encoding="utf-8")
        fresh.replace(self.path)
        self._said = word

    def remove(self) -> None:
        """A process that stops is no longer ready, and does not write the file again."""
        self._over = True
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def health_file(settings: Settings, store: Database) -> HealthFile | None:
    """The file that the settings name; None where they name none."""
    if settings.health_file is None:
        return None
    return HealthFile(path=settings.health_file, database=DatabaseProbe(store), period=PERIOD * settings.time_scale)
