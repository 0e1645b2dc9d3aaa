"""Following a run over a real connection that is cut: every event once, in order, until the end."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.client import AsyncFoliot, Foliot, NotFound, Unavailable
from foliot.core.access import LOCAL
from foliot.engine.model.run import EventLine, EventType
from foliot.engine.sql.runs import SqlRuns
from foliot.features.schedules.usecases.schedules import Schedules
from tests.client.server import breaking, serving
from tests.world import World, open_world

LINES = 60


async def run_with_log(world: World) -> str:
    """A run that has logged and ended."""
    schedule = await world.schedule()
    run_id = (await world.cases[Schedules].run_now(LOCAL, schedule.id)).id
    (claimed,) = await world.claim(run_id)
    lines = [EventLine(world.clock.now(), EventType.LOG, message=f"line {number}") for number in range(LINES)]
    async with world.store.begin() as tx:
        await SqlRuns(tx).append([(claimed.fence, lines)])
    await world.finish(claimed)
    return run_id


def numbers(events: list[Any]) -> list[int]:
    return [event["seq"] for event in events]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "async"])
async def test_a_stream_that_is_cut_resumes_exactly(asynchronous: bool) -> None:
    async with open_world() as world:
        run_id = await run_with_log(world)
        # Cuts within the header, within an event, and after some of them.
        async with serving(create_app(world.cases)) as served, breaking(served.url, [40, 700, 3000, 5001]) as url:
            with Foliot(served.url) as client:
                stored = await asyncio.to_thread(lambda: list(client.runs.events(run_id, limit=7)))
            if asynchronous:
                async with AsyncFoliot(url) as cut_off:
                    events = [event async for event in cut_off.runs.follow(run_id)]
            else:
                with Foliot(url) as blocked:
                    events = await asyncio.to_thread(lambda: list(blocked.runs.follow(run_id)))

    assert len(stored) > LINES
    assert numbers(stored) == list(range(1, len(stored) + 1))
    assert numbers(events) == numbers(stored)
    assert [path for _, path in served.asked].count(f"/api/runs/{run_id}/events") > 9, "pages and several streams"


async def test_a_reader_goes_on_after_the_number_that_it_has() -> None:
    async with open_world() as world:
        run_id = await run_with_log(world)
        async with serving(create_app(world.cases)) as served, AsyncFoliot(served.url) as client:
            whole = [event async for event in client.runs.follow(run_id)]
            rest = [event async for event in client.runs.follow(run_id, after=LINES)]

    assert numbers(rest) == numbers(whole)[LINES:]


async def test_following_what_is_not_there_fails_at_once_and_what_stays_away_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("foliot.client.core.FOLLOW_PAUSES", (0.01, 0.01))
    unknown = "run_00000000000000000000000000000000"
    async with (
        open_world() as world,
        serving(create_app(world.cases)) as served,
        AsyncFoliot(served.url, retries=0) as client,
    ):
        with pytest.raises(NotFound):
            await anext(client.runs.follow(unknown))
    # A port that is held and not listened on: no server of another test takes it meanwhile.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        async with AsyncFoliot(f"http://127.0.0.1:{held.getsockname()[1]}", retries=0) as client:
            with pytest.raises(Unavailable, match="did not come back"):
                await anext(client.runs.follow(unknown))
