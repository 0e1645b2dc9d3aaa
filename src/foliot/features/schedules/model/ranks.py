"""Ranks schedules by the duration of their runs (p95), and by their failure ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SLOW = 0.95
FEWEST = 3
"""Runs that must have ended before a schedule's failure ratio is ranked."""


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """How a schedule's runs ended within a period."""

    schedule_id: str
    runs: int
    """Runs that succeeded or failed."""
    bad: int
    p95_ms: int | None
    """The duration that 95 of 100 runs did not exceed, to two digits; None when none started."""

    @property
    def failure_ratio(self) -> float:
        return round(self.bad / self.runs, 4) if self.runs else 0.0


def two_digits(milliseconds: int) -> int:
    """Truncated, never rounded up: a filter for runs of at least this duration then finds the run itself."""
    power = int(10 ** max(len(str(milliseconds)) - 2, 0))
    return milliseconds // power * power


def slowest(found: Sequence[ScheduleRecord], most: int) -> Sequence[ScheduleRecord]:
    timed = [(one.p95_ms, one) for one in found if one.p95_ms is not None]
    timed.sort(key=lambda pair: (-pair[0], pair[1].schedule_id))
    return [one for _, one in timed[:most]]


def flakiest(found: Sequence[ScheduleRecord], most: int) -> Sequence[ScheduleRecord]:
    """Schedules with failures, among those with at least `FEWEST` ended runs."""
    bad = [one for one in found if one.bad and one.runs >= FEWEST]
    bad.sort(key=lambda one: (-one.failure_ratio, -one.bad, one.schedule_id))
    return bad[:most]
