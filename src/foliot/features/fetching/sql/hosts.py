"""Rate limits of hosts, shared by all processes: allocates start times of requests, learns intervals from answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from zlib import crc32

from sqlalchemy import Select, bindparam, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.database import Transaction
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.features.fetching.model import NO_NEWS, NO_WORD, NO_WORD_KEPT, UNSET, HostSettings, HostUpdate, Robots
from foliot.features.fetching.politeness import Politeness, allowance, courtesy, quicker, spacing
from foliot.features.fetching.sql import host_pauses
from foliot.features.fetching.tables import host_turns, hosts

TAKERS = 16
"""How many holders of the last turns are remembered, by the CRC of their names."""
ROBOTS_KEPT = timedelta(hours=12)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class HostDemand:
    """Requests to a host in flight, and how many others wait for a turn."""

    busy: int = 0
    waiting: int = 0
    """Processes and spiders, each once for a tenant."""


IDLE = HostDemand()
CountDemand = Callable[[Transaction, Sequence[str], datetime], Awaitable[Mapping[str, HostDemand]]]
"""The demand at each of these hosts, now."""

Word = tuple[str, HostUpdate]
"""A tenant, and what the answer to its request says about the host."""
HostUpdates = Mapping[str, Sequence[Word]]


@dataclass(frozen=True, slots=True)
class HostCapacity:
    """What a host's rate limit allows now, and its robots.txt."""

    host: str
    starts: Sequence[datetime]
    """When each request may start; empty while the host is paused or at its limit."""
    interval: timedelta
    slowed: bool
    """Its answers have made the interval longer than the default."""
    robots: str | None
    robots_due: bool
    settings: HostSettings = UNSET
    free_at: datetime | None = None
    """When it is worthwhile to ask again, where no request may start; None: as soon as one ends."""
    takers: str = ""
    """Those that had the last turns, if the caller takes this one."""


@cache
def _blocked(dialect: Dialect) -> Select[Any]:
    return select(hosts.c.host).where(
        dialect.listed(hosts.c.host, "names"), hosts.c.next_at > bindparam("now", type_=Moment())
    )


@cache
def _locked(dialect: Dialect) -> Select[Any]:
    return dialect.lock(select(hosts).where(dialect.listed(hosts.c.host, "names")).order_by(hosts.c.host), skip=True)


async def blocked(
    conn: AsyncConnection, dialect: Dialect, names: Sequence[str], tenant_id: str, now: datetime
) -> set[str]:
    """Those of these hosts that are paused now, for all or for this tenant."""
    for_all = set((await conn.execute(_blocked(dialect), {"names": names, "now": now})).scalars())
    return for_all | await host_pauses.silent(conn, dialect, names, tenant_id, now)


async def host_capacities(  # noqa: PLR0913, PLR0917 -- what a limit depends on
    tx: Transaction,
    names: Collection[str],
    now: datetime,
    manners: Politeness,
    limit: int,
    count: CountDemand,
    taker: str,
) -> dict[str, HostCapacity]:
    """Locks these hosts and returns their capacities, at most `limit` each; those locked elsewhere are left out."""
    conn, dialect = tx.conn, tx.dialect
    ordered = sorted(names)
    rows = (await conn.execute(_locked(dialect), {"names": ordered})).all()
    if len(rows) < len(ordered) and await make(conn, dialect, ordered, now):
        rows = (await conn.execute(_locked(dialect), {"names": ordered})).all()
    # Counted under the locks, by what holds requests: those of a dead worker stop counting when its leases expire.
    demand = await count(tx, [row.host for row in rows], now) if rows else {}
    return {row.host: _room(row, demand.get(row.host, IDLE), now, manners, limit, taker) for row in rows}


async def make(conn: AsyncConnection, dialect: Dialect, names: Sequence[str], now: datetime) -> bool:
    """Inserts missing hosts, safe against concurrent inserts; whether any was missing."""
    known = set((await conn.execute(select(hosts.c.host).where(dialect.among(hosts.c.host, names)))).scalars())
    unknown = [name for name in names if name not in known]
    if unknown:
        await dialect.insert(conn, hosts, {"host": unknown, "next_at": [now] * len(unknown)}, conflict="ignore")
    return bool(unknown)


def _room(row: Any, demand: HostDemand, now: datetime, manners: Politeness, limit: int, taker: str) -> HostCapacity:
    settings = HostSettings.of(row.settings)
    manners = settings.manners(manners)
    interval = interval_of(row, manners)
    kept = NO_WORD_KEPT if row.robots == NO_WORD else ROBOTS_KEPT
    due = settings.robots is not Robots.IGNORE and (row.robots_at is None or row.robots_at < now - kept)
    free_at = row.next_at
    if interval and demand.waiting:
        # Others that wait come first; if none of them takes the turn, it is this one's again.
        free_at += courtesy(interval) * _recency(row.taker, taker, demand.waiting)
    most = 0 if free_at > now else allowance(manners, interval, demand.busy)
    # One request fetches robots.txt, and no other is sent until it is known.
    most = min(most, 1) if due and not demand.busy else 0 if due else most
    first = now + manners.lead if interval else now
    starts = [first + interval * at for at in range(min(most, limit))]
    return HostCapacity(
        row.host,
        starts,
        interval,
        row.interval_ms > 0,
        row.robots,
        due,
        settings,
        free_at if free_at > now else None,
        _takers(row.taker, taker),
    )


def _recency(takers: str | None, taker: str, others: int) -> float:
    """1 for the holder of the last turn, less for those before it, 0 for the one that has waited longest."""
    last = (takers or "").split()[:others]
    name = _short(taker)
    return 1 - last.index(name) / len(last) if name in last else 0


def _short(taker: str) -> str:
    return f"{crc32(taker.encode()):08x}"


def _takers(takers: str | None, taker: str) -> str:
    """Those that had the last turns, the newest first."""
    name = _short(taker)
    return " ".join([name, *(each for each in (takers or "").split() if each != name)][:TAKERS])


def interval_of(row: Any, manners: Politeness) -> timedelta:
    """Between two requests: the longest of what is set, learnt and stated."""
    stated: timedelta = max(row.interval_ms, row.crawl_delay_ms) * _MILLISECOND
    return max(manners.interval, stated)


async def use(conn: AsyncConnection, dialect: Dialect, taken: Mapping[str, tuple[HostCapacity, int]]) -> None:
    """Moves `next_at` of each host behind the start times that were used."""
    moved = {
        host: room.starts[count - 1] + spacing(room.interval)
        for host, (room, count) in taken.items()
        if count and room.interval
    }
    if moved:
        values = {"next_at": list(moved.values()), "taker": [taken[host][0].takers for host in moved]}
        await dialect.update(conn, hosts, {"host": list(moved)}, values)


async def learn(conn: AsyncConnection, dialect: Dialect, news: HostUpdates, now: datetime, manners: Politeness) -> None:
    """Stores what answers say about their hosts; most say nothing, and cost no statement."""
    telling = {
        host: words for host, words in news.items() if any(word is not NO_NEWS and word != NO_NEWS for _, word in words)
    }
    if not telling:
        return
    query = select(hosts).where(dialect.among(hosts.c.host, sorted(telling))).order_by(hosts.c.host)
    asking = any(word.asks or word.robots is not None for words in telling.values() for _, word in words)
    if not asking and not await host_pauses.of(conn, dialect, telling):
        # Good answers only: they change nothing but the interval of slowed hosts.
        query = query.where(hosts.c.interval_ms > 0)
    changed: dict[str, list[Any]] = {
        "next_at": [],
        "interval_ms": [],
        "crawl_delay_ms": [],
        "robots": [],
        "robots_at": [],
        "paused_until": [],
        "reason": [],
    }
    names = []
    rows = (await conn.execute(dialect.lock(query))).all()
    known = await host_pauses.of(conn, dialect, telling)
    pauses: dict[host_pauses.Pair, host_pauses.HostPause] = {}
    for row in rows:
        updates = _shared(row.host, telling[row.host], known, pauses, now, manners)
        learnt = _learnt(row, updates, now, manners)
        if learnt != _known(row):
            names.append(row.host)
            for column, value in zip(changed.values(), learnt, strict=True):
                column.append(value)
    if names:
        await dialect.update(conn, hosts, {"host": names}, changed)
    await host_pauses.write(conn, dialect, pauses, known)


def _shared(
    host: str,
    words: Sequence[Word],
    known: Mapping[host_pauses.Pair, host_pauses.HostPause],
    pauses: dict[host_pauses.Pair, host_pauses.HostPause],
    now: datetime,
    manners: Politeness,
) -> list[HostUpdate]:
    """The updates that hold for all tenants; those of one tenant are put into `pauses`.

    A host may limit one tenant's requests only. When two tenants are paused, the pause holds for all.
    """
    shared: list[HostUpdate] = []
    asked: set[str] = set()
    for tenant, word in words:
        pair = (host, tenant)
        before = pauses.get(pair) or known.get(pair)
        # Two tenants, or two paths of one, speak for the host.
        agreed = not tenant or (before is not None and before.counts(now) and before.disagrees(word))
        if tenant and (word.asks or (before is not None and word.well)):
            pauses[pair] = (before or host_pauses.HostPause(now, now)).told(word, now, manners, again=tenant in asked)
        if word.asks:
            asked.add(tenant)
        others = {**known, **pauses}
        agreed = agreed or any(
            at == host and other != tenant and pause.counts(now) for (at, other), pause in others.items()
        )
        shared.append(word if agreed or not word.asks else replace(word, pause=None, latency=None))
    return shared


async def prune(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> None:
    """Deletes hosts without requests since, and turns of dead processes; hosts with settings stay."""
    await conn.execute(delete(host_turns).where(host_turns.c.until < before))
    query = select(hosts.c.host).where(hosts.c.next_at < before, hosts.c.settings.is_(None)).limit(limit)
    if gone := list((await conn.execute(dialect.lock(query, skip=True))).scalars()):
        await conn.execute(delete(hosts).where(dialect.among(hosts.c.host, gone)))


def _known(row: Any) -> tuple[Any, ...]:
    return (
        row.next_at,
        row.interval_ms,
        row.crawl_delay_ms,
        row.robots,
        row.robots_at,
        row.paused_until,
        row.reason,
    )


def _learnt(row: Any, updates: Sequence[HostUpdate], now: datetime, manners: Politeness) -> tuple[Any, ...]:
    manners = HostSettings.of(row.settings).manners(manners)
    next_at, interval = row.next_at, row.interval_ms * _MILLISECOND
    delay, robots, robots_at = row.crawl_delay_ms, row.robots, row.robots_at
    paused_until, reason = row.paused_until, row.reason
    asked = False
    for news in updates:
        if news.asks:
            if news.pause:
                until = now + min(news.pause, host_pauses.LONGEST)
                next_at = max(next_at, until)
                paused_until, reason = max(paused_until or until, until), news.reason
            # Ten concurrent 429s count as one.
            interval = interval if asked else news.slowed(max(interval, manners.interval))
            asked = True
        elif news.well and not asked and interval:
            interval = quicker(interval, manners.interval)
        if news.robots is not None:
            robots, robots_at = news.robots, now
            delay = int((news.crawl_delay or timedelta()) / _MILLISECOND)
            # The request for robots.txt counts: the delay that it states begins with it.
            next_at = max(next_at, now + (news.crawl_delay or timedelta()))
    if interval <= max(manners.interval, timedelta(milliseconds=20)):
        interval = timedelta()
    return next_at, int(interval / _MILLISECOND), delay, robots, robots_at, paused_until, reason
