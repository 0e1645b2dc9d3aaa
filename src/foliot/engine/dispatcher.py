"""Offers ready runs to the workers of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import Spacing
from foliot.engine.ports import WorkerPool
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.claims import SqlClaims
from foliot.wakeups.feed import RUNS_TOPIC, SLOTS_TOPIC

CROWDED = 0.01
"""Pause when other workers took all runs that we saw."""

SOON = 0.05
"""Pause when most of the slots are still free."""

LOOK = 1.0
"""Longest pause while no slot is free."""

FEW = 8
"""How many runs are read between two queries beyond those that were not admitted, or twice as many as were taken."""

HELD = 0.25
"""Pause when targets or tenants have their share of the slots; an attempt that ends wakes us sooner."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What one round passed to the workers."""

    offered: int
    taken: int
    rest: float


@dataclass(slots=True, kw_only=True)
class Dispatcher:
    """Reads the rows, never memory: new runs, retries, and whatever a worker or a broker lost."""

    clock: Clock
    store: Database
    workers: WorkerPool
    alarm: ReadyTimes
    batch: int
    longest_rest: float
    queues: Collection[str] | None = None
    gather: float = 0.0
    """Minimum time between two queries that find few runs: each costs the database the same, whatever it finds."""
    name: str = "dispatcher"
    topics: Sequence[str] = (RUNS_TOPIC, SLOTS_TOPIC)
    _behind: int = 0
    """How many runs the last deep query did not get admitted."""
    _deep_at: float = -1.0
    """When to query beyond them again."""
    _few: int = 1
    _spacing: Spacing = field(default_factory=Spacing)
    """Since a query last found few."""

    async def run_once(self) -> Dispatched:
        if early := self._spacing.early(self.gather):
            return Dispatched(0, 0, early)
        free = self.workers.room()
        if free <= 0:
            # A worker that becomes free wakes us; an attempt that gives its slot up does not.
            return Dispatched(0, 0, min(self.longest_rest, LOOK))
        deep = self._deep_at <= asyncio.get_running_loop().time()
        limit = min(free + 2 * self._behind if deep else min(free, self._few), self.batch)
        now = self.clock.now()
        async with self.store.glance() as tx:
            ready = await SqlClaims(tx).ready(now, self.queues, limit)
        taken = await self.workers.submit(ready) if ready else 0
        if ready:
            rest = self._look_again(len(ready), taken, limit)
            rest = self._look_behind(taken, rest, deep=deep)
            (self._spacing.mark if rest else self._spacing.clear)()
            return Dispatched(len(ready), taken, rest)
        return Dispatched(0, 0, self.alarm.rest(now, self.longest_rest))

    def _look_behind(self, taken: int, rest: float, *, deep: bool) -> float:
        """Runs that were not admitted are read again: query beyond them, but not each time one ends."""
        passed_over = self.workers.passed_over
        if deep:
            self._behind = passed_over
            self._deep_at = asyncio.get_running_loop().time() + HELD if passed_over else -1.0
        self._few = max(2 * taken, FEW)
        return max(rest, HELD) if passed_over else rest

    @staticmethod
    def _look_again(offered: int, taken: int, limit: int) -> float:
        if not taken:
            return CROWDED
        # A run that ends wakes us; this is for tenants at their share, and for long runs.
        return 0.0 if offered * 2 >= limit else SOON
