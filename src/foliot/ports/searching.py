"""What is asked of the store by those who look for things among very many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

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
    """Runs of one bucket that ended alike, were late alike and took about as long."""

    bucket: int
    state: RunState
    late: bool
    took_ms: int | None
    """To two digits; None for a run that has not ended, or never began."""
    count: int


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

    async def schedules(self, tenant_id: str, query: Query, page: Page) -> list[Schedule]:
        """Newest first; deleted ones only if the filter names them."""
        ...

    async def several_schedules(self, tenant_id: str, ids: Sequence[str]) -> list[Schedule]:
        """Those there are, deleted ones too, in the order asked for."""
        ...

    async def count_schedules(self, tenant_id: str, query: Query) -> int: ...

    async def letters(self, tenant_id: str, query: Query, page: Page, now: datetime) -> tuple[list[LetterGroup], int]:
        """Groups of dead letters without an answer, those with the newest letter first; and how many groups."""
        ...

    async def suggest(self, tenant_id: str, field: str, text: str, limit: int) -> list[Suggestion]:
        """`field`: schedule, tag, pipeline, run."""
        ...

    async def recent(self, tenant_id: str, column: str) -> list[str]:
        """The queues (`queue`) or workers (`worker`) of the newest runs."""
        ...
