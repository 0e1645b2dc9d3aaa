"""How often the loops of a process turn, how long leases last, and how long an actor rests between two rounds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

FINEST = 0.001
"""Timers are no finer than this: what is nearer is now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast the engine's clockwork turns; `scale` below 1 makes faults heal sooner, for tests that cause them."""

    tick: float = 1.0
    batch: int = 1000
    lease: float = 30.0
    heartbeat: float = 10.0
    sweep: float = 5.0
    scale: float = 1.0
    gather: float = 0.015
    """How long little work waits for company, when it comes in quick succession."""
    retention: timedelta | None = timedelta(days=30)


def rest_until(moment: datetime | None, now: datetime, longest: float, shortest: float = FINEST) -> float:
    """Seconds until this moment; `longest` when there is none, and at most that."""
    return longest if moment is None else min(max((moment - now).total_seconds(), shortest), longest)


def backoff(failures: int, first: float, longest: float) -> float:
    """Seconds to rest after so many failures in a row: twice as long after each."""
    return min(first * 2.0 ** min(failures - 1, 10), longest)


@dataclass(slots=True)
class Spacing:
    """Keeps the rounds of an actor apart: one costs the database the same, however little it finds or writes."""

    gap: float = 0.0
    _last: float = float("-inf")

    def mark(self) -> None:
        """A round has been made now."""
        self._last = asyncio.get_running_loop().time()

    def clear(self) -> None:
        """The next round may follow at once."""
        self._last = float("-inf")

    def early(self, gap: float | None = None) -> float:
        """Seconds until the next round is due; 0 when it is."""
        left = self._last + (self.gap if gap is None else gap) - asyncio.get_running_loop().time()
        return left if left > FINEST else 0.0
