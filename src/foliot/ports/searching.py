"""What is asked of the store by those who look for things among very many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from foliot.domain.mute import Mute
from foliot.domain.query import Query
from foliot.domain.run import RunState
from foliot.domain.schedule import Schedule
from foliot.ports.views import Page, RunView


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time [start, end), cut into buckets of one width; the last may be cut short."""

    start: datetime
    end: datetime
    width: timedelta

    @property
    def buckets(self) -> int:
        return -((self.start - self.end) // self.width)


@dataclass(frozen=True, slots=True)
class Cell:
    """Runs of one bucket that are in the same state."""

    bucket: int
    state: RunState
    count: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Runs of one bucket that were late alike and took about as long."""

    bucket: int
    late: bool
    took_ms: int | None
    """To two digits; None for a run that has not ended, or never began."""
    count: int


@dataclass(frozen=True, slots=True)
class Points:
    """Runs that have begun, a column for each thing known of them; in no order."""

    ids: Sequence[str] = ()
    at_ms: Sequence[int] = ()
    """Milliseconds from the beginning of the window to when it was made."""
    took_ms: Sequence[int] = ()
    """Of one that goes on, so far."""
    states: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterGroup:
    """Dead letters that failed alike."""

    fingerprint: str
    count: int
    first_at: datetime
    last_at: datetime
    sample: RunView
    """The newest of them."""
    schedules: Sequence[tuple[str, str]]
    """(id, name) of those they come from; the ten with the most."""
    arrivals: Sequence[int]
    """How many came in each of the last hours, oldest first."""
    counted_from: datetime
    """Where the first of those hours begins."""
    mute: Mute | None = None
    """Who wants to hear nothing of it, and until when."""


@dataclass(frozen=True, slots=True)
class Pile:
    """All the letters that a filter matches."""

    groups: int
    letters: int
    oldest_at: datetime | None
    ages: Sequence[int]
    """How many are not older than each of `AGES`, and older than the one before; last, those that are older still."""


AGES = (timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=3), timedelta(days=7))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to go on with what was typed."""

    field: str
    value: str
    label: str
    hint: str = ""


class Searching(Protocol):
    """Runs and schedules, as a filter describes them. `now` is what `late` is judged by."""

    async def runs(self, tenant_id: str, query: Query, page: Page, now: datetime) -> list[RunView]:
        """Newest first."""
        ...

    async def count(self, tenant_id: str, query: Query, now: datetime) -> Mapping[RunState, int]:
        """How many there are in each state; exact."""
        ...

    async def series(self, tenant_id: str, query: Query, window: Window, now: datetime) -> list[Cell]:
        """The same over time, by when runs were made."""
        ...

    async def timings(self, tenant_id: str, query: Query, window: Window, share: float, now: datetime) -> list[Timing]:
        """How long they took, and whether they were late: of a share of them, chosen by chance and always alike."""
        ...

    async def begun(self, tenant_id: str, query: Query, now: datetime) -> Mapping[RunState, tuple[int, int]]:
        """How many there are in each state, and how many of them have begun; exact."""
        ...

    async def points(
        self, tenant_id: str, query: Query, start: datetime, shares: Mapping[RunState, float], now: datetime
    ) -> Points:
        """Those that have begun: of each state a share, from none (0) to all (1), chosen by chance and always alike."""
        ...

    async def schedules(self, tenant_id: str, query: Query, page: Page) -> list[Schedule]:
        """Newest first; deleted ones only if the filter names them."""
        ...

    async def several_schedules(self, tenant_id: str, ids: Sequence[str]) -> list[Schedule]:
        """Those there are, deleted ones too, in the order asked for."""
        ...

    async def count_schedules(self, tenant_id: str, query: Query) -> int: ...

    async def letters(self, tenant_id: str, query: Query, page: Page, now: datetime) -> tuple[list[LetterGroup], Pile]:
        """Groups of dead letters without an answer, those with the newest letter first; and what there is in all."""
        ...

    async def suggest(self, tenant_id: str, field: str, text: str, limit: int) -> list[Suggestion]:
        """`field`: schedule, tag, pipeline, run."""
        ...

    async def recent(self, tenant_id: str, column: str) -> list[str]:
        """The queues (`queue`) or workers (`worker`) of the newest runs."""
        ...
