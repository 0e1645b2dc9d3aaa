"""Samples the queues once per minute, for their history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.loop import rest_until
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.features.queues.model import EVERY_QUEUE, SAMPLED_EACH, QueueSample
from foliot.features.queues.sql import SqlQueueHistory
from foliot.features.queues.usecases import live_workers


@dataclass(frozen=True, slots=True)
class SampleRound:
    """Whether this process took the sample."""

    taken: bool
    rest: float


@dataclass(slots=True, kw_only=True)
class QueueSampler:
    """Safe on every node: the sample of a minute is taken by the process that locks its row first."""

    clock: Clock
    store: Database
    name: str = "queue_sampler"
    topics: Sequence[str] = ()

    async def run_once(self) -> SampleRound:
        now, longest = self.clock.now(), SAMPLED_EACH.total_seconds()
        async with self.store.glance() as tx:
            last = await SqlQueueHistory(tx).last_sample()
        if last is not None and now < last + SAMPLED_EACH:
            return SampleRound(taken=False, rest=rest_until(last + SAMPLED_EACH, now, longest))
        async with self.store.begin() as tx:
            taken = await SqlQueueHistory(tx).claim_minute(now)
            if taken:
                await SqlQueueHistory(tx).add(now, await samples(tx, now))
        return SampleRound(taken=taken, rest=longest)


async def samples(tx: Transaction, now: datetime) -> Mapping[str, QueueSample]:
    """Every queue in which something waits, runs or ended, and the slots of all workers."""
    waiting = await SqlRetention(tx).queues()
    in_flight = await SqlQueues(tx).in_flight()
    workers = await live_workers(tx, now)
    ended: dict[str, int] = {}
    for worker in workers:
        for name, count in worker.per_minute.items():
            ended[name] = ended.get(name, 0) + count
    found = {
        name: QueueSample(
            waiting=waiting[name]["depth"] if name in waiting else 0,
            oldest_ms=_waited(waiting[name]["oldest"], now) if name in waiting else 0,
            running=in_flight.get(name, 0),
            ended=ended.get(name, 0),
        )
        for name in {*waiting, *in_flight, *(name for name, count in ended.items() if count)}
    }
    busy, slots = sum(one.in_flight for one in workers), sum(one.slots for one in workers)
    return {
        **found,
        EVERY_QUEUE: QueueSample(
            waiting=sum(one.waiting for one in found.values()),
            oldest_ms=max((one.oldest_ms for one in found.values()), default=0),
            running=busy,
            ended=sum(ended.values()),
            slots=slots,
        ),
    }


def _waited(since: datetime | None, now: datetime) -> int:
    return 0 if since is None else max(int((now - since).total_seconds() * 1000), 0)
