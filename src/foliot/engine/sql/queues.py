"""What is said of queues, and what is under way in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, insert, select, update

from foliot.db.transaction import Statements
from foliot.engine.model.queue import Queue
from foliot.engine.sql import queue_pauses
from foliot.engine.sql.tables import queues, runs


@dataclass(frozen=True, slots=True)
class SqlQueues(Statements):
    """One row for each queue of which something is said."""

    async def said(self) -> Sequence[Queue]:
        """Those of which something is said, by name."""
        query = select(queues).where(queues.c.name != queue_pauses.ROW).order_by(queues.c.name)
        return [_queue(row) for row in await self.conn.execute(query)]

    async def get(self, name: str, *, lock: bool = False) -> Queue:
        """Also of a queue of which nothing is said."""
        query = select(queues).where(queues.c.name == name)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return Queue(name) if row is None else _queue(row)

    async def close(self, name: str) -> None:
        """Wait for the claims under way in this queue, and let no other begin until the transaction ends."""
        await queue_pauses.close(self.conn, self.dialect, name)

    async def put(self, queue: Queue) -> None:
        """Whoever pauses closed the gate first, so nobody else inserts the row meanwhile."""
        values: dict[str, Any] = {
            "paused_at": queue.paused_at,
            "paused_by": queue.paused_by,
            "reason": queue.reason,
        }
        changed = await self.conn.execute(update(queues).where(queues.c.name == queue.name).values(**values))
        if not changed.rowcount:
            await self.conn.execute(insert(queues).values(name=queue.name, **values))

    async def forget_offers(self, name: str) -> None:
        """What the broker was told of this queue's waiting runs counts no more: they are offered anew."""
        offered = (runs.c.lane == name, runs.c.offered_at.is_not(None))
        await self.conn.execute(update(runs).where(*offered).values(offered_at=None))

    async def in_flight(self, tenant_id: str | None = None) -> Mapping[str, int]:
        """How many runs of each queue run now; read through an index."""
        mine = [] if tenant_id is None else [runs.c.tenant_id == tenant_id]
        # Nobody here works for an effect that goes on elsewhere.
        held = (runs.c.lease_until.is_not(None), runs.c.handle.is_(None))
        query = select(runs.c.queue, func.count()).where(*held, *mine).group_by(runs.c.queue)
        return {row[0]: row[1] for row in await self.conn.execute(query)}


def _queue(row: Any) -> Queue:
    return Queue(row.name, row.paused_at, row.paused_by, row.reason)
