"""Selects the articles to claim next: the most urgent whose hosts are not paused, fairly over tenants."""

from __future__ import annotations

import math
import random
import string
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    TextClause,
    bindparam,
    exists,
    func,
    literal,
    select,
    text,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.queue_name import PRIORITIES
from foliot.db.database import Transaction
from foliot.db.dialects import Dialect
from foliot.db.metadata import moment_out
from foliot.engine.model.run import AGEING
from foliot.engine.sql.claims import rounded
from foliot.features.articles.model import QUEUE, Avoid
from foliot.features.articles.tables import articles
from foliot.features.fetching.sql import hosts, turns
from foliot.features.fetching.sql.hosts import HostDemand
from foliot.features.fetching.sql.turns import HostUse
from foliot.features.fetching.tables import hosts as host_rows

SHARES = 100
"""How many tenants one pick is divided among at most."""
SAMPLE = 100
"""How many hosts of a tenant are sampled when its most urgent articles are all of paused hosts."""
EACH_HOST = 4
"""And how many articles of each."""
WIDER = 2
"""How many times more articles are read than are wanted: some are of paused hosts."""


class ArticlePick(NamedTuple):
    """An article that could be taken: its rank in its tenant's share, and what orders it among all."""

    rank: int
    order: Any
    article_id: str
    host: str
    tenant_id: str


# Loose index scan from one tenant to the next, instead of reading every queued article. A paused queue has none.
_TENANTS = text("""
WITH RECURSIVE t(tenant_id) AS (
  SELECT min(tenant_id) FROM articles WHERE lane = :lane
  UNION ALL
  SELECT (SELECT min(a.tenant_id) FROM articles a WHERE a.lane = :lane AND a.tenant_id > t.tenant_id)
  FROM t WHERE t.tenant_id IS NOT NULL
)
SELECT tenant_id FROM t WHERE tenant_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :lane AND paused_at IS NOT NULL)
""")

# The same over the hosts of a tenant, from a random place in the alphabet on.
_HOSTS = text("""
WITH RECURSIVE h(host, seen) AS (
  SELECT min(host), 1 FROM articles WHERE lane = :lane AND tenant_id = :tenant AND host >= :start
  UNION ALL
  SELECT (SELECT min(a.host) FROM articles a WHERE a.lane = :lane AND a.tenant_id = :tenant AND a.host > h.host),
    h.seen + 1
  FROM h WHERE h.host IS NOT NULL AND h.seen < :most
)
SELECT host FROM h WHERE host IS NOT NULL
""")


@cache
def _leased(dialect: Dialect) -> Select[Any]:
    query = select(articles.c.host, func.count().label("busy"), literal(0).label("waiting")).where(
        articles.c.lease_until.is_not(None), dialect.listed(articles.c.host, "names")
    )
    return query.group_by(articles.c.host)


@cache
def _in_flight(dialect: Dialect) -> CompoundSelect[Any]:
    # One statement: a claim costs a round trip for each.
    return union_all(_leased(dialect), turns.held(dialect))


async def in_flight(tx: Transaction, names: Sequence[str], now: datetime) -> Mapping[str, HostDemand]:
    """Concurrent requests by host: fetches of articles by their leases, and the turns that processes hold."""
    return turns.added(await tx.conn.execute(_in_flight(tx.dialect), {"names": names} | turns.bound(now)))


@cache
def _wanted(dialect: Dialect) -> Select[Any]:
    here = exists().where(articles.c.lane == QUEUE, _among_tenants(), articles.c.host == host_rows.c.host)
    return select(host_rows.c.host).where(dialect.listed(host_rows.c.host, "names"), here)


@cache
def _queued(dialect: Dialect) -> Select[Any]:
    query = select(articles.c.host, articles.c.tenant_id, func.count().label("waiting")).where(
        articles.c.lane == QUEUE, _among_tenants(), dialect.listed(articles.c.host, "names")
    )
    return query.group_by(articles.c.host, articles.c.tenant_id)


def _among_tenants() -> ColumnElement[bool]:
    return articles.c.tenant_id.in_(bindparam("tenants", expanding=True))


async def _tenants(tx: Transaction) -> list[str]:
    return list((await tx.conn.execute(_TENANTS, {"lane": QUEUE})).scalars())[:SHARES]


async def wanted(tx: Transaction, names: Sequence[str]) -> set[str]:
    """Those of these hosts that have queued articles."""
    tenants = await _tenants(tx)
    if not tenants:
        return set()
    return set((await tx.conn.execute(_wanted(tx.dialect), {"names": names, "tenants": tenants})).scalars())


async def queued(tx: Transaction, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many articles of these hosts are queued, by tenant."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    if tenants := await _tenants(tx):
        for row in await tx.conn.execute(_queued(tx.dialect), {"names": names, "tenants": tenants}):
            found[row.host][row.tenant_id] = row.waiting
    return found


async def leased(tx: Transaction, names: Sequence[str]) -> Mapping[str, int]:
    """Fetches of articles by host."""
    return {row.host: row.busy for row in await tx.conn.execute(_leased(tx.dialect), {"names": names})}


@lru_cache(maxsize=SHARES)
def _urgent(shares: int, each: int) -> TextClause:
    part = (
        "SELECT * FROM (SELECT {0} AS share, id, host, tenant_id, order_key FROM articles WHERE lane = :lane"
        " AND tenant_id = :tenant{0} AND order_key <= :horizon AND ready_at <= :now ORDER BY order_key LIMIT {1}) s{0}"
    )
    found = " UNION ALL ".join(part.format(at, each) for at in range(shares))
    silent = "h.next_at > :now OR p.next_at > :now"
    joined = "hosts h ON h.host = s.host LEFT JOIN host_pauses p ON p.host = s.host AND p.tenant_id = s.tenant_id"
    return text(f"SELECT s.*, {silent} AS silent FROM ({found}) s LEFT JOIN {joined}")  # noqa: S608 -- numbers


@lru_cache(maxsize=SHARES)
def _of_hosts(count: int, each: int) -> TextClause:
    part = (
        "SELECT * FROM (SELECT id, host, order_key FROM articles WHERE lane = :lane AND tenant_id = :tenant"
        " AND host = :host{0} AND order_key <= :horizon AND ready_at <= :now ORDER BY order_key LIMIT {1}) s{0}"
    )
    return text(" UNION ALL ".join(part.format(at, each) for at in range(count)))


async def picks(  # noqa: PLR0913, PLR0917 -- the conditions of `take`
    conn: AsyncConnection,
    dialect: Dialect,
    now: datetime,
    limit: int,
    passed_over: frozenset[str] = frozenset(),
    avoid: Avoid | None = None,
    without: Collection[str] = (),
) -> list[ArticlePick]:
    """Candidates for a claim, best first: each tenant's first comes before any tenant's second.

    Without hosts that are passed over, and without tenants in `without`.
    """
    waiting = await conn.execute(_TENANTS, {"lane": QUEUE})
    tenants = [row.tenant_id for row in waiting if row.tenant_id not in without]
    # Shuffled, so that the alphabet prefers no tenant.
    random.shuffle(tenants)
    tenants = tenants[:SHARES]
    if not tenants:
        return []
    bound = _bound(dialect, now)
    each = rounded(WIDER * math.ceil(limit / len(tenants)))
    found = await conn.execute(
        _urgent(len(tenants), each), bound | {f"tenant{at}": one for at, one in enumerate(tenants)}
    )
    shares: dict[str, list[Any]] = defaultdict(list)
    for row in found:
        shares[tenants[row.share]].append(row)
    chosen: list[ArticlePick] = []
    for tenant, rows in shares.items():
        silent = {row.host for row in rows if row.silent} | passed_over
        shut = {row.host for row in rows if row.host in silent or (avoid is not None and avoid(tenant, row.host))}
        free = [row for row in rows if row.host not in shut]
        if len(free) < len(rows) and len(free) < each // WIDER and len(rows) == each:
            others = await _elsewhere(conn, dialect, tenant, now, silent | shut | {row.host for row in free})
            free += [row for row in others if avoid is None or not avoid(tenant, row.host)]
        free.sort(key=lambda row: (row.order_key, row.id))
        chosen += [ArticlePick(rank, row.order_key, row.id, row.host, tenant) for rank, row in enumerate(free)]
    return sorted(chosen)


async def _elsewhere(
    conn: AsyncConnection, dialect: Dialect, tenant: str, now: datetime, silent: set[str]
) -> list[Any]:
    """Articles of other hosts, when the most urgent ones are all of paused hosts."""
    asked = {"lane": QUEUE, "tenant": tenant, "most": SAMPLE}
    start = "".join(random.choices(string.ascii_lowercase + string.digits, k=2))  # noqa: S311 -- spreads looks, guards nothing
    names = [row.host for row in await conn.execute(_HOSTS, asked | {"start": start})]
    if len(names) < SAMPLE:
        names += [row.host for row in await conn.execute(_HOSTS, asked | {"start": ""}) if row.host not in names]
    names = [name for name in names[:SAMPLE] if name not in silent]
    silent = silent | await hosts.blocked(conn, dialect, names, tenant, now)
    names = [name for name in names if name not in silent]
    if not names:
        return []
    bound = _bound(dialect, now) | {"tenant": tenant} | {f"host{at}": name for at, name in enumerate(names)}
    return list(await conn.execute(_of_hosts(len(names), EACH_HOST), bound))


def _bound(dialect: Dialect, now: datetime) -> dict[str, Any]:
    horizon = now + (len(PRIORITIES) - 1) * AGEING
    return {"lane": QUEUE, "now": moment_out(dialect.name, now), "horizon": moment_out(dialect.name, horizon)}


USE = HostUse(in_flight=leased, wanted=wanted, waiting=queued)
"""How articles use hosts."""
