"""Every feed keeps the same promises: in one process, through PostgreSQL, through Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from foliot.wakeups import across_processes
from foliot.wakeups.across_processes import SharedFeed, WakeupTransport
from foliot.wakeups.feed import (
    ENDINGS_TOPIC,
    RUNS_TOPIC,
    SCHEDULES_TOPIC,
    SLOTS_TOPIC,
    LivingFeed,
    MemoryFeed,
    Waiter,
    run_topic,
)
from foliot.wakeups.postgres import PostgresTransport
from foliot.wakeups.redis import RedisTransport, answers, connect
from tests import databases, redis_server
from tests.certificates import self_signed
from tests.conftest import Session
from tests.redis_server import NoRedis, RedisServer
from tests.services import absent, free_port

SOON = 10.0
"""Generous: the machine that runs the tests may have other things to do."""
LONG = 600.0
NEVER = 0.2
"""Long enough for whoever would be woken wrongly."""

SERVED = [pytest.param(name, marks=pytest.mark.services) for name in ("postgresql", "redis")]


@dataclass
class Place:
    """Where feeds meet: makes them, cuts their lines, hears what they say."""

    kind: str
    url: str
    stack: AsyncExitStack

    def line(self) -> WakeupTransport:
        return PostgresTransport(self.url) if self.kind == "postgresql" else RedisTransport(self.url, "foliot_test")

    async def feed(self) -> LivingFeed:
        """The feed of one process."""
        made: LivingFeed = MemoryFeed() if self.kind == "memory" else SharedFeed(self.line(), quiet=LONG)
        await made.start()
        self.stack.push_async_callback(made.close)
        assert made.reach().connected
        return made

    async def cut(self) -> None:
        """What an operator, a failover or a firewall does."""
        if self.kind == "postgresql":
            async with databases.connect(make_url(self.url)) as connection:
                await connection.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name = 'foliot feed' AND datname = current_database()"
                )
        else:
            async with connect(self.url) as client:
                for one in await client.client_list():
                    if one["name"] == "foliot-feed":
                        await client.client_kill_filter(_id=one["id"], skipme=True)

    async def overhear(self) -> list[str]:
        """Every payload from now on, in a list that grows."""
        said: list[str] = []
        line = self.line()
        await line.open(said.append, lambda: None)
        self.stack.push_async_callback(line.close)
        return said


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with redis_server.a_redis(tmp_path_factory.mktemp("redis")) as url:
            yield url
    except NoRedis as missing:
        absent(missing)


async def place_of(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    url = ""
    if request.param == "postgresql":
        give: Session = request.getfixturevalue("databases_of_session")
        url = give("postgresql", "main").render_as_string(hide_password=False)
    elif request.param == "redis":
        url = request.getfixturevalue("redis_url")
    async with AsyncExitStack() as stack:
        yield Place(request.param, url, stack)


@pytest.fixture(params=["memory", *SERVED])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    async for made in place_of(request):
        yield made


@pytest.fixture(params=SERVED)
async def served(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """Only those through which processes meet."""
    async for made in place_of(request):
        yield made


async def until(condition: Callable[[], bool | Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)


async def quiet(waiter: Waiter) -> None:
    """Take whatever woke it until now, and whatever follows from it."""
    while await waiter.wait(max(NEVER, *across_processes.AGAIN) + 0.1):
        pass


# --- one process ------------------------------------------------------------------------------------------------------


async def test_a_wake_before_the_wait_is_not_lost(place: Place) -> None:
    feed = await place.feed()
    async with feed.listen(RUNS_TOPIC) as waiter:
        feed.wake(RUNS_TOPIC)
        feed.wake(RUNS_TOPIC)

        assert await waiter.wait(SOON)
        assert not await waiter.wait(NEVER)


async def test_whoever_listens_to_something_else_sleeps(place: Place) -> None:
    feed = await place.feed()
    async with feed.listen(SCHEDULES_TOPIC, run_topic("run_a")) as waiter:
        feed.wake(RUNS_TOPIC, run_topic("run_b"))

        assert not await waiter.wait(NEVER)


async def test_one_wake_reaches_everybody_who_listens(place: Place) -> None:
    feed = await place.feed()
    async with feed.listen(RUNS_TOPIC) as one, feed.listen(RUNS_TOPIC, SCHEDULES_TOPIC) as other:
        feed.wake(RUNS_TOPIC)

        assert await one.wait(SOON)
        assert await other.wait(SOON)


async def test_whoever_stopped_listening_leaves_nothing_behind(place: Place) -> None:
    feed = await place.feed()
    async with feed.listen(RUNS_TOPIC, run_topic("run_a")):
        pass

    inner: Any = getattr(feed, "_here", feed)
    assert not inner._waiters


async def test_a_wake_here_waits_for_no_line(served: Place) -> None:
    feed = SharedFeed(served.line())
    async with feed.listen(RUNS_TOPIC, run_topic("run_a")) as waiter:
        feed.wake(run_topic("run_a"))

        assert await waiter.wait(0)


# --- several processes ------------------------------------------------------------------------------------------------


async def test_one_process_wakes_another(served: Place) -> None:
    here, there = await served.feed(), await served.feed()
    run = run_topic("run_0190c1de1b2c7d3e8f90a1b2c3d4e5f6")
    async with there.listen(RUNS_TOPIC) as dispatcher, there.listen(run) as follower:
        await quiet(dispatcher)
        await quiet(follower)

        here.wake(run)
        assert await follower.wait(SOON)
        assert not await dispatcher.wait(NEVER)

        here.wake(RUNS_TOPIC)
        assert await dispatcher.wait(SOON)
        assert not await follower.wait(NEVER)


async def test_whoever_looks_for_ready_runs_looks_again_for_clocks_differ(served: Place) -> None:
    here, there = await served.feed(), await served.feed()
    async with there.listen(RUNS_TOPIC) as dispatcher, there.listen(SCHEDULES_TOPIC) as ticker:
        await quiet(dispatcher)
        await quiet(ticker)
        here.wake(RUNS_TOPIC, SCHEDULES_TOPIC)

        assert await dispatcher.wait(SOON)
        woken = asyncio.get_running_loop().time()
        for delay in across_processes.AGAIN:
            assert await dispatcher.wait(SOON)
            assert asyncio.get_running_loop().time() - woken > delay * 0.8
        assert not await dispatcher.wait(NEVER)
        assert await ticker.wait(SOON)
        assert not await ticker.wait(NEVER)


async def test_what_we_said_does_not_wake_us_again(served: Place) -> None:
    feed = await served.feed()
    said = await served.overhear()
    async with feed.listen(RUNS_TOPIC) as waiter:
        await quiet(waiter)
        feed.wake(RUNS_TOPIC)
        assert await waiter.wait(SOON)

        await until(lambda: len(said) == 1)
        assert not await waiter.wait(NEVER)


async def test_what_concerns_nobody_else_is_not_said(served: Place) -> None:
    feed = await served.feed()
    said = await served.overhear()

    feed.wake(ENDINGS_TOPIC, SLOTS_TOPIC, "stop:1:ticker")
    feed.wake(SCHEDULES_TOPIC)

    await until(lambda: bool(said))
    assert [payload.split("\n")[1:] for payload in said] == [[SCHEDULES_TOPIC]]


async def test_wakes_in_quick_succession_share_a_payload(served: Place) -> None:
    feed = await served.feed()
    said = await served.overhear()
    began = asyncio.get_running_loop().time()

    for number in range(300):
        feed.wake(RUNS_TOPIC, run_topic(f"run_{number:032x}"))
        if number % 10 == 9:
            await asyncio.sleep(0.001)
    await until(lambda: any("run:0000012b" in payload for payload in said))

    took = asyncio.get_running_loop().time() - began
    assert len(said) <= took / across_processes.GATHER + 2
    topics = {topic for payload in said for topic in payload.split("\n")[1:]}
    assert topics == {RUNS_TOPIC, *(f"run:{number:08x}" for number in range(300))}


async def test_five_hundred_runs_that_end_at_once_are_named_and_ten_thousand_wake_everyone(served: Place) -> None:
    here, there = await served.feed(), await served.feed()
    said = await served.overhear()
    async with there.listen(SCHEDULES_TOPIC) as stranger:
        await quiet(stranger)

        here.wake(*(run_topic(f"run_{number:032x}") for number in range(500)))
        await until(lambda: len(said) == 1)
        assert not await stranger.wait(NEVER)

        here.wake(*(run_topic(f"run_{number:032x}") for number in range(10_000)))
        assert await stranger.wait(SOON)
        await until(lambda: len(said) == 2)
        assert said[1].split("\n")[1:] == ["*"]


async def test_what_others_say_on_the_channel_harms_nobody(served: Place) -> None:
    here, there = await served.feed(), await served.feed()
    line = served.line()
    await line.open(lambda _: None, lambda: None)
    served.stack.push_async_callback(line.close)
    async with there.listen(RUNS_TOPIC) as waiter:
        await quiet(waiter)
        for nonsense in ("", "\n", "x", "x\n\n\n", "x\nno such topic", "\u2603" * 2000):
            await line.send(nonsense)
        assert not await waiter.wait(NEVER)

        here.wake(RUNS_TOPIC)
        assert await waiter.wait(SOON)


# --- a line that breaks -----------------------------------------------------------------------------------------------


async def test_a_line_that_was_cut_comes_back_and_wakes_everyone(served: Place, logged: list[dict[str, Any]]) -> None:
    here, there = await served.feed(), await served.feed()
    async with there.listen(run_topic("run_a")) as waiter:
        await quiet(waiter)

        await served.cut()
        # Nobody woke it: it cannot know what it missed.
        assert await waiter.wait(SOON)
        await until(lambda: here.reach().connected and there.reach().connected)
        await quiet(waiter)

        here.wake(run_topic("run_a"))
        assert await waiter.wait(SOON)
        assert there.reach().error is None
    assert sorted(
        entry["event"].partition(":")[0] for entry in logged if entry.get("action", "").startswith("feed_")
    ) == sorted(2 * ["the wake-up connection is down", "the wake-up connection is back"])


async def test_what_could_not_be_said_is_said_when_the_line_is_back(served: Place) -> None:
    here, there = await served.feed(), await served.feed()
    async with there.listen(SCHEDULES_TOPIC) as waiter:
        await served.cut()
        await until(lambda: not here.reach().connected)
        here.wake(SCHEDULES_TOPIC)
        await until(lambda: there.reach().connected)

        assert await waiter.wait(SOON)


class Stumbling:
    """A line that breaks at the first word, and then carries everything."""

    kind = "stumbling"

    def __init__(self) -> None:
        self.said: list[str] = []
        self.opened = 0

    async def open(self, heard: Callable[[str], None], lost: Callable[[], None]) -> None:
        self.opened += 1

    async def send(self, payload: str) -> None:
        if self.opened == 1:
            raise ConnectionResetError
        self.said.append(payload)

    async def close(self) -> None:
        """Nothing."""


async def test_what_was_being_said_when_the_line_broke_is_said_again() -> None:
    line = Stumbling()
    feed = SharedFeed(line)
    await feed.start()
    feed.wake(SCHEDULES_TOPIC)
    await until(lambda: bool(line.said))
    await feed.close()

    assert [payload.split("\n")[1:] for payload in line.said] == [[SCHEDULES_TOPIC]]


class Deaf:
    """A line that takes everything and carries nothing, as one whose other end is gone."""

    kind = "deaf"
    opened = 0

    async def open(self, heard: Callable[[str], None], lost: Callable[[], None]) -> None:
        self.opened += 1

    async def send(self, payload: str) -> None:
        """Gone."""

    async def close(self) -> None:
        """Nothing."""


async def test_a_line_that_went_silent_is_noticed() -> None:
    line = Deaf()
    feed = SharedFeed(line, quiet=0.01)
    await feed.start()
    await until(lambda: line.opened >= 2)
    await feed.close()


async def test_a_line_that_answers_is_left_alone(served: Place) -> None:
    feed = SharedFeed(served.line(), quiet=0.02)
    await feed.start()
    said = await served.overhear()
    await until(lambda: len(said) >= 5)

    assert feed.reach().connected
    assert feed._error is None
    await feed.close()


async def test_nothing_is_kept_without_bound_for_a_line_that_is_away() -> None:
    feed = SharedFeed(RedisTransport(f"redis://127.0.0.1:{free_port()}/0", "x"))
    for number in range(20_000):
        feed.wake(run_topic(f"run_{number:032x}"))

    assert len(feed._pending) <= across_processes.MOST_PENDING


@pytest.mark.services
async def test_a_redis_that_is_away_at_the_start_is_said_once_and_used_when_it_comes(
    tmp_path: Path, logged: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(across_processes, "FIRST", 0.3)
    server = RedisServer(tmp_path)
    here, there = (SharedFeed(RedisTransport(server.url, "x")) for _ in range(2))
    await asyncio.gather(here.start(), there.start())
    assert not here.reach().connected
    assert here.reach().error
    assert [entry["action"] for entry in logged] == ["feed_away", "feed_away"]
    try:
        server.start()
    except NoRedis as missing:
        absent(missing)
    try:
        async with there.listen(RUNS_TOPIC) as waiter:
            await until(lambda: here.reach().connected and there.reach().connected)
            await quiet(waiter)
            here.wake(RUNS_TOPIC)
            assert await waiter.wait(SOON)
            await answers(server.url)
    finally:
        await here.close()
        await there.close()
        server.stop()


@pytest.mark.services
async def test_a_redis_is_reached_over_tls_when_its_certificate_is_good(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, self_signed(tmp_path / "redis.pem"))
    try:
        server.start()
    except NoRedis as missing:
        absent(missing)
    try:
        place = f"rediss://127.0.0.1:{server.port}/0"
        await answers(f"{place}?ssl_ca_certs={server.certificate}")
        with pytest.raises(Exception, match="certificate verify failed"):
            await answers(place)
    finally:
        server.stop()


# --- the end ----------------------------------------------------------------------------------------------------------


async def test_a_feed_that_closes_says_its_last_words_and_leaves_no_connection(served: Place) -> None:
    feed = await served.feed()
    said = await served.overhear()
    mine = await connections(served)

    feed.wake(RUNS_TOPIC)
    await until(lambda: len(said) == 1)
    feed.wake(RUNS_TOPIC)
    feed.wake(SCHEDULES_TOPIC)
    await feed.close()

    await until(lambda: {topic for payload in said[1:] for topic in payload.split("\n")[1:]} == {"runs", "schedules"})
    assert mine > await settled(served, mine)
    await feed.close()


async def test_a_feed_that_never_connected_closes_at_once() -> None:
    feed = SharedFeed(PostgresTransport(f"postgresql+asyncpg://nobody@127.0.0.1:{free_port()}/none"))
    async with asyncio.timeout(SOON):
        await asyncio.wait({asyncio.ensure_future(feed.start())}, timeout=0.2)
        await feed.close()


async def connections(place: Place) -> int:
    if place.kind == "redis":
        async with connect(place.url) as client:
            names = [str(one["name"]) for one in await client.client_list()]
            return names.count("foliot-feed") - 1
    ours = "application_name = 'foliot feed' AND datname = current_database()"
    query = f"SELECT count(*)::text FROM pg_stat_activity WHERE {ours}"
    async with databases.connect(make_url(place.url)) as connection:
        return int((await connection.column(query))[0])


async def settled(place: Place, before: int) -> int:
    """A server notices a moment later that somebody hung up."""
    for _ in range(100):
        if (left := await connections(place)) < before:
            return left
        await asyncio.sleep(0.02)
    return before
