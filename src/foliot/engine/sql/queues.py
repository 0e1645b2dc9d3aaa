"""Statements on queues: pauses, and counts of running runs.

The gate of a queue is a shared lock for claims, an exclusive one for a pause. Without it, a claim that began before a
pause could be committed after the pause was acknowledged. On a database with a single writer, transactions are
serialised anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, func, insert, literal_column, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.engine.model.queue import QueuePause
from foliot.engine.sql.tables import queues, runs

_SPACE = 70148
"""The first number of our advisory locks that are gates."""
ROW = ""
"""The row that is the gate of all queues where there are no advisory locks; the migration creates it."""


def open_to(dialect: Dialect) -> list[ColumnElement[bool]]:
    """The conditions under which a run may be claimed: its queue is not paused, and its gate is not being closed.

    A statement may have read the queue before it passed the gate: so a claim checks both when it selects and when it
    updates, and the second check is behind the gate.
    """
    paused = select(queues.c.name).where(queues.c.name == runs.c.queue, queues.c.paused_at.is_not(None)).exists()
    match dialect.name:
        case "postgresql":
            return [~paused, func.pg_try_advisory_xact_lock_shared(_SPACE, func.hashtext(runs.c.queue))]
        case "mysql":
            shared = select(func.count()).select_from(queues.alias("gate")).where(literal_column("gate.name") == ROW)
            return [~paused, shared.with_for_update(read=True).scalar_subquery() >= 0]
        case _:
            return [~paused]


async def close_gate(conn: AsyncConnection, dialect: Dialect, queue: str) -> None:
    """Wait for concurrent claims; holds until the transaction ends."""
    match dialect.name:
        case "postgresql":
            await conn.execute(select(func.pg_advisory_xact_lock(_SPACE, func.hashtext(queue))))
        case "mysql":
            # Locks the row, and creates it if it was deleted.
            await conn.execute(text("INSERT INTO queues (name) VALUES ('') ON DUPLICATE KEY UPDATE name = name"))
        case _:
            pass


@dataclass(frozen=True, slots=True)
class SqlQueues(Statements):
    """Queues with a row of their own."""

    async def said(self) -> Sequence[QueuePause]:
        """Queues that have a row, by name."""
        query = select(queues).where(queues.c.name != ROW).order_by(queues.c.name)
        return [_queue(row) for row in await self.conn.execute(query)]

    async def get(self, name: str, *, lock: bool = False) -> QueuePause:
        """Also for a queue without a row."""
        query = select(queues).where(queues.c.name == name)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return QueuePause(name) if row is None else _queue(row)

    async def close(self, name: str) -> None:
        """Wait for concurrent claims in this queue, and block further ones until the transaction ends."""
        await close_gate(self.conn, self.dialect, name)

    async def put(self, queue: QueuePause) -> None:
        """The gate is closed before a pause, so no concurrent transaction inserts the row."""
        values: dict[str, Any] = {
            "paused_at": queue.paused_at,
            "paused_by": queue.paused_by,
            "reason": queue.reason,
        }
        changed = await self.conn.execute(update(queues).where(queues.c.name == queue.name).values(**values))
        if not changed.rowcount:
            await self.conn.execute(insert(queues).values(name=queue.name, **values))

    async def forget_offers(self, name: str) -> None:
        """Clear the publication marks of this queue's waiting runs: they are published again."""
        offered = (runs.c.lane == name, runs.c.offered_at.is_not(None))
        await self.conn.execute(update(runs).where(*offered).values(offered_at=None))

    async def in_flight(self, tenant_id: str | None = None) -> Mapping[str, int]:
        """How many runs of each queue run now; read through an index."""
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        # Parked runs occupy no slot.
        held = (runs.c.lease_until.is_not(None), runs.c.handle.is_(None))
        query = select(runs.c.queue, func.count()).where(*held, *mine).group_by(runs.c.queue)
        return {row[0]: row[1] for row in await self.conn.execute(query)}


def _queue(row: Any) -> QueuePause:
    return QueuePause(row.name, row.paused_at, row.paused_by, row.reason)
