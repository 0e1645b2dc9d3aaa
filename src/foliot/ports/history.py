"""What the pictures of a dashboard are drawn from: outcomes, counts by time, what needs a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from foliot.domain.ledger import Entry
from foliot.domain.run import RunState
from foliot.domain.timeline import Grouping
from foliot.domain.wellness import Ended


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time [start, end), cut into buckets of so many seconds, and what is told apart in it."""

    start: datetime
    end: datetime
    width: int
    by: Grouping = Grouping.SCHEDULE


@dataclass(frozen=True, slots=True)
class Bar:
    """Runs of one group that were made in the same bucket and are in the same state."""

    key: str | None
    """A schedule's id, a queue, or tags, each between line feeds; None for runs without a schedule."""
    state: RunState
    count: int
    at: datetime
    """When the first of them began."""
    until: datetime | None
    """When the last of them ended; None while one has not."""
    run_id: str
    """The first of them."""


@dataclass(frozen=True, slots=True)
class Stir:
    """Where the tenant's runs stand: whatever happens to one of them, this is another than before."""

    by_state: Mapping[str, int]
    """The open ones."""
    newest_id: str | None
    claims: int
    """How often the open ones were taken up."""


class History(Protocol):
    """Everything here is bounded by a stretch of time or by a number of things, never by how much is stored."""

    async def names(self, tenant_id: str, schedule_ids: Sequence[str]) -> Mapping[str, str]:
        """What the tenant's schedules among these are called, deleted ones too."""
        ...

    async def outcomes(
        self, tenant_id: str, schedule_ids: Sequence[str], each: int, *, why: bool = False
    ) -> Mapping[str, Sequence[Ended]]:
        """The last ended runs of each of these schedules, oldest first; `why` they failed only if asked for."""
        ...

    async def stir(self, tenant_id: str) -> Stir:
        """Reads the open runs through their index."""
        ...

    async def revision(self, tenant_id: str) -> tuple[object, ...]:
        """Another than before when one of the tenant's schedules was made, changed or deleted."""
        ...

    async def bars(self, tenant_id: str, stretch: Stretch, only: Sequence[str] | None) -> Sequence[Bar]:
        """The runs made in the stretch, folded by what they belong to, bucket and state; `only` these schedules'."""
        ...

    async def busy(self, tenant_id: str, stretch: Stretch) -> Sequence[str]:
        """The schedules with runs in the stretch, those whose runs failed first, then those with the fewest."""
        ...

    async def counts(
        self, tenant_id: str, stretch: Stretch, schedule_id: str | None = None
    ) -> Sequence[tuple[int, RunState, int]]:
        """How many runs of each state were made in each bucket."""
        ...

    async def unmade(
        self, tenant_id: str, start: datetime, end: datetime, schedule_id: str | None = None
    ) -> Sequence[tuple[str, Entry]]:
        """Instants of [start, end) that were missed or skipped, with their schedules; of very many, the newest."""
        ...
