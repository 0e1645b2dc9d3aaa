"""Pauses of one tenant at one host: a 429 or 503 slows only the tenant that got it, until another tenant gets one too.

Read and written under the lock of the host's row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.features.fetching.model import HostUpdate
from foliot.features.fetching.politeness import SLICE, Politeness, quicker, spacing
from foliot.features.fetching.tables import host_pauses

LONGEST = timedelta(seconds=60)
"""Upper bound of the pause that one response causes."""
REMEMBERED = timedelta(minutes=2)
"""How long one tenant's pause counts as a second voice when another tenant is paused."""
BRIEFEST = timedelta(milliseconds=20)
_MILLISECOND = timedelta(milliseconds=1)

Pair = tuple[str, str]
"""A host and a tenant."""


@dataclass(frozen=True, slots=True)
class HostPause:
    """Pause and interval of one tenant's requests to one host."""

    next_at: datetime
    asked_at: datetime
    """When the host last asked for it."""
    interval: timedelta = timedelta()
    """Learnt from answers; good ones end it."""
    least: timedelta = timedelta()
    """What the tenant itself set."""
    path: str | None = None
    """Of the last answer that asked for it."""
    reason: str | None = None

    @property
    def pace(self) -> timedelta:
        return max(self.interval, self.least)

    def room(self, now: datetime, limit: int) -> int:
        """How many requests one claim may allocate now."""
        if self.next_at > now:
            return 0
        return min(limit, max(1, SLICE // self.pace)) if self.pace else limit

    def told(self, news: HostUpdate, now: datetime, manners: Politeness, *, again: bool) -> HostPause:
        """The pause after this answer; `again`: an earlier answer of the same group has lengthened the interval."""
        if news.asks:
            until = max(self.next_at, now + min(news.pause or timedelta(), LONGEST))
            interval = self.interval if again else news.slowed(max(self.interval, manners.interval))
            return replace(
                self, next_at=until, asked_at=now, interval=interval, path=news.path or self.path, reason=news.reason
            )
        interval = quicker(self.interval, manners.interval) if news.well else self.interval
        return replace(self, interval=interval if interval > max(manners.interval, BRIEFEST) else timedelta())

    def at_least(self, least: timedelta) -> HostPause:
        """With the interval that the tenant sets for itself."""
        return replace(self, least=least)

    def counts(self, now: datetime) -> bool:
        """Whether it is recent, and good answers have not ended it."""
        return bool(self.interval) and self.asked_at > now - REMEMBERED

    def disagrees(self, news: HostUpdate) -> bool:
        """Whether that answer is about another path than this pause: two paths speak for the host."""
        return self.path is not None and bool(news.path) and self.path != news.path


def held_back(allotted: Iterable[tuple[Pair, datetime]], pauses: Mapping[Pair, HostPause]) -> dict[Pair, HostPause]:
    """The pauses of slowed tenants, moved behind the start times that were allocated."""
    held: dict[Pair, HostPause] = {}
    for pair, start_at in allotted:
        if pair in pauses and (pace := pauses[pair].pace):
            before = held.get(pair, pauses[pair]).next_at
            held[pair] = replace(pauses[pair], next_at=max(before, start_at) + spacing(pace))
    return held


@cache
def _of(dialect: Dialect) -> Select[Any]:
    return select(host_pauses).where(dialect.listed(host_pauses.c.host, "names"))


@cache
def _silent(dialect: Dialect) -> Select[Any]:
    return select(host_pauses.c.host).where(
        dialect.listed(host_pauses.c.host, "names"),
        host_pauses.c.tenant_id == bindparam("b_tenant"),
        host_pauses.c.next_at > bindparam("b_now", type_=Moment()),
    )


async def of(conn: AsyncConnection, dialect: Dialect, names: Collection[str]) -> dict[Pair, HostPause]:
    """Pauses of all tenants at these hosts."""
    rows = await conn.execute(_of(dialect), {"names": sorted(names)})
    return {
        (row.host, row.tenant_id): HostPause(
            row.next_at,
            row.asked_at,
            row.interval_ms * _MILLISECOND,
            row.least_ms * _MILLISECOND,
            row.path,
            row.reason,
        )
        for row in rows
    }


async def silent(
    conn: AsyncConnection, dialect: Dialect, names: Sequence[str], tenant_id: str, now: datetime
) -> set[str]:
    """Those of these hosts at which this tenant is paused."""
    bound = {"names": names, "b_tenant": tenant_id, "b_now": now}
    return set((await conn.execute(_silent(dialect), bound)).scalars())


async def freed_at(conn: AsyncConnection, now: datetime) -> datetime | None:
    """When the next pause ends."""
    freed: datetime | None = (
        await conn.execute(select(func.min(host_pauses.c.next_at)).where(host_pauses.c.next_at > now))
    ).scalar()
    return freed


async def write(
    conn: AsyncConnection, dialect: Dialect, changed: Mapping[Pair, HostPause], known: Collection[Pair]
) -> None:
    """Inserts or updates pauses; those in `known` have a row."""
    for pairs, there in (
        ([pair for pair in changed if pair not in known], False),
        ([pair for pair in changed if pair in known], True),
    ):
        if pairs:
            keys = {"host": [host for host, _ in pairs], "tenant_id": [tenant for _, tenant in pairs]}
            values = {
                "next_at": [changed[pair].next_at for pair in pairs],
                "asked_at": [changed[pair].asked_at for pair in pairs],
                "interval_ms": [int(changed[pair].interval / _MILLISECOND) for pair in pairs],
                "least_ms": [int(changed[pair].least / _MILLISECOND) for pair in pairs],
                "path": [changed[pair].path for pair in pairs],
                "reason": [changed[pair].reason for pair in pairs],
            }
            if there:
                await dialect.update(conn, host_pauses, keys, values)
            else:
                await dialect.insert(conn, host_pauses, keys | values, conflict="ignore")


async def prune(conn: AsyncConnection, before: datetime, limit: int) -> None:
    """Deletes pauses that ended before; an interval that a tenant set stays."""
    over = (host_pauses.c.next_at < before, host_pauses.c.least_ms == 0)
    query = select(host_pauses.c.host, host_pauses.c.tenant_id).where(*over).limit(limit)
    for host, tenant in (await conn.execute(query)).all():
        await conn.execute(delete(host_pauses).where(host_pauses.c.host == host, host_pauses.c.tenant_id == tenant))
