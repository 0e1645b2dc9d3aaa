"""Runs that are written down after they have ended, and schedules that are taken out whole: what a demo needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from foliot.domain.ledger import Entry
from foliot.domain.run import Fence
from foliot.domain.schedule import Schedule
from foliot.domain.settle import NewRun, Plan
from foliot.ports.views import Ending


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """One try: when it began, by whom, and how it ended. Its ending carries the fence."""

    started_at: datetime
    worker: str
    ending: Ending


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
class Account:
    """What became of a schedule's instants: its runs and ledger, and where the last plan left its cursor."""

    runs: Sequence[PastRun]
    ledger: Sequence[Entry]
    last: Plan


@dataclass(frozen=True, slots=True)
class Erased:
    """What was taken out."""

    schedules: int
    runs: int


class Past(Protocol):
    """Only for schedules that nobody fires meanwhile: they are new in the same transaction, or locked."""

    async def write(self, accounts: Sequence[Account]) -> None:
        """The rows that living through it all would have left, with a handful of statements."""
        ...

    async def count_runs(self, tenant_id: str, schedule_ids: Sequence[str]) -> int: ...

    async def readdress(self, tenant_id: str, schedule_ids: Sequence[str], old: str, new: str) -> None:
        """Write `new` for `old` in what they do, in all their versions and runs: a place that they call has moved."""
        ...

    async def erase(self, tenant_id: str, schedule_ids: Sequence[str]) -> Erased:
        """The schedules, and everything that came of them. What people did to them stays in the trail."""
        ...
