"""Targets that hang beside targets that answer, under the real engine: what the good ones notice of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.breaker import BreakerState
from foliot.engine.model.run import Outcome, RunState, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.engine.slots import Slots
from foliot.features.webhooks.action import WebhookAction
from foliot.net.client import HttpEgress
from foliot.testing import GivenActions, open_store
from foliot.wakeups.feed import RUNS_TOPIC, MemoryFeed
from tests.celery_cluster import until
from tests.givens import ask, request, run_of

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
LONG = 300
"""Seconds that an attempt may take: much longer than any of these tests."""


@dataclass
class Place:
    """A server that accepts; while it hangs, nobody is answered."""

    hangs: bool = True
    port: int = 0
    inside: int = 0
    most: int = 0
    answered: int = 0

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await reader.readuntil(b"\r\n\r\n")
            if not self.hangs:
                writer.write(ANSWER)
                await writer.drain()
                self.answered += 1
            else:
                await reader.read()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.inside -= 1
            writer.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@asynccontextmanager
async def places(*made: Place) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for one in made:
            server = await asyncio.start_server(one.meet, "127.0.0.1", 0)
            stack.callback(server.close)
            one.port = server.sockets[0].getsockname()[1]
        yield


class NoSecrets:
    """Nothing is signed."""

    async def signing(self, tenant_id: str) -> Sequence[str]:
        return ()

    async def named(self, tenant_id: str, names: Collection[str], url: str | None = None) -> Mapping[str, str]:
        return {}


@dataclass
class House:
    """The engine of one process, and what is asked of it."""

    store: Database
    engine: Engine
    feed: MemoryFeed

    @property
    def slots(self) -> Slots:
        return self.engine.executor.slots

    async def ask(self, count: int, target: str, **changes: Any) -> list[str]:
        """Runs that call this target now."""
        made = [
            request(**{"kind": "webhook", "action": {"url": target, "method": "POST"}, "max_attempts": 4} | changes)
            for _ in range(count)
        ]
        ids = await ask(self.store, self.engine.clock.now(), *made)
        self.feed.wake(RUNS_TOPIC)
        return ids

    async def ended(self, run_ids: Sequence[str], seconds: float = 10.0) -> None:
        async def all_of_them() -> bool:
            return all([(await run_of(self.store, one)).state is RunState.SUCCESS for one in run_ids])

        await until(all_of_them, "the good ones end", seconds)

    async def late(self, run_ids: Sequence[str]) -> list[float]:
        """How many seconds each waited for its start."""
        views = [await run_of(self.store, one) for one in run_ids]
        return [(one.started_at - one.created_at).total_seconds() for one in views if one.started_at is not None]


@asynccontextmanager
async def house(url: str, slots: Slots, *actions: Any) -> AsyncIterator[House]:
    total, feed = slots.total, MemoryFeed()
    async with open_store(url) as store, HttpEgress(loopback=True) as egress:
        engine = Engine(
            node_id="n1",
            clock=StoreClock(),
            store=store,
            feed=feed,
            actions=GivenActions.of(WebhookAction(egress=egress, secrets=NoSecrets()), *actions),
            pace=EnginePace(retention=None, tick=0.1),
            workers_of=lambda executor: EmbeddedWorkers(executor, total),
            slots=slots,
        )
        await engine.start()
        try:
            yield House(store, engine, feed)
        finally:
            await engine.stop(0)


async def test_a_host_that_hangs_stops_nobody_else(sqlite_database_url: str) -> None:
    bad, good = Place(), Place(hangs=False)
    async with places(bad, good), house(sqlite_database_url, Slots(total=10)) as here:
        hanging = await here.ask(60, bad.url, timeout_seconds=LONG)
        called = []
        for _ in range(10):
            called += await here.ask(1, good.url)
            await here.ended(called)
        late, waits = await here.late(called), [await run_of(here.store, one) for one in hanging]

    assert max(late) < 3
    assert bad.most <= 5
    explained = [one.waiting for one in waits if one.waiting is not None]
    assert explained
    assert {one["code"] for one in explained} == {"waiting_target"}
    assert f"127.0.0.1:{bad.port}" in explained[0]["message"]
    assert all(one.attempt == 0 and one.state is RunState.QUEUED for one in waits if one.waiting is not None)


async def test_many_hosts_that_hang_leave_the_others_as_they_were(sqlite_database_url: str) -> None:
    bad, good = [Place() for _ in range(8)], [Place(hangs=False) for _ in range(12)]
    async with places(*bad, *good), house(sqlite_database_url, Slots(total=20, stall=1.0)) as here:
        for one in bad:
            await here.ask(20, one.url, timeout_seconds=LONG)
        called: list[str] = []
        for _ in range(5):
            for one in good:
                called += await here.ask(1, one.url)
            await here.ended(called)
        late = sorted(await here.late(called))

        assert here.slots.outside + len(here.slots.held) <= 20 * 4
        assert here.slots.free > 0
    assert len(late) == 60
    # The first are late for as long as it takes to notice that eight hosts say nothing.
    assert late[-1] < 5
    assert late[len(late) // 2] < 3


async def test_a_breaker_opens_after_time_outs_and_closes_when_the_target_is_back(sqlite_database_url: str) -> None:
    place = Place()
    slots = Slots(total=4, failures=2, wait=1.0)
    async with places(place), house(sqlite_database_url, slots) as here:
        await here.ask(2, place.url, timeout_seconds=1, max_attempts=1)

        async def opened() -> bool:
            return bool(slots.open_breakers(here.engine.clock.now()))

        await until(opened, "the breaker opens")
        ((found,), reported) = slots.open_breakers(here.engine.clock.now()), here.engine.report()["breakers"]
        later = await here.ask(6, place.url, max_attempts=1)
        (first, *_) = later

        async def explained() -> bool:
            return (await run_of(here.store, first)).waiting is not None

        await until(explained, "the run says why it waits")
        waits, met = await run_of(here.store, first), place.inside
        place.hangs = False
        await here.ended(later, 20)
        closed = slots.open_breakers(here.engine.clock.now())

    assert found.target == f"127.0.0.1:{place.port}"
    assert found.state is BreakerState.OPEN
    assert found.next_trial_at is not None
    assert found.next_trial_at > found.since
    assert [one["target"] for one in reported] == [found.target]
    assert waits.state is RunState.QUEUED
    assert waits.attempt == 0
    assert waits.waiting is not None
    assert waits.waiting["code"] == "waiting_breaker"
    assert "attempts in a row (no answer" in waits.waiting["message"]
    assert met == 0
    assert not closed


@dataclass
class Work:
    """Runs of several names, of which one never ends."""

    kind: str = "work"
    timeout: timedelta = timedelta(seconds=LONG)
    inside: int = 0
    stuck: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        return AttemptTarget(f"work:{config['name']}")

    async def perform(self, ctx: ActionContext) -> Outcome:
        if ctx.config["name"] == "stuck":
            self.inside += 1
            await self.stuck.wait()
        return Succeeded()


async def test_work_of_one_name_holds_half_of_the_slots(sqlite_database_url: str) -> None:
    work = Work()
    async with house(sqlite_database_url, Slots(total=6), work) as here:
        await here.ask(30, "", kind="work", action={"name": "stuck"}, timeout_seconds=LONG)
        called = []
        for _ in range(5):
            called += await here.ask(1, "", kind="work", action={"name": "good"})
            await here.ended(called)
        late = await here.late(called)

        assert work.inside == 3
        assert here.slots.outside == 0
        work.stuck.set()
    assert max(late) < 3


async def test_one_tenant_leaves_others_their_share_of_the_slots(sqlite_database_url: str) -> None:
    work = Work()
    async with house(sqlite_database_url, Slots(total=8, share=1.0), work) as here:
        here.slots.hold("earlier", "quiet", None)
        here.slots.leave("earlier", None, here.engine.clock.now())
        await here.ask(30, "", kind="work", action={"name": "stuck"}, tenant_id="greedy", timeout_seconds=LONG)
        called = await here.ask(4, "", kind="work", action={"name": "good"}, tenant_id="quiet")

        async def ended() -> bool:
            views = [await run_of(here.store, one, "quiet") for one in called]
            return all(one.state is RunState.SUCCESS for one in views)

        await until(ended, "the quiet one's runs end")
        assert work.inside <= 6
        work.stuck.set()


@pytest.mark.parametrize("free", [1, 3])
async def test_no_more_is_claimed_than_there_are_slots(sqlite_database_url: str, free: int) -> None:
    bad, good = Place(), Place(hangs=False)
    async with places(bad, good), house(sqlite_database_url, Slots(total=free)) as here:
        await here.ask(10, bad.url, timeout_seconds=LONG)
        await here.ask(10, good.url)
        held = 0
        for _ in range(50):
            held = max(held, len(here.slots.held))
            await asyncio.sleep(0.01)

    assert held <= free
