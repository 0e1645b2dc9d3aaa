"""The health file: kept fresh by the process itself, for probes that look at it from outside without asking it.

Fresh means that its event loop turns; the first word says whether the database answers. Nothing else is asked: no
restart of this process mends a broker or a Scrapyd that is away.
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
"""For the database, within which the file must be touched all the same."""
READY = "ready"


@dataclass(frozen=True, slots=True)
class HealthFileWritten:
    """What one round did."""

    rest: float


@dataclass(slots=True, kw_only=True)
class HealthFile:
    """Touches the file each round, and writes it anew only when its word changes: a full disk does not stop it."""

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
        """Whole or not at all: a reader never sees half a word."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        fresh.write_text(f"{word}\n", encoding="utf-8")
        fresh.replace(self.path)
        self._said = word

    def remove(self) -> None:
        """A process that stops is not ready any more, and does not say so again."""
        self._over = True
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def health_file(settings: Settings, store: Database) -> HealthFile | None:
    """The one that the settings name; None where they name none."""
    if settings.health_file is None:
        return None
    return HealthFile(path=settings.health_file, database=DatabaseProbe(store), period=PERIOD * settings.time_scale)
