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
READY, NOT_READY = "ready", "not ready: "


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
        word = READY if why is None else f"{NOT_READY}{why}"
        if self._over:
            return HealthFileWritten(self.period)
        if word != self._said or not self.path.exists():
            self._write(word)
        os.utime(self.path)
        return HealthFileWritten(self.period)

    def _write(self, word: str) -> None:
        _replace(self.path, word)
        self._said = word

    def remove(self) -> None:
        """A process that stops is no longer ready, and does not write the file again."""
        self._over = True
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


@dataclass(slots=True)
class JointHealthFile:
    """One file for several processes: as fresh as the stalest of their own files, and ready when all of them are.

    Written by their supervisor, which runs no event loop.
    """

    path: Path
    count: int
    period: float = PERIOD
    _said: str | None = field(init=False, default=None)

    def part(self, number: int) -> Path:
        """The file of one process."""
        return self.path.with_name(f"{self.path.name}-{number}")

    def write(self) -> None:
        words, times = [], []
        for number in range(1, self.count + 1):
            try:
                word = self.part(number).read_text(encoding="utf-8").strip()
                times.append(self.part(number).stat().st_mtime_ns)
            except OSError:
                word = f"{NOT_READY}it is starting"
            if word != READY:
                words.append(f"process {number}: {word.removeprefix(NOT_READY)}")
        text = NOT_READY + "; ".join(words) if words else READY
        with suppress(OSError):
            if text != self._said or not self.path.exists():
                _replace(self.path, text)
                self._said = text
            if times:
                os.utime(self.path, ns=(min(times), min(times)))

    def forget(self, number: int) -> None:
        """A process that has ended is not ready; one that was killed could not remove its file."""
        with suppress(OSError):
            self.part(number).unlink(missing_ok=True)

    def remove(self) -> None:
        for path in (self.path, *(self.part(number) for number in range(1, self.count + 1))):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _replace(path: Path, word: str) -> None:
    """Atomic: a reader never sees a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(f"{word}\n", encoding="utf-8")
    fresh.replace(path)


def health_file(settings: Settings, store: Database) -> HealthFile | None:
    """The file that the settings name; None where they name none."""
    if settings.health_file is None:
        return None
    return HealthFile(path=settings.health_file, database=DatabaseProbe(store), period=PERIOD * settings.time_scale)
