"""What a process does when an operator asks something of it, and what it says about its queues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.node import NodeRequest
from foliot.engine.model.queue import QueuePause
from foliot.engine.model.run import Outcome, RunState, Succeeded
from foliot.engine.ports import ActionContext
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.testing import GivenActions
from foliot.wakeups.feed import MemoryFeed, node_topic
from tests.engine.engine_bench import Probe
from tests.givens import ask, keep, request, runs_of, schedule, spec, states

SECONDS = 20


@asynccontextmanager
async def at_work(store: Database, action: Probe, heard: list[NodeRequest]) -> AsyncIterator[tuple[Engine, MemoryFeed]]:
    """An engine as `foliot up` runs one."""
    feed = MemoryFeed()
    engine = Engine(
        node_id="n1",
        clock=StoreClock(),
        store=store,
        feed=feed,
        actions=GivenActions.of(action),
        pace=EnginePace(retention=None, tick=0.1),
        workers_of=lambda executor: EmbeddedWorkers(executor, 10),
        heard=heard.append,
    )
    await engine.start()
    try:
        yield engine, feed
    finally:
        await engine.stop(0)


async def until(store: Database, run_id: str, state: RunState) -> None:
    async with asyncio.timeout(SECONDS):
        while await states(store, run_id) != [state]:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("wish", list(NodeRequest))
async def test_a_wish_is_heard_as_soon_as_the_feed_wakes(wish: NodeRequest, store: Database) -> None:
    heard: list[NodeRequest] = []
    async with at_work(store, Probe(_succeeds), heard) as (_, feed):
        async with asyncio.timeout(SECONDS):
            while not await _nodes(store):
                await asyncio.sleep(0.02)
        async with store.begin() as tx:
            await SqlRetention(tx).wish("n1", wish)
        feed.wake(node_topic("n1"))
        async with asyncio.timeout(2):
            while not heard:
                await asyncio.sleep(0.01)

    assert heard[0] is wish


async def test_who_drains_finishes_what_runs_takes_nothing_new_and_goes_on_firing(store: Database) -> None:
    go = asyncio.Event()

    async def waits(_ctx: ActionContext) -> Outcome:
        await go.wait()
        return Succeeded()

    clock = StoreClock()
    async with at_work(store, Probe(waits), []) as (engine, feed):
        (running,) = await ask(store, clock.now())
        feed.wake("runs")
        await until(store, running, RunState.RUNNING)
        finishing = asyncio.create_task(engine.finish())
        await asyncio.sleep(0.1)
        assert not finishing.done()

        one = schedule(spec(max_runs=1), next_at=clock.now())
        await keep(store, one)
        feed.wake("schedules", "runs")
        async with asyncio.timeout(SECONDS):
            while not await runs_of(store, one.id):
                await asyncio.sleep(0.02)
        go.set()
        async with asyncio.timeout(SECONDS):
            await finishing
            await until(store, running, RunState.SUCCESS)
        feed.wake("runs")
        await asyncio.sleep(0.3)
        (fired,) = await runs_of(store, one.id)
        assert fired["state"] == "queued"


async def test_a_paused_queue_starts_again_when_it_is_resumed_and_ended_runs_are_counted(store: Database) -> None:
    clock = StoreClock()
    async with store.begin() as tx:
        await SqlQueues(tx).put(QueuePause("reports", clock.now(), "root", ""))
    async with at_work(store, Probe(_succeeds), []) as (engine, feed):
        paused, other = await ask(store, clock.now(), request(queue="reports"), request())
        feed.wake("runs")
        await until(store, other, RunState.SUCCESS)
        assert await states(store, paused) == [RunState.QUEUED]

        async with store.begin() as tx:
            await SqlQueues(tx).put(QueuePause("reports"))
        feed.wake("runs")
        await until(store, paused, RunState.SUCCESS)
        async with asyncio.timeout(SECONDS):
            while engine.report()["per_minute"] != {"default": 1, "reports": 1}:
                await asyncio.sleep(0.02)


async def _succeeds(_ctx: ActionContext) -> Outcome:
    return Succeeded()


async def _nodes(store: Database) -> int:
    async with store.read() as tx:
        return len(await SqlRetention(tx).nodes())
