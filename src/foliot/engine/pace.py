"""Periods of the actors, the length of leases, and helpers for how long an actor sleeps between two rounds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

FINEST = 0.001
"""Resolution of timers: anything nearer is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePace:
    """Periods of the engine; `scale` below 1 makes recovery faster, for tests that cause faults."""

    tick: float = 1.0
    batch: int = 1000
    lease: float = 30.0
    heartbeat: float = 10.0
    sweep: float = 5.0
    scale: float = 1.0
    gather: float = 0.015
    """How long few runs wait for more, when they come in quick succession (group commit)."""
    retention: timedelta | None = timedelta(days=30)


def rest_until(moment: datetime | None, now: datetime, longest: float, shortest: float = FINEST) -> float:
    """Seconds until this moment; `longest` when there is none, and at most that."""
    return longest if moment is None else min(max((moment - now).total_seconds(), shortest), longest)


def backoff(failures: int, first: float, longest: float) -> float:
    """Seconds to sleep after so many failures in a row: exponential."""
    return min(first * 2.0 ** min(failures - 1, 10), longest)


@dataclass(slots=True)
class Spacing:
    """Keeps the rounds of an actor apart: one costs the database the same, however little it finds or writes."""

    gap: float = 0.0
    _last: float = float("-inf")

    def mark(self) -> None:
        """A round was made now."""
        self._last = asyncio.get_running_loop().time()

    def clear(self) -> None:
        """The next round may follow at once."""
        self._last = float("-inf")

    def early(self, gap: float | None = None) -> float:
        """Seconds until the next round is due; 0 when it is."""
        left = self._last + (self.gap if gap is None else gap) - asyncio.get_running_loop().time()
        return left if left > FINEST else 0.0
