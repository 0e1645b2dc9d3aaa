"""What the pictures of a dashboard are drawn from: outcomes, counts by time, what needs a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from foliot.domain.ledger import Entry, Fate
from foliot.domain.ranking import Record
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
class Unmade:
    """Ranges of instants that made no run, with their schedules, the newest first."""

    entries: Sequence[tuple[str, Entry]]
    more: bool
    """There are more of them than one picture can hold."""


@dataclass(frozen=True, slots=True)
class Stir:
    """Where the tenant's runs stand: whatever happens to one of them, this is another than before."""

    by_state: Mapping[str, int]
    """The open ones."""
    newest_id: str | None
    claims: int
    """How often the open ones were taken up."""
    settled: tuple[object, ...] = ()
    """What was said about letters that have ended long ago: discarded, muted, unmuted, and mutes that are over."""


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

    async def stir(self, tenant_id: str, now: datetime) -> Stir:
        """Reads the open runs through their index."""
        ...

    async def revision(self, tenant_id: str) -> tuple[object, ...]:
        """Another than before when one of the tenant's schedules was made, changed or deleted."""
        ...

    async def bars(self, tenant_id: str, stretch: Stretch, only: Sequence[str] | None) -> Sequence[Bar]:
        """The runs made in the stretch, folded by what they belong to, bucket and state; `only` these schedules'."""
        ...

    async def failing(self, tenant_id: str, stretch: Stretch, only: Sequence[str] | None, limit: int) -> Sequence[str]:
        """The schedules whose runs of the stretch failed, the worst first; `only` among these."""
        ...

    async def rare(self, tenant_id: str, stretch: Stretch, limit: int, among: int) -> Sequence[str]:
        """Of so many schedules, the newest, those with the fewest runs in the stretch, but with one."""
        ...

    async def missing(self, tenant_id: str, start: datetime, end: datetime, limit: int) -> Sequence[str]:
        """The schedules that missed instants of [start, end), the latest first."""
        ...

    async def counts(
        self, tenant_id: str, stretch: Stretch, schedule_id: str | None = None
    ) -> Sequence[tuple[int, RunState, int]]:
        """How many runs of each state were made in each bucket."""
        ...

    async def fared(self, tenant_id: str, since: datetime, most: int) -> Sequence[Record]:
        """How the newest `most` runs of schedules ended that were made since then; one for each schedule."""
        ...

    async def unmade(
        self, tenant_id: str, start: datetime, end: datetime, only: Sequence[str] | None = None, *, long: bool = False
    ) -> Unmade:
        """Instants of [start, end) that were missed or skipped: `only` of these schedules, or `long` ranges alone."""
        ...

    async def unmade_counts(
        self, tenant_id: str, tiles: Sequence[tuple[datetime, datetime]]
    ) -> Sequence[tuple[int, Fate, int]]:
        """How many were missed or skipped in each tile [start, end); without ranges that lie in more than one."""
        ...
