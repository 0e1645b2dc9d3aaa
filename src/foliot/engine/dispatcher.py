"""Hands runs whose time has come to the workers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.pace import Spacing
from foliot.engine.ports import Workers
from foliot.engine.ready_times import Alarm
from foliot.engine.sql.claims import SqlClaims
from foliot.wakeups.feed import RUNS_TOPIC, SLOTS_TOPIC

CROWDED = 0.01
"""How long to rest when others took everything we saw."""

SOON = 0.05
"""How long to rest when most of the slots are still free."""

LOOK = 1.0
"""How long to rest at most while no slot is free."""

FEW = 8
"""How many runs are looked at between two looks behind those that were passed over, or twice as many as were taken."""

HELD = 0.25
"""How long to rest when targets or tenants have their share of the slots; an attempt that ends wakes us sooner."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What one round handed over."""

    offered: int
    taken: int
    rest: float


@dataclass(slots=True, kw_only=True)
class Dispatcher:
    """Looks at the rows, never at memory: new runs, retries, and whatever a worker or a broker lost."""

    clock: Clock
    store: Database
    workers: Workers
    alarm: Alarm
    batch: int
    longest_rest: float
    queues: Collection[str] | None = None
    gather: float = 0.0
    """Two looks that find few runs are this far apart: each costs the database the same, however little it finds."""
    name: str = "dispatcher"
    topics: Sequence[str] = (RUNS_TOPIC, SLOTS_TOPIC)
    _behind: int = 0
    """How many were passed over when the look was deep."""
    _deep_at: float = -1.0
    """When to look behind them again."""
    _few: int = 1
    _spacing: Spacing = field(default_factory=Spacing)
    """Since a look last found few."""

    async def run_once(self) -> Dispatched:
        if early := self._spacing.early(self.gather):
            return Dispatched(0, 0, early)
        free = self.workers.free()
        if free <= 0:
            # A worker that becomes free wakes us; nobody does when an attempt gives its slot up.
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
        """Runs that were passed over are seen again: look for others behind them, but not each time one ends."""
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
        # A run that ends wakes us; this is for tenants who had only their share, and runs that take long.
        return 0.0 if offered * 2 >= limit else SOON
