"""Limits on the concurrent runs of a tenant.

Serialises transactions that count a tenant's things before they add one, by locking a row.

Stored bytes per tenant: a running total that changes with each write, and that the janitor recounts.

It counts documents that clients write: each schedule, each body of its versions, and what runs were given beyond their
schedule. Results and logs do not count: they are deleted with their runs.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import ColumnElement, LargeBinary, Select, Text, and_, cast, delete, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.limits import PAYLOAD
from foliot.db.batch_statements import Change
from foliot.db.dialects import Dialect
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import runs, schedules, stored, tenants, turns, versions

FRESH = timedelta(seconds=5)
"""Seconds until a changed limit takes effect everywhere."""

# Few tenants have a limit of their own; only their rows are read.
_OWN = select(tenants.c.tenant_id, tenants.c.limits).where(
    type_coerce(tenants.c.limits, Text()).contains('"concurrent_runs"', autoescape=True)
)


@dataclass(slots=True)
class ConcurrencyLimits:
    """The limits of tenants' rows, or else of the settings; cached per process."""

    default: int | None = None
    own: Mapping[str, int | None] = field(default_factory=dict)
    read_at: datetime | None = None

    async def refresh(self, conn: AsyncConnection, now: datetime) -> None:
        if self.read_at is not None and timedelta() <= now - self.read_at < FRESH:
            return
        stated = await conn.execute(_OWN)
        self.own = {one: limits["concurrent_runs"] for one, limits in stated if _states_cap(limits)}
        self.read_at = now

    def capped(self, tenant_ids: Collection[str]) -> list[str]:
        """Those of these tenants that have a limit; without any there is nothing to count."""
        if not self.own and self.default is None:
            return []
        return sorted(one for one in tenant_ids if self.own.get(one, self.default) is not None)

    async def rooms(self, conn: AsyncConnection, dialect: Dialect, tenant_ids: Collection[str]) -> dict[str, int]:
        """How many more runs each limited tenant may start now; tenants without an entry are unlimited."""
        capped = self.capped(tenant_ids)
        if not capped:
            return {}
        query = select(runs.c.tenant_id, func.count().label("running")).where(
            dialect.among(runs.c.tenant_id, capped),
            runs.c.state == RunState.RUNNING.value,
            # Parked runs occupy no slot.
            runs.c.handle.is_(None),
        )
        counted = await conn.execute(query.group_by(runs.c.tenant_id))
        running = {row.tenant_id: row.running for row in counted}
        return {one: max((self.own.get(one, self.default) or 0) - running.get(one, 0), 0) for one in capped}

    async def within(self, conn: AsyncConnection, dialect: Dialect, rows: Sequence[Any]) -> Sequence[Any]:
        """Of rows about to be claimed, the first ones within their tenants' limits.

        The tenant's turn is locked until the claim is committed, so that no two claims count the same free slots.
        """
        capped = self.capped({row.tenant_id for row in rows})
        if not capped:
            return rows
        held = await try_turns(conn, dialect, capped, RUNS)
        rooms = dict.fromkeys(capped, 0) | await self.rooms(conn, dialect, held)
        return first_of_each(rows, rooms)


def first_of_each(found: Sequence[Any], rooms: Mapping[str, int]) -> list[Any]:
    """In the order given, no more of a tenant's than its limit allows. Each has a `tenant_id`."""
    left, kept = dict(rooms), []
    for one in found:
        room = left.get(one.tenant_id)
        if room is None:
            kept.append(one)
        elif room > 0:
            kept.append(one)
            left[one.tenant_id] = room - 1
    return kept


def _states_cap(limits: object) -> bool:
    """A damaged row is ignored: the settings apply."""
    if not isinstance(limits, Mapping) or "concurrent_runs" not in limits:
        return False
    cap = limits["concurrent_runs"]
    return cap is None or (isinstance(cap, int) and not isinstance(cap, bool) and cap >= 0)


SCHEDULES = "schedules"
RUNS = "runs"
STORED = "stored"
CATCHUP = "catchup"


async def wait_turn(conn: AsyncConnection, dialect: Dialect, tenant_id: str, thing: str) -> None:
    """Holds until the transaction ends."""
    query = dialect.lock(_rows(dialect, [tenant_id], thing))
    if (await conn.execute(query)).first() is None:
        await _make(conn, dialect, [tenant_id], thing)
        await conn.execute(query)


async def wait_turns(conn: AsyncConnection, dialect: Dialect, tenant_ids: Sequence[str], thing: str) -> None:
    """The same for several tenants, locked in their order."""
    query = dialect.lock(_rows(dialect, tenant_ids, thing).order_by(turns.c.tenant_id))
    missing = set(tenant_ids) - set((await conn.execute(query)).scalars())
    if missing:
        await _make(conn, dialect, sorted(missing), thing)
        await conn.execute(query)


async def try_turns(conn: AsyncConnection, dialect: Dialect, tenant_ids: Collection[str], thing: str) -> set[str]:
    """The tenants whose rows could be locked until the transaction ends; others are held by another transaction."""
    held = await _held(conn, dialect, tenant_ids, thing)
    missing = set(tenant_ids) - held
    if missing:
        missing -= set((await conn.execute(_rows(dialect, sorted(missing), thing))).scalars())
    if missing:
        await _make(conn, dialect, sorted(missing), thing)
        held |= await _held(conn, dialect, missing, thing)
    return held


async def _held(conn: AsyncConnection, dialect: Dialect, tenant_ids: Collection[str], thing: str) -> set[str]:
    query = dialect.lock(_rows(dialect, sorted(tenant_ids), thing), skip=True)
    return set((await conn.execute(query)).scalars())


def _rows(dialect: Dialect, tenant_ids: Collection[str], thing: str) -> Select[Any]:
    return select(turns.c.tenant_id).where(dialect.among(turns.c.tenant_id, tenant_ids), turns.c.thing == thing)


async def _make(conn: AsyncConnection, dialect: Dialect, tenant_ids: Collection[str], thing: str) -> None:
    rows = {"tenant_id": list(tenant_ids), "thing": [thing] * len(tenant_ids)}
    await dialect.insert(conn, turns, rows, conflict="ignore")


_SLOT = random.randrange(8)  # noqa: S311 -- spreads processes, hides nothing

BODY = versions.alias("bodies")
"""The version that holds the action of another, or its own."""
HOLDS: ColumnElement[bool] = and_(
    BODY.c.schedule_id == versions.c.schedule_id,
    BODY.c.version == func.coalesce(versions.c.same_as, versions.c.version),
)


def size(document: Mapping[str, Any]) -> int:
    """The bytes that the document takes in the database."""
    return len(orjson.dumps(document))


def digest(document: Mapping[str, Any]) -> str:
    """The same for the same document as it is stored."""
    return hashlib.sha256(orjson.dumps(document)).hexdigest()


def grown(tenant_id: str, count: int) -> Change:
    """The row that adds so many bytes, to be written with others."""
    return Change(stored, {}, {"tenant_id": [tenant_id], "slot": [_SLOT], "bytes": [count]}, "grow")


async def add(conn: AsyncConnection, dialect: Dialect, tenant_id: str, count: int) -> None:
    if count:
        row = {"tenant_id": [tenant_id], "slot": [_SLOT], "bytes": [count]}
        await dialect.insert(conn, stored, row, conflict="grow")


async def add_payloads(conn: AsyncConnection, dialect: Dialect, made: Sequence[tuple[str, Any]]) -> None:
    """Of new runs: (tenant, own document). Sorted by tenant, so that concurrent writers cannot deadlock."""
    grown: dict[str, int] = {}
    for tenant_id, document in made:
        if document is not None and (count := size(document)) >= PAYLOAD:
            grown[tenant_id] = grown.get(tenant_id, 0) + count
    for tenant_id, count in sorted(grown.items()):
        await add(conn, dialect, tenant_id, count)


async def total(conn: AsyncConnection, tenant_id: str) -> int:
    query = select(func.sum(stored.c.bytes)).where(stored.c.tenant_id == tenant_id)
    return max(int(await conn.scalar(query) or 0), 0)


async def recount(conn: AsyncConnection, dialect: Dialect, tenant_id: str) -> int:
    """Recount everything; concurrent additions are added to the new sum.

    Two processes that recount the same tenant do so one after the other: each deletes what the other has inserted.
    """
    await wait_turn(conn, dialect, tenant_id, STORED)
    await conn.execute(delete(stored).where(stored.c.tenant_id == tenant_id))
    mine = schedules.c.tenant_id == tenant_id
    queries = (
        select(func.sum(_bytes(dialect, schedules.c.action) + _bytes(dialect, schedules.c.spec))).where(mine),
        select(func.sum(_bytes(dialect, versions.c.action) + _bytes(dialect, versions.c.spec)))
        .select_from(schedules.join(versions, versions.c.schedule_id == schedules.c.id))
        .where(mine),
        select(func.sum(_bytes(dialect, runs.c.action))).where(
            runs.c.tenant_id == tenant_id, runs.c.action.is_not(None), _bytes(dialect, runs.c.action) >= PAYLOAD
        ),
    )
    count = sum([int(await conn.scalar(query) or 0) for query in queries])
    row = {"tenant_id": [tenant_id], "slot": [_SLOT], "bytes": [count]}
    await dialect.insert(conn, stored, row, conflict="grow")
    return count


def _bytes(dialect: Dialect, column: Any) -> ColumnElement[int]:
    text = type_coerce(column, Text())
    # SQLite counts characters of texts, and bytes of blobs.
    return func.length(cast(text, LargeBinary)) if dialect.name == "sqlite" else func.octet_length(text)
