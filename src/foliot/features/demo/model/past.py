"""Runs that are written down after they have ended, and schedules that are taken out whole: what a demo needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.engine.model.ledger import LedgerEntry
from foliot.engine.model.run import Fence
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.settle import NewRun, SchedulePlan
from foliot.engine.model.views import AttemptEnding


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """One try: when it began, by whom, and how it ended. Its ending carries the fence."""

    started_at: datetime
    worker: str
    ending: AttemptEnding


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run of a schedule from its instant to its end."""

    id: str
    schedule: Schedule
    new: NewRun
    created_at: datetime
    attempts: Sequence[PastAttempt]

    @property
    def fence(self) -> Fence:
        """Of its last attempt."""
        return self.attempts[-1].ending.fence


@dataclass(frozen=True, slots=True)
class PastAccount:
    """What became of a schedule's instants: its runs and ledger, and where the last plan left its cursor."""

    runs: Sequence[PastRun]
    ledger: Sequence[LedgerEntry]
    last: SchedulePlan


@dataclass(frozen=True, slots=True)
class ErasedRows:
    """What was taken out."""

    schedules: int
    runs: int
