"""Health of schedules: last outcomes, success ratio and failure streak of one, and a ranking of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.run import RunState

SHOWN = 20
"""How many of a schedule's last outcomes are considered."""

GOOD = frozenset({RunState.SUCCESS, RunState.PARTIAL})
BAD = frozenset({RunState.FAILED, RunState.DEAD_LETTER})

SLOW = 0.95
"""The quantile of durations by which schedules are ranked."""
FEWEST = 3
"""Runs that must have ended before a schedule's failure ratio is ranked."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The outcome of one ended run."""

    run_id: str
    state: RunState
    at: datetime
    """When it ended."""
    duration_ms: float | None
    """None for one that never started."""
    message: str = ""
    """Why it failed; empty unless the reader asked for it."""


@dataclass(frozen=True, slots=True)
class ScheduleOutcomes:
    """The last outcomes of one schedule, oldest first."""

    schedule_id: str
    outcomes: Sequence[EndedRun]

    @property
    def success_ratio(self) -> float | None:
        """Of the runs that finished, those that succeeded in full; cancelled runs do not count."""
        judged = [
            one.state is RunState.SUCCESS for one in self.outcomes if one.state in GOOD | BAD | {RunState.DEGRADED}
        ]
        return round(sum(judged) / len(judged), 4) if judged else None

    @property
    def avg_duration_ms(self) -> float | None:
        """Of the runs that succeeded: how long it takes when it works."""
        took = [one.duration_ms for one in self.outcomes if one.state in GOOD and one.duration_ms is not None]
        return round(sum(took) / len(took), 3) if took else None

    @property
    def failures(self) -> Sequence[EndedRun]:
        """Those that failed since the last success, oldest first."""
        failed: list[EndedRun] = []
        for run in reversed(self.outcomes):
            if run.state in GOOD:
                break
            if run.state in BAD:
                failed.append(run)
        return failed[::-1]

    @property
    def streak(self) -> int:
        return len(self.failures)

    @property
    def failing_since(self) -> datetime | None:
        """When the first run of the streak ended, as far as the outcomes shown go back."""
        return self.failures[0].at if self.failures else None


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


def slowest(records: Sequence[ScheduleRecord], most: int) -> Sequence[ScheduleRecord]:
    timed = [(record.p95_ms, record) for record in records if record.p95_ms is not None]
    timed.sort(key=lambda pair: (-pair[0], pair[1].schedule_id))
    return [record for _, record in timed[:most]]


def flakiest(records: Sequence[ScheduleRecord], most: int) -> Sequence[ScheduleRecord]:
    """Schedules that both succeed and fail, among those with at least `FEWEST` ended runs.

    One that always fails is broken, not flaky; the attention list has it."""
    bad = [record for record in records if 0 < record.bad < record.runs and record.runs >= FEWEST]
    bad.sort(key=lambda record: (-record.failure_ratio, -record.bad, record.schedule_id))
    return bad[:most]
