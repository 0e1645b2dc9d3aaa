"""Rows of the history of queues. They belong to the installation: no tenant sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import BigInteger, Column, Index, Integer, Table, delete, insert, select, update

from foliot.db.database import Statements
from foliot.db.metadata import Moment, key, metadata
from foliot.engine.model.quarter_counts import quarter
from foliot.features.queues.model import EVERY_QUEUE, SAMPLED_EACH, QueueQuarter, QueueSample, empty

queue_quarters = Table(
    "queue_quarters",
    metadata,
    Column("queue", key(64), primary_key=True),
    Column("at", Moment, primary_key=True),
    Column("waiting", Integer, nullable=False),
    Column("oldest_ms", BigInteger, nullable=False),
    Column("running", Integer, nullable=False),
    Column("ended", BigInteger, nullable=False),
    Column("slots", Integer, nullable=False),
    # In the row of all queues: when the last sample was taken.
    Column("sampled_at", Moment),
    Index(None, "at"),
)
_COLUMNS = [column for column in queue_quarters.c if column.name != "sampled_at"]


@dataclass(frozen=True, slots=True)
class SqlQueueHistory(Statements):
    """Reads and writes the history of queues."""

    async def last_sample(self) -> datetime | None:
        """When any process took the last one."""
        query = select(queue_quarters.c.sampled_at).where(queue_quarters.c.queue == EVERY_QUEUE)
        return await self.conn.scalar(query.order_by(queue_quarters.c.at.desc()).limit(1))

    async def claim_minute(self, now: datetime) -> bool:
        """Whether this transaction takes the sample of this minute. It locks the row that every sample writes."""
        table, at = queue_quarters, quarter(now)
        first = {name: [value] for name, value in asdict(empty(EVERY_QUEUE, at)).items()}
        await self.dialect.insert(self.conn, table, {**first, "sampled_at": [None]}, conflict="ignore")
        mine = (table.c.queue == EVERY_QUEUE, table.c.at == at)
        last = await self.conn.scalar(self.dialect.lock(select(table.c.sampled_at).where(*mine)))
        if last is not None and last > now - SAMPLED_EACH * 0.75:
            return False
        await self.conn.execute(update(table).where(*mine).values(sampled_at=now))
        return True

    async def add(self, now: datetime, samples: Mapping[str, QueueSample]) -> None:
        """After `claim_minute`: no other process writes these rows meanwhile."""
        at = quarter(now)
        stored = {row.queue: row for row in await self._rows(queue_quarters.c.at == at)}
        for name, sample in sorted(samples.items()):
            new = stored.get(name, empty(name, at)).with_sample(sample)
            if name in stored:
                same = (queue_quarters.c.queue == name, queue_quarters.c.at == at)
                await self.conn.execute(update(queue_quarters).where(*same).values(asdict(new)))
            else:
                await self.conn.execute(insert(queue_quarters).values(asdict(new)))

    async def since(self, moment: datetime) -> Sequence[QueueQuarter]:
        return await self._rows(queue_quarters.c.at >= moment)

    async def prune(self, before: datetime, limit: int) -> None:
        table = queue_quarters
        query = select(table.c.queue, table.c.at).where(table.c.at < before).order_by(table.c.at).limit(limit)
        for row in (await self.conn.execute(query)).all():
            await self.conn.execute(delete(table).where(table.c.queue == row.queue, table.c.at == row.at))

    async def _rows(self, *which: object) -> list[QueueQuarter]:
        query = select(*_COLUMNS).where(*which)  # type: ignore[arg-type]
        return [QueueQuarter(**row) for row in (await self.conn.execute(query)).mappings()]
