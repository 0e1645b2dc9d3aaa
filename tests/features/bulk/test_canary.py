"""Replays that send a canary first, through the HTTP API and the real bulk runner, on every database."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.engine.model.run import RunState
from tests.asgi import Client
from tests.features.bulk.test_rest_bulks import BOOM, hauler, letters, make, read, runs
from tests.world import World


async def rounds(world: World, number: int = 10) -> int:
    """Some rounds of the bulk runner, with a second between them."""
    one, done = hauler(world), 0
    for _ in range(number):
        done += (await one.run_once()).items
        world.clock.advance(1)
    return done


async def replays(client: Client) -> list[str]:
    return sorted(run["id"] for run in await runs(client, "origin:replay"))


async def test_a_replay_sends_one_and_awaits_its_final_outcome(world: World, client: Client) -> None:
    await letters(world, client, 4)
    made = await make(client, action="replay", filter="code:http_500", rate=5)

    assert await rounds(world) == 1
    (canary,) = await replays(client)
    seen = await read(client, made["id"])
    assert (seen["state"], seen["done"], seen["pending"]) == ("running", 1, 3)
    assert seen["reason"] == f"waiting for the canary: {canary} is queued"

    await world.end(canary, RunState.SUCCESS)
    assert await rounds(world) == 3
    seen = await read(client, made["id"])
    assert (seen["state"], seen["ok"], seen["reason"]) == ("finished", 4, "")


async def test_nothing_follows_a_canary_that_fails(world: World, client: Client) -> None:
    await letters(world, client, 4)
    made = await make(client, action="replay", filter="code:http_500", rate=1, stop_after=1)
    await rounds(world, 2)
    (canary,) = await replays(client)

    await world.end(canary, RunState.DEAD_LETTER, BOOM)

    assert await rounds(world) == 0
    seen = await read(client, made["id"])
    assert (seen["state"], seen["done"], seen["pending"]) == ("stopped", 1, 3)
    failed = f"the canary failed, so 3 were not sent. {canary} ended as dead_letter: {BOOM['message']}"
    assert seen["reason"] == failed
    assert await replays(client) == [canary]


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.CANCELLED])
async def test_every_end_but_a_good_one_stops_it(world: World, client: Client, state: RunState) -> None:
    await letters(world, client, 2)
    made = await make(client, action="replay", filter="code:http_500")
    await rounds(world, 1)

    await world.end((await replays(client))[0], state, BOOM)
    await rounds(world, 2)

    assert (await read(client, made["id"]))["state"] == "stopped"


async def test_all_of_several_canaries_must_succeed(world: World, client: Client) -> None:
    await letters(world, client, 5)
    made = await make(client, action="replay", filter="code:http_500", rate=50, canary=3)

    assert await rounds(world) == 3
    first, second, third = await replays(client)
    await world.end(first, RunState.SUCCESS)
    await world.end(second, RunState.PARTIAL)
    assert await rounds(world) == 0
    await world.end(third, RunState.SUCCESS)

    assert await rounds(world) == 2
    assert (await read(client, made["id"]))["state"] == "finished"


async def test_a_canary_that_cannot_be_sent_stops_it(world: World, client: Client) -> None:
    ids = await letters(world, client, 2)
    await world.pass_time(1)
    (waiting,) = await runs(client, "state:queued")
    made = await make(client, action="replay", ids=[*ids, waiting["id"]], order="newest")

    await rounds(world, 3)

    seen = await read(client, made["id"])
    assert (seen["state"], seen["failed"], seen["pending"]) == ("stopped", 1, 2)
    assert seen["reason"].startswith(f"the canary failed, so 2 were not sent. {waiting['id']} was not sent: ")


async def test_without_a_canary_and_for_one_letter_nothing_is_awaited(world: World, client: Client) -> None:
    ids = await letters(world, client, 4)
    several = await make(client, action="replay", ids=ids[:3], canary=0)
    single = await make(client, action="replay", ids=ids[3:])

    await rounds(world)

    assert [(await read(client, one["id"]))["state"] for one in (several, single)] == ["finished", "finished"]


@pytest.mark.parametrize(
    "body", [{"canary": -1}, {"canary": 101}, {"canary": "all"}, {"action": "discard", "canary": 1}]
)
async def test_a_wrong_canary_is_named(world: World, client: Client, body: dict[str, Any]) -> None:
    refused = await make(client, 422, **{"action": "replay", "filter": "", **body})

    assert refused["errors"][0]["field"] == "canary"
