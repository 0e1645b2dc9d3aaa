"""What test_engine.py and test_engine_drain.py share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from foliot.app.upkeep import UPKEEP
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import Actor, EnginePace
from foliot.engine.model.run import Outcome
from foliot.engine.ports import ActionContext
from foliot.features.audit_log.actor import audit_chaining
from foliot.testing import GivenActions, StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.givens import (
    stopped,
)

Performing = Callable[[ActionContext], Awaitable[Outcome]]


@dataclass
class Probe:
    """An action that does what a test says, and counts."""

    does: Performing
    kind: str = "probe"
    timeout: timedelta = timedelta(seconds=60)
    seen: list[ActionContext] = field(default_factory=list)
    inside: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        self.seen.append(ctx)
        self.inside.set()
        return await self.does(ctx)


def answers(*outcomes: Outcome) -> Probe:
    """Gives these outcomes one after the other, and the last one for ever."""
    left = list(outcomes)

    async def does(_ctx: ActionContext) -> Outcome:
        return left.pop(0) if len(left) > 1 else left[0]

    return Probe(does)


def hangs() -> Probe:
    async def does(_ctx: ActionContext) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    return Probe(does)


class Bench:
    """An engine taken apart: each actor is driven by hand."""

    def __init__(self, store: Database, action: Probe, clock: StoppedClock | None = None, **pace: Any) -> None:
        self.store, self.action, self.clock = store, action, clock or stopped()
        self.feed = MemoryFeed()
        self.engine = Engine(
            node_id="n1",
            clock=self.clock,
            store=store,
            feed=self.feed,
            actions=GivenActions.of(action),
            pace=EnginePace(**{"retention": None, "gather": 0.0, **pace}),
            workers_of=lambda executor: EmbeddedWorkers(executor, 10),
            extensions=[audit_chaining],
            upkeep=UPKEEP,
        )
        self.actors: dict[str, Actor] = {
            actor.name: actor for actor in [*self.engine._firing(), *self.engine._finishing()]
        }

    async def do(self, *names: str) -> list[Any]:
        return [await self.actors[name].run_once() for name in names]

    async def land(self) -> None:
        """Let everything in flight end, and write it down."""
        tasks = [flight.task for flight in self.engine.executor.flights.values() if flight.task]
        waiting = asyncio.gather(*tasks)
        while not waiting.done():
            await self.do("recorder")
            await asyncio.sleep(0)
        await waiting

    async def fly(self) -> None:
        """Fire, hand over, perform, record."""
        await self.do("ticker", "dispatcher")
        await self.land()

    async def take_off(self) -> str:
        """Start the only run there is, and wait until its effect has begun."""
        self.action.inside.clear()
        await self.do("ticker", "dispatcher")
        async with asyncio.timeout(10):
            await self.action.inside.wait()
        return next(iter(self.engine.executor.flights))


@asynccontextmanager
async def recording(bench: Bench) -> Any:
    """The recorder at work in the background, as in production."""
    bench.engine.loop.start([bench.actors["recorder"]])
    try:
        yield
    finally:
        await bench.engine.loop.stop()
