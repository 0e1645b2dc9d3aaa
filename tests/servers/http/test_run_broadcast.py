"""Many who follow one run: each sees every event once, and the store is read once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from fastapi import FastAPI

from foliot.app.http import create_app
from foliot.core.errors import NotFound, Unavailable
from foliot.engine.model.run import Event, RunState
from foliot.features.runs import schema as runs_schema
from foliot.features.runs.rest import runs
from foliot.features.runs.usecases.runs import Runs
from foliot.servers.http import run_broadcast, sse
from foliot.wakeups.feed import run_topic
from tests.asgi import Client, Stream
from tests.features.runs.test_rest_runs import _finish, parsed, run_of, say
from tests.world import World, open_world

MANY = 40


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def app(world: World) -> FastAPI:
    return create_app(world.cases)


@pytest.fixture
def client(app: FastAPI) -> Client:
    return Client(app)


@pytest.fixture
async def run_id(world: World, client: Client) -> str:
    return str((await run_of(world, client))["id"])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """After which number the store was asked for events, each time."""
    found: list[int] = []
    ask = Runs.events

    async def noted(self: Runs, caller: Any, run_id: str, after: int, limit: int) -> Any:
        found.append(after)
        return await ask(self, caller, run_id, after, limit)

    monkeypatch.setattr(Runs, "events", noted)
    return found


async def ids(stream: Stream) -> list[int | None]:
    return [seq for seq, _, _ in parsed(await stream.frames())]


async def test_an_event_is_read_and_rendered_once_however_many_follow(
    world: World, client: Client, run_id: str, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[int] = []
    shown = runs_schema.run_event

    def noted(event: Event) -> runs_schema.RunEvent:
        rendered.append(event.seq)
        return shown(event)

    monkeypatch.setattr(runs, "run_event", noted)
    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(client.stream(f"/api/runs/{run_id}/events")) for _ in range(MANY)]
        for reader in readers:
            await reader.frames(1)
        asked.clear()
        (claimed,) = await world.claim(run_id)
        await say(world, claimed, *(f"line {number}" for number in range(20)))
        await _finish(world, claimed, RunState.SUCCESS)
        world.feed.wake(run_topic(run_id))
        told = [await ids(reader) for reader in readers]

    assert told == [[*range(2, told[0][-2] + 1), None]] * MANY  # type: ignore[operator]
    assert len(told[0]) > 20
    assert rendered == sorted(set(rendered))
    assert len(asked) <= 3


async def test_everybody_begins_where_they_say_and_goes_on_with_the_others(
    world: World, client: Client, run_id: str
) -> None:
    (claimed,) = await world.claim(run_id)
    await say(world, claimed, "one", "two", "three")
    async with AsyncExitStack() as stack:
        readers = [
            await stack.enter_async_context(client.stream(f"/api/runs/{run_id}/events?after={after}"))
            for after in range(8)
        ]
        for after, reader in enumerate(readers[:5]):
            await reader.frames(5 - after)
        await _finish(world, claimed, RunState.SUCCESS)
        world.feed.wake(run_topic(run_id))
        told = [await ids(reader) for reader in readers]

    assert told == [*[[6, None]] * 6, [None], [None]]


@pytest.mark.parametrize(("kept", "heavy"), [(2, 2**20), (1000, 300), (1000, 0)])
async def test_whoever_is_further_behind_than_what_is_kept_misses_nothing(
    world: World, client: Client, run_id: str, monkeypatch: pytest.MonkeyPatch, kept: int, heavy: int
) -> None:
    monkeypatch.setattr(run_broadcast, "KEPT", kept)
    monkeypatch.setattr(run_broadcast, "HEAVY", heavy)
    monkeypatch.setattr(sse, "BATCH", 3)
    (claimed,) = await world.claim(run_id)
    async with client.stream(f"/api/runs/{run_id}/events") as early:
        await early.frames(2)
        await say(world, claimed, *(f"line {number}" for number in range(30)))
        world.feed.wake(run_topic(run_id))
        await early.frames(1)
        async with client.stream(f"/api/runs/{run_id}/events") as late:
            await late.frames(3)
            await _finish(world, claimed, RunState.SUCCESS)
            world.feed.wake(run_topic(run_id))

            assert await ids(early) == [*range(4, 34), None]
            assert await ids(late) == [*range(4, 34), None]


async def test_what_is_kept_stays_bounded(world: World, app: FastAPI, client: Client, run_id: str) -> None:
    (claimed,) = await world.claim(run_id)
    async with client.stream(f"/api/runs/{run_id}/events") as reader:
        await reader.frames(2)
        for _ in range(4):
            await say(world, claimed, *("x" * 1000 for _ in range(400)))
        world.feed.wake(run_topic(run_id))
        await reader.frames(1600)
        [(made, _)] = app.state.streams.broadcasts._of.values()

        assert 0 < len(made._frames) <= run_broadcast.KEPT
        assert made._weight == sum(map(len, made._frames)) <= run_broadcast.HEAVY


async def test_a_database_that_is_away_for_a_moment_ends_no_stream(
    world: World, client: Client, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_broadcast, "LOOK", 0.01)
    (claimed,) = await world.claim(run_id)
    async with client.stream(f"/api/runs/{run_id}/events") as reader:
        await reader.frames(2)
        ask = Runs.events
        failures = 3

        async def away(self: Runs, *asked: Any) -> Any:
            nonlocal failures
            failures -= 1
            if failures >= 0:
                raise Unavailable("the database did not answer")
            return await ask(self, *asked)

        monkeypatch.setattr(Runs, "events", away)
        await _finish(world, claimed, RunState.SUCCESS)
        world.feed.wake(run_topic(run_id))

        assert await ids(reader) == [3, None]


async def test_a_stream_does_not_end_before_everything_is_told(
    world: World, client: Client, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_broadcast, "KEPT", 2)
    monkeypatch.setattr(sse, "LOOK", 0.01)
    (claimed,) = await world.claim(run_id)
    await say(world, claimed, "one", "two", "three")
    await _finish(world, claimed, RunState.SUCCESS)
    ask, asked = Runs.events, 0

    async def away(self: Runs, caller: Any, run_id: str, after: int, limit: int) -> Any:
        nonlocal asked
        asked += after == 0
        # The first question is whether there is such a run.
        if after == 0 and 1 < asked < 5:
            raise Unavailable("the database did not answer")
        return await ask(self, caller, run_id, after, limit)

    monkeypatch.setattr(Runs, "events", away)
    async with client.stream(f"/api/runs/{run_id}/events") as reader:
        assert await ids(reader) == [1, 2, 3, 4, 5, 6, None]


async def test_two_runs_are_told_apart(world: World, client: Client, run_id: str) -> None:
    await world.pass_time(1)
    (other,) = [one["id"] for one in (await client.get("/api/runs")).json["items"] if one["id"] != run_id]
    (claimed,) = await world.claim(other)
    async with (
        client.stream(f"/api/runs/{run_id}/events") as one,
        client.stream(f"/api/runs/{other}/events") as two,
    ):
        assert len(await one.frames(1)) == 1
        assert len(await two.frames(2)) == 2
        await _finish(world, claimed, RunState.SUCCESS)
        world.feed.wake(run_topic(other))
        assert parsed(await two.frames())[-1][2]["run_id"] == other
        await world.end(run_id, RunState.FAILED)
        world.feed.wake(run_topic(run_id))
        assert parsed(await one.frames())[-1][2] == {"run_id": run_id, "state": "failed", "seq": 3}


@pytest.mark.parametrize(
    ("raised", "words"), [(NotFound("run", "x"), "the run is gone"), (RuntimeError("a bug"), "Last-Event-ID")]
)
async def test_a_reading_that_fails_for_good_ends_its_streams_with_a_reason(
    client: Client, run_id: str, world: World, monkeypatch: pytest.MonkeyPatch, raised: Exception, words: str
) -> None:
    async with client.stream(f"/api/runs/{run_id}/events") as reader:
        await reader.frames(1)

        async def fail(self: Runs, *asked: Any) -> Any:
            raise raised

        monkeypatch.setattr(Runs, "events", fail)
        world.feed.wake(run_topic(run_id))

        assert words in (await reader.frames())[-1]


async def test_the_last_one_to_leave_ends_the_reading(world: World, app: FastAPI, client: Client, run_id: str) -> None:
    made = app.state.streams.broadcasts
    async with client.stream(f"/api/runs/{run_id}/events") as one:
        await one.frames(1)
        async with client.stream(f"/api/runs/{run_id}/events") as other:
            await other.frames(1)
            assert len(made._of) == 1
        assert len(made._of) == 1
    assert not made._of
    assert not world.feed._waiters

    async with client.stream(f"/api/runs/{run_id}/events") as again:
        assert await again.frames(1)


async def test_a_stopping_server_tells_everybody_at_once(app: FastAPI, client: Client, run_id: str) -> None:
    async with client.stream(f"/api/runs/{run_id}/events") as reader:
        await reader.frames(1)
        began = asyncio.get_running_loop().time()
        app.state.streams.stopping.set()

        assert (await reader.frames())[-1].startswith(": the server is stopping")
        assert asyncio.get_running_loop().time() - began < sse.LOOK


@pytest.mark.parametrize(("count", "pause"), [(0, 0.0), (1, 0.0001), (100, 0.01), (1000, 0.1), (100_000, 0.1)])
def test_readings_are_further_apart_the_more_streams_are_open(count: int, pause: float) -> None:
    assert run_broadcast.read_interval(count) == pytest.approx(pause)
