"""Serialises transactions that count a tenant's things before they add one, by locking a row."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.sql.tables import turns

SCHEDULES = "schedules"
RUNS = "runs"
STORED = "stored"


async def wait_turn(conn: AsyncConnection, dialect: Dialect, tenant_id: str, thing: str) -> None:
    """Holds until the transaction ends."""
    query = dialect.lock(_rows(dialect, [tenant_id], thing))
    if (await conn.execute(query)).first() is None:
        await _make(conn, dialect, [tenant_id], thing)
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
