"""What may need a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Named:
    """A schedule, and the moment that matters about it."""

    schedule_id: str
    name: str
    at: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Missed:
    """Instants of one schedule that made no run because nobody was there in time."""

    schedule_id: str
    name: str
    count: int
    first: datetime
    last: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Letters:
    """Dead letters without an answer; `count` stops at what was looked at."""

    count: int
    oldest: datetime
    newest_id: str
    alike: int
    """How many of them failed as most did."""
    message: str
    """How those failed."""


class Troubles(Protocol):
    """Each question reads what is wrong, and hardly anything that is not."""

    async def failing(self, tenant_id: str, since: datetime, limit: int) -> Sequence[Named]:
        """Active schedules whose newest ended run failed, and those that completed so since this moment."""
        ...

    async def overdue(self, tenant_id: str, before: datetime, limit: int) -> tuple[int, Sequence[Named]]:
        """How many active schedules had an instant before this moment that is not settled, and the first of them."""
        ...

    async def missed(self, tenant_id: str, since: datetime, until: datetime, limit: int) -> Sequence[Missed]:
        """Those whose last missed instant lies in this stretch."""
        ...

    async def letters(self, tenant_id: str, most: int, now: datetime) -> Letters | None:
        """Those of groups that nobody has muted."""
        ...

    async def damaged(self, tenant_id: str, limit: int) -> Sequence[Named]: ...

    async def waiting(self, tenant_id: str) -> Mapping[str, tuple[int, datetime]]:
        """How many runs wait in each queue, and since when the oldest could start."""
        ...
