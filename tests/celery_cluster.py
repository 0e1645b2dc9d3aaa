"""A small cluster in this process: a scheduler, workers, and the broker between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import URL

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.db.migrate import migrate
from foliot.engine.broker.publisher import Broker
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.node import NodeRole
from foliot.engine.model.run import AttemptError, Failed, Outcome, RunState, Succeeded
from foliot.engine.ports import ActionContext
from foliot.engine.sql.retention import SqlRetention
from foliot.testing import GivenActions
from foliot.wakeups.feed import MemoryFeed
from tests import databases
from tests.brokers import TestBroker
from tests.givens import ask, request, run_of

SOON = 20.0
"""Generous: the machine that runs the tests may have other things to do."""
PACE = EnginePace(scale=0.2, tick=0.2, retention=None)


@dataclass
class Probe:
    """Does what its configuration says."""

    kind: str = "probe"
    timeout: timedelta = timedelta(seconds=30)
    started: list[str] = field(default_factory=list)
    calls: int = 0
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        self.started.append(ctx.run_id)
        match ctx.config.get("do"):
            case "wait":
                await self.go.wait()
            case "fail once" if ctx.attempt == 1:
                return Failed(AttemptError("broken", "not today"))
            case "speak":
                ctx.log("half way", level="warning")
            case _:
                pass
        return Succeeded({"attempt": ctx.attempt})


@dataclass
class House:
    """A store, somebody who fires, and somebody who executes."""

    kind: str
    store: Database
    broker: TestBroker
    stack: AsyncExitStack
    probe: Probe = field(default_factory=Probe)
    pace: EnginePace = PACE
    nodes: int = 0

    async def begin(self, around: Callable[[Broker], Broker] = lambda broker: broker) -> None:
        """Embedded workers live in the scheduler; with a broker it only publishes."""
        if self.kind != "embedded":
            from foliot.cluster.celery.publisher import CeleryBroker

            await self.start(self.engine(NodeRole.SCHEDULER, slots=0, broker=around(CeleryBroker(self.broker.url))))

    async def worker(self, slots: int = 10, *names: str) -> Engine:
        """Takes the runs of these queues."""
        queues = [self.broker.queue(name) for name in names or ("default",)]
        if self.kind == "embedded":
            return await self.start(self.engine(NodeRole.UP, slots=slots, queues=queues))
        from foliot.cluster.celery.worker import CeleryIntake

        intake = CeleryIntake(self.broker.url, name=f"test{self.nodes}@{self.broker.mark}", queues=queues, slots=slots)
        return await self.start(self.engine(NodeRole.WORKER, slots=slots, queues=queues, intake=intake))

    def engine(self, role: NodeRole, *, slots: int, **parts: Any) -> Engine:
        self.nodes += 1
        return Engine(
            node_id=f"n{self.nodes}",
            clock=StoreClock(),
            store=self.store,
            # One each: they live in processes of their own, and nothing wakes them.
            feed=MemoryFeed(),
            actions=GivenActions.of(self.probe),
            pace=self.pace,
            workers_of=lambda executor: EmbeddedWorkers(executor, slots),
            role=role,
            **parts,
        )

    async def start(self, engine: Engine) -> Engine:
        await engine.start()
        self.stack.push_async_callback(engine.stop, 0.0)
        return engine

    async def ask(self, count: int = 1, *, name: str = "default", do: str = "", **changes: Any) -> list[str]:
        """Runs that do as they are told."""
        queue = self.broker.queue(name)
        action = {"kind": "probe", "do": do}
        made = [request(queue=queue, action=action, **changes) for _ in range(count)]
        async with self.store.read() as tx:
            now = await SqlRetention(tx).time()
        return await ask(self.store, now, *made)

    async def reaches(self, run_id: str, *states: RunState) -> None:
        async def there() -> bool:
            return (await run_of(self.store, run_id)).state in states

        await until(there, f"{run_id} in {states}")


async def until(condition: Callable[[], Awaitable[bool]], what: str, seconds: float = SOON) -> None:
    """Rows tell nobody that they changed: look again and again."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what}") from None


@asynccontextmanager
async def a_house(kind: str, broker_url: str, server: URL) -> AsyncIterator[House]:
    """On an emptied database of this server, with queues of its own."""
    await databases.clean(server)
    url = server.render_as_string(hide_password=False)
    await migrate(url)
    store = Database(url)
    broker = TestBroker(kind, broker_url)
    try:
        async with AsyncExitStack() as stack:
            yield House(kind, store, broker, stack)
        if kind != "embedded":
            broker.wipe()
    finally:
        await store.close()
