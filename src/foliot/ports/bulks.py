"""Bulk actions, as they are asked of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from foliot.domain.bulk import Bulk, BulkState
from foliot.domain.query import Query
from foliot.ports.views import Page

BULKS_TOPIC = "bulks"


def bulk_topic(bulk_id: str) -> str:
    """What wakes those who follow one bulk action."""
    return f"bulk:{bulk_id}"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a bulk action is to act on."""

    position: int
    thing_id: str


class Bulks(Protocol):
    """Bulk actions and their items."""

    async def add(self, bulk: Bulk, now: datetime) -> None: ...

    async def fix_runs(self, bulk: Bulk, query: Query, now: datetime) -> int:
        """These runs are its items from now on, whatever becomes of them; with one statement. Says how many."""
        ...

    async def fix_schedules(self, bulk: Bulk, query: Query) -> int: ...

    async def fix_ids(self, bulk: Bulk, ids: Sequence[str]) -> int: ...

    async def get(self, tenant_id: str, bulk_id: str, *, lock: bool = False) -> Bulk | None: ...

    async def find(self, tenant_id: str, page: Page) -> list[Bulk]:
        """Newest first."""
        ...

    async def failures(self, bulk_ids: Sequence[str], limit: int) -> Mapping[str, Sequence[tuple[str, str]]]:
        """(id, message) of the first items of each that failed."""
        ...

    async def outcomes(self, bulk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """The states of the runs that each has made so far."""
        ...

    async def turn(self, bulk_id: str, state: BulkState, reason: str, now: datetime) -> None:
        """Let it be in this state; `reason` says why."""
        ...

    async def next_at(self) -> datetime | None:
        """When the next turn of any running one is due."""
        ...

    async def claim(self, holder: str, now: datetime, lease: timedelta, limit: int) -> list[Bulk]:
        """Running ones whose turn has come and that nobody else holds: ours for the length of the lease."""
        ...

    async def items(self, bulk_id: str, limit: int) -> list[Item]:
        """The next ones that nobody has acted on."""
        ...

    async def settle(self, bulk: Bulk, holder: str, item: Item, now: datetime, failure: str | None) -> bool:
        """The item is done, well or badly; False when that is not for us to say: it runs no more, or is another's."""
        ...

    async def made(self, bulk: Bulk, item: Item, run_id: str) -> None: ...

    async def rest(self, bulk_id: str, holder: str, until: datetime) -> None:
        """Its next turn; whoever comes first then takes it."""
        ...

    async def prune(self, before: datetime, limit: int) -> int:
        """Delete up to so many that were over before this moment, with their items."""
        ...
