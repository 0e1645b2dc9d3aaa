"""The gate of a queue: claims pass it together, and whoever pauses the queue closes it behind the last of them.

Without it, a claim that began before a pause could be written after the pause was answered. Where there is one writer,
a transaction is a gate of its own.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, literal_column, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.sql.tables import queues, runs

_SPACE = 70148
"""Advisory locks of ours that begin with this number are gates."""
ROW = ""
"""The name of the row that is the gate of all queues where locks have no numbers; the migration makes it."""


def open_to(dialect: Dialect) -> list[ColumnElement[bool]]:
    """Under what conditions a run may be claimed: its queue is not paused, and its gate not being closed.

    A statement may have looked at the queue before it got through the gate: whoever claims asks both times, when it
    looks and when it takes, and the second look is behind the gate.
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
    """Wait for the claims under way; holds until the transaction ends."""
    match dialect.name:
        case "postgresql":
            await conn.execute(select(func.pg_advisory_xact_lock(_SPACE, func.hashtext(queue))))
        case "mysql":
            # Locks the row, and makes it should somebody have deleted it.
            await conn.execute(text("INSERT INTO queues (name) VALUES ('') ON DUPLICATE KEY UPDATE name = name"))
        case _:
            pass
