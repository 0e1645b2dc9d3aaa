"""The patience of hosts: whoever fetches from one takes its next moments here, whichever process it is in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.columns import Moment
from foliot.db.dialects import Dialect
from foliot.features.articles.model.article import NO_WORD, NO_WORD_KEPT, Politeness, allowance, quicker, slower
from foliot.features.articles.model.fetch import HostUpdate
from foliot.features.articles.sql import host_pauses
from foliot.features.articles.tables import articles, hosts

ROBOTS_KEPT = timedelta(hours=12)
_MILLISECOND = timedelta(milliseconds=1)

Word = tuple[str, HostUpdate]
"""What an answer taught, and the tenant that it was given to."""


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """What a host can bear now."""

    host: str
    starts: Sequence[datetime]
    """When each request may start; none while its patience is used up."""
    interval: timedelta
    slowed: bool
    """Its answers have made us slower than we would be."""
    robots: str | None
    robots_due: bool


@cache
def _blocked(dialect: Dialect) -> Select[Any]:
    return select(hosts.c.host).where(
        dialect.listed(hosts.c.host, "names"), hosts.c.next_at > bindparam("now", type_=Moment())
    )


@cache
def _locked(dialect: Dialect) -> Select[Any]:
    return dialect.lock(select(hosts).where(dialect.listed(hosts.c.host, "names")).order_by(hosts.c.host), skip=True)


@cache
def _busy(dialect: Dialect) -> Select[Any]:
    query = select(articles.c.host, func.count().label("busy")).where(
        articles.c.lease_until.is_not(None), dialect.listed(articles.c.host, "names")
    )
    return query.group_by(articles.c.host)


async def blocked(
    conn: AsyncConnection, dialect: Dialect, names: Sequence[str], tenant_id: str, now: datetime
) -> set[str]:
    """Which of these hosts want silence at this moment, of everybody or of this tenant."""
    everybodys = set((await conn.execute(_blocked(dialect), {"names": names, "now": now})).scalars())
    return everybodys | await host_pauses.silent(conn, dialect, names, tenant_id, now)


async def host_capacities(
    conn: AsyncConnection, dialect: Dialect, names: Collection[str], now: datetime, manners: Politeness, limit: int
) -> dict[str, HostCapacity]:
    """What these hosts can bear, up to so much each, locked; one that somebody else is taking from is left out."""
    ordered = sorted(names)
    rows = (await conn.execute(_locked(dialect), {"names": ordered})).all()
    if len(rows) < len(ordered) and await _make(conn, dialect, ordered, now):
        rows = (await conn.execute(_locked(dialect), {"names": ordered})).all()
    busy = await _in_flight(conn, dialect, [row.host for row in rows])
    return {row.host: _room(row, busy.get(row.host, 0), now, manners, limit) for row in rows}


async def _make(conn: AsyncConnection, dialect: Dialect, names: Sequence[str], now: datetime) -> bool:
    """A new host is made with patience; two who make it at once make one. Whether there was one."""
    known = set((await conn.execute(select(hosts.c.host).where(dialect.among(hosts.c.host, names)))).scalars())
    unknown = [name for name in names if name not in known]
    if unknown:
        await dialect.insert(conn, hosts, {"host": unknown, "next_at": [now] * len(unknown)}, conflict="keep")
    return bool(unknown)


async def _in_flight(conn: AsyncConnection, dialect: Dialect, names: Sequence[str]) -> dict[str, int]:
    """Counted anew each time: a worker that vanished gives its share back when its leases end."""
    if not names:
        return {}
    return {row.host: row.busy for row in await conn.execute(_busy(dialect), {"names": names})}


def _room(row: Any, busy: int, now: datetime, manners: Politeness, limit: int) -> HostCapacity:
    interval = _interval(row, manners)
    kept = NO_WORD_KEPT if row.robots == NO_WORD else ROBOTS_KEPT
    due = row.robots_at is None or row.robots_at < now - kept
    most = 0 if row.next_at > now else allowance(manners, interval, busy)
    # One asks what is allowed, and nobody else until it is known.
    most = min(most, 1) if due and not busy else 0 if due else most
    first = now + manners.lead if interval else now
    starts = [first + interval * at for at in range(min(most, limit))]
    return HostCapacity(row.host, starts, interval, row.interval_ms > 0, row.robots, due)


def _interval(row: Any, manners: Politeness) -> timedelta:
    stated: timedelta = max(row.interval_ms, row.crawl_delay_ms) * _MILLISECOND
    return max(manners.interval, stated)


async def use(conn: AsyncConnection, dialect: Dialect, taken: Mapping[str, tuple[HostCapacity, int]]) -> None:
    """Move each host's next moment behind the last of so many starts."""
    moved = {
        host: room.starts[count - 1] + room.interval for host, (room, count) in taken.items() if count and room.interval
    }
    if moved:
        await dialect.update(conn, hosts, {"host": list(moved)}, {"next_at": list(moved.values())})


async def learn(
    conn: AsyncConnection, dialect: Dialect, news: Mapping[str, Sequence[Word]], now: datetime, manners: Politeness
) -> None:
    """What answers taught about their hosts; most teach nothing, and cost nothing."""
    telling = {
        host: told
        for host, told in news.items()
        if any(one.pause or one.robots is not None or one.well for _, one in told)
    }
    if not telling:
        return
    query = select(hosts).where(dialect.among(hosts.c.host, sorted(telling))).order_by(hosts.c.host)
    asking = any(one.pause or one.robots is not None for told in telling.values() for _, one in told)
    if not asking and not await host_pauses.of(conn, dialect, telling):
        # Everybody is content: only hosts that were slowed down have anything to change.
        query = query.where(hosts.c.interval_ms > 0)
    changed: dict[str, list[Any]] = {
        "next_at": [],
        "interval_ms": [],
        "crawl_delay_ms": [],
        "robots": [],
        "robots_at": [],
    }
    names = []
    rows = (await conn.execute(dialect.lock(query))).all()
    known = await host_pauses.of(conn, dialect, telling)
    pauses: dict[host_pauses.Pair, host_pauses.HostPause] = {}
    for row in rows:
        told = _shared(row.host, telling[row.host], known, pauses, now, manners)
        made = _learnt(row, told, now, manners)
        if made != (row.next_at, row.interval_ms, row.crawl_delay_ms, row.robots, row.robots_at):
            names.append(row.host)
            for column, value in zip(changed.values(), made, strict=True):
                column.append(value)
    if names:
        await dialect.update(conn, hosts, {"host": names}, changed)
    await host_pauses.write(conn, dialect, pauses, known)


def _shared(
    host: str,
    told: Sequence[Word],
    known: Mapping[host_pauses.Pair, host_pauses.HostPause],
    pauses: dict[host_pauses.Pair, host_pauses.HostPause],
    now: datetime,
    manners: Politeness,
) -> list[HostUpdate]:
    """What of it is everybody's business; what is one tenant's own is noted in `pauses`.

    A host that asks one tenant for patience has asked that tenant. Asked for by two, it is meant for all.
    """
    shared: list[HostUpdate] = []
    asked: set[str] = set()
    for tenant, one in told:
        pair = (host, tenant)
        before = pauses.get(pair) or known.get(pair)
        if tenant and (one.pause or (before is not None and one.well)):
            pauses[pair] = (before or host_pauses.HostPause(now, now)).told(one, now, manners, again=tenant in asked)
        if one.pause:
            asked.add(tenant)
        others = {**known, **pauses}
        agreed = not tenant or any(
            at == host and other != tenant and pause.counts(now) for (at, other), pause in others.items()
        )
        shared.append(one if agreed or not one.pause else replace(one, pause=None))
    return shared


async def prune(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> None:
    """Forget hosts that nobody has asked for anything since."""
    query = select(hosts.c.host).where(hosts.c.next_at < before).limit(limit)
    if gone := list((await conn.execute(dialect.lock(query, skip=True))).scalars()):
        await conn.execute(delete(hosts).where(dialect.among(hosts.c.host, gone)))


def _learnt(row: Any, told: Sequence[HostUpdate], now: datetime, manners: Politeness) -> tuple[Any, ...]:
    next_at, interval = row.next_at, row.interval_ms * _MILLISECOND
    delay, robots, robots_at = row.crawl_delay_ms, row.robots, row.robots_at
    asked = False
    for one in told:
        if one.pause:
            next_at = max(next_at, now + min(one.pause, host_pauses.LONGEST))
            # A host that asks ten of us at once for patience has asked once.
            interval = interval if asked else slower(max(interval, manners.interval))
            asked = True
        elif one.well and not asked and interval:
            interval = quicker(interval, manners.interval)
        if one.robots is not None:
            robots, robots_at = one.robots, now
            delay = int((one.crawl_delay or timedelta()) / _MILLISECOND)
    if interval <= max(manners.interval, timedelta(milliseconds=20)):
        interval = timedelta()
    return next_at, int(interval / _MILLISECOND), delay, robots, robots_at
