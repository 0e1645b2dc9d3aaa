"""The loop: wakes, repeats, backs off, stops; nothing here depends on how fast the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from foliot.core.errors import Unavailable
from foliot.engine.loop import FIRST_BACKOFF, LONGEST_BACKOFF, Loop
from foliot.wakeups.feed import MemoryFeed
from tests.givens import stopped

LONG = 3600.0
"""A rest that no test waits for."""


@dataclass(frozen=True)
class Done:
    rest: float


@dataclass
class Tiny:
    """An actor that does what it is given, and rings after each round."""

    name: str
    work: Callable[[int], Awaitable[float]]
    topics: Sequence[str] = ()
    begun: int = 0
    rang: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run_once(self) -> Done:
        self.begun += 1
        async with self.rang:
            self.rang.notify_all()
        return Done(await self.work(self.begun))

    async def reached(self, rounds: int) -> None:
        async with self.rang, asyncio.timeout(10):
            await self.rang.wait_for(lambda: self.begun >= rounds)


@asynccontextmanager
async def running(*actors: Tiny, feed: MemoryFeed | None = None) -> AsyncIterator[Loop]:
    loop = Loop(stopped(), feed or MemoryFeed())
    loop.start(actors)
    try:
        yield loop
    finally:
        await loop.stop()


async def no_rest(_round: int) -> float:
    return 0.0


async def long_rest(_round: int) -> float:
    return LONG


async def test_an_actor_with_more_to_do_goes_on_at_once() -> None:
    busy = Tiny("busy", no_rest)
    async with running(busy) as loop:
        await busy.reached(50)

    assert loop.progress["busy"].rounds >= 49


async def test_a_busy_actor_leaves_room_for_others() -> None:
    busy, other = Tiny("busy", no_rest), Tiny("other", no_rest)
    async with running(busy, other):
        await other.reached(20)
        await busy.reached(20)


async def test_a_wake_shortens_a_rest() -> None:
    feed = MemoryFeed()
    sleeper = Tiny("sleeper", long_rest, topics=("bell",))
    async with running(sleeper, feed=feed):
        for rounds in range(1, 5):
            await sleeper.reached(rounds)
            feed.wake("bell")
        await sleeper.reached(5)


async def test_a_wake_during_a_round_is_not_lost() -> None:
    feed = MemoryFeed()

    async def rings_itself(number: int) -> float:
        if number == 1:
            feed.wake("bell")
        return LONG

    actor = Tiny("actor", rings_itself, topics=("bell",))
    async with running(actor, feed=feed):
        await actor.reached(2)


@pytest.mark.parametrize("error", [RuntimeError("no luck"), Unavailable("the database is away")])
async def test_a_failing_actor_backs_off_recovers_and_disturbs_no_other(error: Exception) -> None:
    async def fails_twice(number: int) -> float:
        if number <= 2:
            raise error
        return LONG

    failing, other = Tiny("failing", fails_twice), Tiny("other", no_rest)
    async with running(failing, other) as loop:
        await failing.reached(2)
        await other.reached(other.begun + 10)
        assert loop.progress["failing"].failures >= 1
        assert str(error) in str(loop.report()["failing"]["error"])
        await failing.reached(3)
        await other.reached(other.begun + 10)

        assert loop.progress["failing"].failures == 0
        assert loop.report()["failing"]["error"] is None
        assert loop.progress["failing"].rounds == 1


async def test_the_rest_after_failures_doubles_up_to_a_bound() -> None:
    async def fails(_round: int) -> float:
        raise RuntimeError("no luck\nwith a long story")

    loop = Loop(stopped(), MemoryFeed())
    actor = Tiny("actor", fails)
    from foliot.engine.loop import ActorStatus

    progress = ActorStatus()
    rests = [await loop._round(actor, progress) for _ in range(20)]

    assert rests[:4] == [FIRST_BACKOFF * 2**at for at in range(4)]
    assert rests[-1] == LONGEST_BACKOFF
    assert progress.error == "RuntimeError: no luck"


async def test_stopping_lets_a_round_finish() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()
    finished = False

    async def slow(_round: int) -> float:
        nonlocal finished
        entered.set()
        await leave.wait()
        finished = True
        return LONG

    loop = Loop(stopped(), MemoryFeed())
    actor = Tiny("slow", slow)
    loop.start([actor])
    await entered.wait()
    stopping = asyncio.create_task(loop.stop())
    await asyncio.sleep(0)
    assert not stopping.done()

    leave.set()
    await stopping

    assert finished
    assert actor.begun == 1


async def test_stopping_some_leaves_the_others_at_work() -> None:
    first, second = Tiny("first", no_rest), Tiny("second", no_rest)
    async with running(first, second) as loop:
        await first.reached(1)
        await loop.stop(["first"])
        rounds = first.begun
        await second.reached(second.begun + 5)

        assert first.begun == rounds


async def test_stopping_none_stops_none() -> None:
    actor = Tiny("actor", no_rest)
    async with running(actor) as loop:
        await loop.stop([])
        await actor.reached(actor.begun + 3)


async def test_a_stopped_actor_can_be_started_again() -> None:
    actor = Tiny("actor", long_rest)
    async with running(actor) as loop:
        await actor.reached(1)
        await loop.stop()
        loop.start([actor])
        await actor.reached(2)
