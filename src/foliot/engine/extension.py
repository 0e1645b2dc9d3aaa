"""Extensions of the engine: actors that features add, started, drained and reported with the kernel's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.broker.publisher import Monitor
from foliot.engine.loop import Actor, EnginePace
from foliot.engine.model.breaker import OpenBreakerReport
from foliot.engine.model.node import NodeRole
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.slots import Slots
from foliot.wakeups.feed import Feed

Upkeep = Callable[[Transaction, datetime, timedelta | None], Awaitable[None]]
"""Deletes what a feature need not keep any longer, one batch; given the time and how long runs are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContext:
    """What an extension may use of the engine."""

    node_id: str
    role: NodeRole
    executes: bool
    """Whether runs are executed in this process."""
    clock: Clock
    store: Database
    feed: Feed
    meter: EngineCounters
    pace: EnginePace
    slots: Slots
    queues: Collection[str] | None
    monitor: Monitor | None
    steady_for: Callable[[], float]
    """For how many seconds no step has moved the clock."""

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.pace.lease * self.pace.scale)


class EngineExtension:
    """One feature's part of an engine; each method may stay as it is."""

    def sources(self) -> Sequence[Actor]:
        """Actors that bring new work: stopped first."""
        return ()

    def finishers(self) -> Sequence[Actor]:
        """Actors that are needed until the last result is written."""
        return ()

    async def drain(self, grace: float | None) -> int:
        """Let what runs finish within the grace, or as long as it takes; answers how much was handed back."""
        return 0

    async def flush(self) -> None:
        """Write what is left, after the finishers have stopped."""

    async def close(self) -> None:
        """The last step, when every result of the process is written."""

    def open_breakers(self, now: datetime) -> Sequence[OpenBreakerReport]:
        return ()

    def report(self) -> Mapping[str, Any]:
        """What the reports of this process say of it."""
        return {}


Extend = Callable[[EngineContext], EngineExtension]
