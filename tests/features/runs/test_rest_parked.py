"""Parked runs in the HTTP API: how they are shown, in health and metrics too, and that a cancel wakes the watcher."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from foliot.app.http import create_app
from foliot.engine.model.run import ParkedUpdate
from foliot.engine.sql.parked import SqlParked
from foliot.features.health import schema as health_schema
from foliot.features.runs import schema as runs_schema
from foliot.wakeups.feed import PARKED_TOPIC
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


async def parked(world: World, client: Client) -> str:
    """A run whose effect goes on elsewhere, to be looked at now."""
    await world.schedule({**EVERY_MINUTE, "max_runs": 1})
    await world.pass_time(1)
    run_id: str = (await client.get("/api/runs")).json["items"][0]["id"]
    (claimed,) = await world.claim(run_id)
    now = world.clock.now()
    async with world.store.begin() as tx:
        await SqlParked(tx).park([ParkedUpdate(fence=claimed.fence, handle={"node": "n1"}, poll_at=now, at=now)], now)
    return run_id


async def test_a_parked_run_says_so_and_keeps_its_handle_to_itself(world: World, client: Client) -> None:
    run_id = await parked(world, client)

    run = (await client.get(f"/api/runs/{run_id}")).json

    conforms(runs_schema.Run, run)
    assert (run["state"], run["parked"], run["worker"]) == ("running", True, None)
    assert "handle" not in run


async def test_metrics_count_what_is_parked(world: World, client: Client) -> None:
    await parked(world, client)

    lines = (await client.get("/metrics")).text.splitlines()

    assert "foliot_parked 1.0" in lines
    assert 'foliot_runs{state="running"} 1.0' in lines


async def test_health_tells_of_a_look_that_is_overdue(world: World, client: Client) -> None:
    await parked(world, client)
    due = world.clock.now()

    async def health() -> tuple[health_schema.ParkedHealth | None, list[str]]:
        seen = conforms(health_schema.HealthReport, (await client.get("/health/detailed")).json)
        return seen.parked, [one for one in seen.problems if "parked" in one]

    assert await health() == (health_schema.ParkedHealth(count=1, oldest=due), [])
    world.clock.advance(75)
    _, problems = await health()
    assert len(problems) == 1
    assert "has been due for 75 s" in problems[0]


async def test_a_cancel_wakes_whoever_looks(world: World, client: Client) -> None:
    run_id = await parked(world, client)

    async with world.feed.listen(PARKED_TOPIC) as waiter:
        answer = await client.post(f"/api/runs/{run_id}/cancel")
        assert await waiter.wait(0)

    assert (answer.json["state"], answer.json["cancel_requested"], answer.json["parked"]) == ("running", True, True)
