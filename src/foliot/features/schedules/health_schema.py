"""Answers about the health of schedules: their last outcomes, and the slowest and flakiest of them."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.engine.model.run import RunState
from foliot.features.schedules.usecases.health import RankingPeriod


@declared
class RunOutcome:
    """The outcome of one ended run."""

    run_id: str
    state: RunState
    duration_ms: float | None
    at: datetime
    """When it ended."""


@declared
class ScheduleHealth:
    """The health of one schedule."""

    schedule_id: str
    outcomes: list[RunOutcome]
    """Its last 20, oldest first."""
    success_ratio: float | None
    """Of those that succeeded or failed, from 0 to 1."""
    avg_duration_ms: float | None
    """Of those that succeeded."""
    failing_since: datetime | None
    """When the first failure since the last success ended, as far as the outcomes go back."""
    streak: int
    """Failures since the last success, as far as the outcomes go back."""


@declared
class ScheduleHealthList:
    """The schedules that exist, in the order asked for."""

    items: list[ScheduleHealth]


@declared
class RankingFilters:
    """Filters of runs that show where the numbers come from."""

    runs: str
    failed: str
    slow: str | None


@declared
class RankedSchedule:
    """A schedule with the record of its runs."""

    schedule_id: str
    name: str
    runs: int
    """Runs that succeeded or failed."""
    failed: int
    failure_ratio: float
    p95_ms: int | None
    """The duration that 95 of 100 runs did not exceed, to two digits."""
    q: RankingFilters


@declared
class ScheduleRanking:
    """The slowest and the flakiest schedules, worst first."""

    over: RankingPeriod
    since: datetime
    runs: int
    whole: bool
    """False when there were more runs than are counted: these are the newest."""
    slowest: list[RankedSchedule]
    flakiest: list[RankedSchedule]
