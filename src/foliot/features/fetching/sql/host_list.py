"""Lists hosts with their limits, and stores what people set for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, or_, select, update

from foliot.db.database import Statements
from foliot.features.fetching.model import HostSettings
from foliot.features.fetching.politeness import Politeness
from foliot.features.fetching.sql import host_pauses, hosts
from foliot.features.fetching.sql.host_pauses import HostPause, Pair
from foliot.features.fetching.tables import host_pauses as pause_rows
from foliot.features.fetching.tables import host_turns
from foliot.features.fetching.tables import hosts as host_rows

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRow:
    """A stored host."""

    host: str
    next_at: datetime
    interval: timedelta
    """Learnt from its answers."""
    crawl_delay: timedelta
    robots_at: datetime | None
    settings: Mapping[str, Any] | None
    paused_until: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class SqlHosts(Statements):
    """Statements of the use cases on hosts."""

    async def list(
        self, tenant_id: str | None, q: str, after: str | None, limit: int, now: datetime, *, exact: bool = False
    ) -> Sequence[HostRow]:
        """By name, whose names contain `q`; with a tenant, those where it has requests or a pause."""
        query = select(host_rows).order_by(host_rows.c.host).limit(limit)
        if exact:
            query = query.where(host_rows.c.host == q)
        elif q:
            query = query.where(host_rows.c.host.contains(q, autoescape=True))
        if after is not None:
            query = query.where(host_rows.c.host > after)
        if tenant_id is not None:
            requests = select(host_turns.c.host).where(host_turns.c.tenant_id == tenant_id)
            pauses = select(pause_rows.c.host).where(pause_rows.c.tenant_id == tenant_id)
            query = query.where(or_(host_rows.c.host.in_(requests), host_rows.c.host.in_(pauses)))
        return [_host(row) for row in await self.conn.execute(query)]

    async def longest_interval(self, names: Sequence[str], manners: Politeness) -> timedelta:
        """Between requests to whichever of these hosts is slowest; the default where none is known."""
        rows = await self.conn.execute(select(host_rows).where(self.dialect.among(host_rows.c.host, names)))
        found = [hosts.interval_of(row, HostSettings.of(row.settings).manners(manners)) for row in rows]
        return max(found, default=manners.interval)

    async def locked(self, host: str, now: datetime) -> HostRow:
        """The host, locked; inserted where nothing was fetched from it yet."""
        await hosts.make(self.conn, self.dialect, [host], now)
        query = self.dialect.lock(select(host_rows).where(host_rows.c.host == host))
        return _host((await self.conn.execute(query)).one())

    async def set(self, host: str, settings: Mapping[str, Any] | None) -> None:
        await self.conn.execute(update(host_rows).where(host_rows.c.host == host).values(settings=settings))

    async def set_least(self, host: str, tenant_id: str, least: timedelta, now: datetime) -> None:
        """The tenant's own interval at a locked host."""
        known = await host_pauses.of(self.conn, self.dialect, [host])
        pair = (host, tenant_id)
        before = known.get(pair) or HostPause(now, now)
        await host_pauses.write(self.conn, self.dialect, {pair: before.at_least(least)}, known)

    async def waiting(self, names: Sequence[str], now: datetime) -> defaultdict[str, dict[str, int]]:
        """Requests of processes that wait, by host and tenant."""
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        query = select(host_turns.c.host, host_turns.c.tenant_id, func.sum(host_turns.c.waiting).label("waiting"))
        query = query.where(self.dialect.among(host_turns.c.host, names), host_turns.c.until > now)
        for row in await self.conn.execute(query.group_by(host_turns.c.host, host_turns.c.tenant_id)):
            if row.waiting:
                found[row.host][row.tenant_id] = int(row.waiting)
        return found

    async def pauses(self, names: Sequence[str]) -> dict[Pair, HostPause]:
        return await host_pauses.of(self.conn, self.dialect, names)


def _host(row: Any) -> HostRow:
    return HostRow(
        host=row.host,
        next_at=row.next_at,
        interval=row.interval_ms * _MILLISECOND,
        crawl_delay=row.crawl_delay_ms * _MILLISECOND,
        robots_at=row.robots_at,
        settings=row.settings,
        paused_until=row.paused_until,
        reason=row.reason,
    )
