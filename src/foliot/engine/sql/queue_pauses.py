"""The gate of a queue: a shared lock for claims, an exclusive one for a pause.

Without it, a claim that began before a pause could be committed after the pause was acknowledged. On a database with a
single writer, transactions are serialised anyway.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, literal_column, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
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


async def close(conn: AsyncConnection, dialect: Dialect, queue: str) -> None:
    """Wait for concurrent claims; holds until the transaction ends."""
    match dialect.name:
        case "postgresql":
            await conn.execute(select(func.pg_advisory_xact_lock(_SPACE, func.hashtext(queue))))
        case "mysql":
            # Locks the row, and creates it if it was deleted.
            await conn.execute(text("INSERT INTO queues (name) VALUES ('') ON DUPLICATE KEY UPDATE name = name"))
        case _:
            pass
