"""Statements on queues: pauses, and counts of running runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, insert, select, update

from foliot.db.database import Statements
from foliot.engine.model.queue import QueuePause
from foliot.engine.sql import queue_pauses
from foliot.engine.sql.tables import queues, runs


@dataclass(frozen=True, slots=True)
class SqlQueues(Statements):
    """Queues with a row of their own."""

    async def said(self) -> Sequence[QueuePause]:
        """Queues that have a row, by name."""
        query = select(queues).where(queues.c.name != queue_pauses.ROW).order_by(queues.c.name)
        return [_queue(row) for row in await self.conn.execute(query)]

    async def get(self, name: str, *, lock: bool = False) -> QueuePause:
        """Also for a queue without a row."""
        query = select(queues).where(queues.c.name == name)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return QueuePause(name) if row is None else _queue(row)

    async def close(self, name: str) -> None:
        """Wait for concurrent claims in this queue, and block further ones until the transaction ends."""
        await queue_pauses.close(self.conn, self.dialect, name)

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
