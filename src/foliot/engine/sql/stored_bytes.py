"""Stored bytes per tenant: a running total that changes with each write, and that the janitor recounts.

It counts documents that clients write: each schedule, each body of its versions, and what runs were given beyond their
schedule. Results and logs do not count: they are deleted with their runs.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, LargeBinary, Text, and_, cast, delete, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.limits import PAYLOAD
from foliot.db.batch_statements import Change
from foliot.db.dialects import Dialect
from foliot.engine.sql.tables import runs, schedules, stored, versions
from foliot.engine.sql.tenant_turns import STORED, wait_turn

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
