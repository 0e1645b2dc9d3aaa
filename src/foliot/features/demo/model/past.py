"""Finished runs that are inserted after the fact, and counts of deleted rows."""

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
    """One attempt: when it began, on which worker, and its ending, which carries the fencing token."""

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
        """The fencing token of its last attempt."""
        return self.attempts[-1].ending.fence


@dataclass(frozen=True, slots=True)
class PastAccount:
    """A schedule's history: its runs and ledger entries, and the cursor after the last instant."""

    runs: Sequence[PastRun]
    ledger: Sequence[LedgerEntry]
    last: SchedulePlan


@dataclass(frozen=True, slots=True)
class ErasedRows:
    """Counts of deleted rows."""

    schedules: int
    runs: int
