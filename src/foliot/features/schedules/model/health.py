"""Health of a schedule: its last outcomes, success ratio, mean duration and failure streak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.run import RunState

SHOWN = 20
"""How many of a schedule's last outcomes are considered."""

GOOD = frozenset({RunState.SUCCESS, RunState.PARTIAL})
BAD = frozenset({RunState.FAILED, RunState.DEAD_LETTER})


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
        """Of the runs that succeeded or failed; cancelled runs do not count."""
        judged = [one.state in GOOD for one in self.outcomes if one.state in GOOD | BAD]
        return round(sum(judged) / len(judged), 4) if judged else None

    @property
    def avg_duration_ms(self) -> float | None:
        """Of the runs that succeeded: how long it takes when it works."""
        took = [one.duration_ms for one in self.outcomes if one.state in GOOD and one.duration_ms is not None]
        return round(sum(took) / len(took), 3) if took else None

    @property
    def failures(self) -> Sequence[EndedRun]:
        """Those that failed since the last success, oldest first."""
        found: list[EndedRun] = []
        for one in reversed(self.outcomes):
            if one.state in GOOD:
                break
            if one.state in BAD:
                found.append(one)
        return found[::-1]

    @property
    def streak(self) -> int:
        return len(self.failures)

    @property
    def failing_since(self) -> datetime | None:
        """When the first run of the streak ended, as far as the outcomes shown go back."""
        return self.failures[0].at if self.failures else None
