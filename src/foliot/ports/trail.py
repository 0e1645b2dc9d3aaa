"""Who changed what: appended in the change's own transaction, chained afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from foliot.domain.trail import Head, Link, TrailEntry
from foliot.ports.views import Page


class Trail(Protocol):
    """Entries are added and chained; nothing here alters or removes one."""

    async def add(self, entries: Sequence[TrailEntry]) -> None:
        """Append, with one statement. They wait for their places in their tenants' chains."""
        ...

    async def chain(self, limit: int) -> int:
        """Give waiting entries their places, oldest first; those of a tenant whom another is serving are left to it."""
        ...

    async def waits(self) -> bool:
        """Whether an entry waits for its place."""
        ...

    async def oldest_waiting(self, tenant_id: str) -> datetime | None: ...

    async def count_waiting(self, tenant_id: str) -> int:
        """How many entries have no place in the chain yet."""
        ...

    async def get(self, tenant_id: str, entry_id: str) -> TrailEntry | None: ...

    async def find(
        self,
        tenant_id: str,
        page: Page,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **filters: str | None,
    ) -> list[TrailEntry]:
        """Newest first, of [start, end). `filters`: user_id, thing, thing_id, verb."""
        ...

    async def latest_of_each(self, tenant_id: str, recent: int) -> list[TrailEntry]:
        """The newest entry of everybody who is among so many of the newest ones."""
        ...

    async def length(self) -> int:
        """How many entries the heads of all tenants count."""
        ...

    async def next_tenant(self, after: str) -> str | None:
        """The next tenant, by name, that has entries or a head."""
        ...

    async def head(self, tenant_id: str) -> Head | None: ...

    async def walk(self, tenant_id: str, after_seq: int, limit: int) -> list[Link]:
        """Chained entries in the order of their places."""
        ...
