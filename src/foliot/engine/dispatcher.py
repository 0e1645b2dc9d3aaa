"""Hands runs whose time has come to the workers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from foliot.engine.alarm import Alarm
from foliot.ports import RUNS_TOPIC, Clock, Store, Workers

CROWDED = 0.01
"""How long to rest when others took everything we saw."""

SOON = 0.05
"""How long to rest when most of the slots are still free."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What one round handed over."""

    offered: int
    taken: int
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """Looks at the rows, never at memory: new runs, retries, and whatever a worker or a broker lost."""

    clock: Clock
    store: Store
    workers: Workers
    alarm: Alarm
    batch: int
    longest_rest: float
    queues: Collection[str] | None = None
    name: str = "dispatcher"
    topics: Sequence[str] = (RUNS_TOPIC,)

    async def run_once(self) -> Dispatched:
        limit = min(self.workers.free(), self.batch)
        if limit <= 0:
            # A worker that becomes free wakes us.
            return Dispatched(0, 0, self.longest_rest)
        now = self.clock.now()
        async with self.store.glance() as tx:
            ready = await tx.claims.ready(now, self.queues, limit)
        taken = await self.workers.submit(ready) if ready else 0
        if ready:
            return Dispatched(len(ready), taken, self._look_again(len(ready), taken, limit))
        return Dispatched(0, 0, self.alarm.rest(now, self.longest_rest))

    @staticmethod
    def _look_again(offered: int, taken: int, limit: int) -> float:
        if not taken:
            return CROWDED
        # A run that ends wakes us; this is for tenants who had only their share, and runs that take long.
        return 0.0 if offered * 2 >= limit else SOON
