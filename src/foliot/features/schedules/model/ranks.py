"""Which schedules take longest, and which fail most often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SLOW = 0.95
FEWEST = 3
"""Runs that must have ended before their failures say something about a schedule."""


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """How a schedule's runs ended within a stretch of time."""

    schedule_id: str
    runs: int
    """Those that succeeded or failed."""
    bad: int
    p95_ms: int | None
    """The duration that 95 of 100 did not exceed, to two digits; None when none began."""

    @property
    def failure_ratio(self) -> float:
        return round(self.bad / self.runs, 4) if self.runs else 0.0


def two_digits(milliseconds: int) -> int:
    """Cut, never rounded up: a run that took the whole is among those that took this long."""
    power = int(10 ** max(len(str(milliseconds)) - 2, 0))
    return milliseconds // power * power


def slowest(found: Sequence[ScheduleRecord], most: int) -> Sequence[ScheduleRecord]:
    timed = [(one.p95_ms, one) for one in found if one.p95_ms is not None]
    timed.sort(key=lambda pair: (-pair[0], pair[1].schedule_id))
    return [one for _, one in timed[:most]]


def flakiest(found: Sequence[ScheduleRecord], most: int) -> Sequence[ScheduleRecord]:
    """Those that failed at all, of those that ended often enough."""
    bad = [one for one in found if one.bad and one.runs >= FEWEST]
    bad.sort(key=lambda one: (-one.failure_ratio, -one.bad, one.schedule_id))
    return bad[:most]
