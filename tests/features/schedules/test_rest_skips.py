"""Skipping the next instant through the HTTP API, on every database: the firing transaction decides."""

from __future__ import annotations

import asyncio
from typing import Any

from foliot.core.access import LOCAL
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules import schema as schedules_schema
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World

ME = LOCAL.user_id
NEXT, AFTER = "2027-01-04T12:01:00Z", "2027-01-04T12:02:00Z"


async def ask(
    client: Client, schedule_id: str, body: object = None, status: int = 200, method: str = "POST"
) -> dict[str, Any]:
    answer = await client.send(method, f"/api/schedules/{schedule_id}/skip-next", body)
    assert answer.status == status, answer.json
    if status == 200:
        conforms(schedules_schema.Schedule, answer.json)
    said: dict[str, Any] = answer.json
    return said


async def outcomes(client: Client, schedule_id: str, count: int = 3) -> list[tuple[str, str]]:
    found = (await client.get(f"/api/schedules/{schedule_id}/instants?limit={count}")).json["items"]
    return [(one["outcome"], one["reason"]) for one in found]


async def proved(world: World) -> int:
    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert proof.holes == []
    return proof.instants


async def test_the_next_instant_makes_no_run_and_the_ledger_says_who_wanted_that(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE)

    said = await ask(client, made.id)
    assert (said["skips"], said["next_run_at"]) == ({"at": NEXT, "by": ME}, AFTER)
    assert (said["version"], said["status"]) == (1, "active")
    assert await outcomes(client, made.id) == [("skipped", f"skipped by {ME}"), ("planned", ""), ("planned", "")]
    await world.pass_time(2)

    assert await outcomes(client, made.id) == [("skipped", f"skipped by {ME}"), ("queued", "queued"), ("planned", "")]
    seen = (await client.get(f"/api/schedules/{made.id}")).json
    assert (seen["skips"], seen["last_run_at"]) == (None, AFTER)
    assert await proved(world) == 2
    (entry,) = (await client.get("/api/audit?verb=skip")).json["items"]
    assert (entry["thing_id"], entry["after"], entry["user_id"]) == (made.id, {"skips": NEXT}, ME)


async def test_asking_twice_skips_one(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE)

    await ask(client, made.id)
    assert (await ask(client, made.id))["skips"]["at"] == NEXT
    await world.pass_time(3)

    assert [outcome for outcome, _ in await outcomes(client, made.id)] == ["skipped", "queued", "queued"]
    assert len((await client.get("/api/audit?verb=skip")).json["items"]) == 1
    assert (await ask(client, made.id))["skips"]["at"] == "2027-01-04T12:04:00Z", "the next one is another"


async def test_an_instant_that_is_not_the_next_is_refused_by_name(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE)

    said = await ask(client, made.id, {"at": AFTER}, 409)
    assert said["detail"] == f"{AFTER} is not the next instant of schedule {made.id}: {NEXT} is"
    world.clock.advance(60)
    await ask(client, made.id, {"at": NEXT}, 409)
    await ask(client, made.id, {"at": "soon"}, 422)
    await ask(client, made.id, {"when": AFTER}, 422)
    await ask(client, made.id, {"at": AFTER})

    assert [outcome for outcome, _ in await outcomes(client, made.id)] == ["queued", "skipped", "planned"]
    assert await proved(world) == 1


async def test_it_can_be_taken_back_until_it_has_passed(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE)
    await ask(client, made.id)

    said = await ask(client, made.id, method="DELETE")
    assert (said["skips"], said["next_run_at"]) == (None, NEXT)
    await ask(client, made.id, status=409, method="DELETE")
    await world.pass_time(1)
    await ask(client, made.id)
    await world.pass_time(1)
    late = await ask(client, made.id, status=409, method="DELETE")

    assert "may have passed" in late["detail"]
    assert [outcome for outcome, _ in await outcomes(client, made.id)] == ["queued", "skipped", "planned"]
    assert [one["verb"] for one in (await client.get("/api/audit?thing=schedule")).json["items"]][:3] == [
        "skip",
        "unskip",
        "skip",
    ]
    assert await proved(world) == 2


async def test_an_edit_keeps_it_while_the_new_rules_name_the_instant(world: World, client: Client) -> None:
    kept, lost = await world.schedule(EVERY_MINUTE), await world.schedule(EVERY_MINUTE)
    await ask(client, kept.id)
    await ask(client, lost.id)

    renamed = await client.patch(f"/api/schedules/{kept.id}", {"name": "Renamed", "tags": ["new"]})
    moved = await client.patch(f"/api/schedules/{lost.id}", {"interval_seconds": 90})

    assert (renamed.json["skips"]["at"], renamed.json["version"]) == (NEXT, 2)
    assert moved.json["skips"] is None
    await world.pass_time(3)
    assert [outcome for outcome, _ in await outcomes(client, kept.id)] == ["skipped", "queued", "queued"]
    assert [outcome for outcome, _ in await outcomes(client, lost.id, 2)] == ["queued", "queued"]
    await proved(world)


async def test_a_wish_that_is_no_longer_the_next_is_not_taken_for_another(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE)
    await ask(client, made.id)
    sooner = "2027-01-04T12:00:30Z"
    edited = await client.patch(f"/api/schedules/{made.id}", {"interval_seconds": 30})
    assert (edited.json["skips"]["at"], edited.json["next_run_at"]) == (NEXT, sooner)

    for body in (None, {"at": sooner}):
        said = await ask(client, made.id, body, 409)
        assert said["detail"].startswith(f"{NEXT} is already set to be skipped")
    assert (await ask(client, made.id, {"at": NEXT}))["skips"]["at"] == NEXT
    await ask(client, made.id, method="DELETE")
    assert (await ask(client, made.id))["skips"]["at"] == sooner


async def test_a_pause_neither_ends_nor_moves_it(world: World, client: Client) -> None:
    soon, later = await world.schedule(EVERY_MINUTE), await world.schedule(EVERY_MINUTE)
    for one in (soon, later):
        await ask(client, one.id)
        await client.post(f"/api/schedules/{one.id}/pause", {"reason": "waiting"})
    await client.post(f"/api/schedules/{soon.id}/resume")
    await world.pass_time(2)
    resumed = (await client.post(f"/api/schedules/{later.id}/resume")).json
    await world.pass_time(1)

    assert resumed["skips"] is None, "its instant passed while it was paused"
    assert await outcomes(client, soon.id) == [("skipped", f"skipped by {ME}"), *[("queued", "queued")] * 2]
    assert [outcome for outcome, _ in await outcomes(client, later.id)] == ["skipped", "skipped", "queued"]
    assert (await outcomes(client, later.id))[0][1] == "paused: waiting"
    await proved(world)


async def test_what_has_no_next_instant_says_so(world: World, client: Client) -> None:
    paused, gone = await world.schedule(EVERY_MINUTE), await world.schedule(EVERY_MINUTE)
    await client.post(f"/api/schedules/{paused.id}/pause")
    await client.delete(f"/api/schedules/{gone.id}")

    assert "is paused: it has no next instant" in (await ask(client, paused.id, status=409))["detail"]
    assert "is deleted" in (await ask(client, gone.id, status=409))["detail"]
    await ask(client, "sch_" + "0" * 32, status=404)


async def test_the_pictures_show_it_as_skipped(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE, interval_seconds=3600)
    before = (await client.get("/api/calendar?granularity=day&timezone=UTC")).json["items"]
    await ask(client, made.id)

    after = (await client.get("/api/calendar?granularity=day&timezone=UTC")).json["items"]
    strip = (await client.get("/api/timeline")).json["groups"][0]

    assert sum(one["planned"] for one in before) - sum(one["planned"] for one in after) == 1
    assert [one["skipped"] for one in after if one["skipped"]] == [1]
    first, *others = sorted(strip["marks"], key=lambda mark: mark["at"])
    assert (first["state"], first["at"]) == ("skipped", "2027-01-04T13:00:00Z")
    assert {mark["state"] for mark in others} == {"planned"}
    assert strip["planned"] == 22


async def test_whoever_fires_and_whoever_skips_agree(world: World, client: Client) -> None:
    """The instant comes due while somebody asks: it is skipped, or it has run and another one is."""
    made = [await world.schedule(EVERY_MINUTE) for _ in range(12)]
    world.clock.advance(59.9)

    async def fire() -> None:
        for _ in range(6):
            await world.tick()
            world.clock.advance(0.04)

    await asyncio.gather(fire(), fire(), *(ask(client, one.id) for one in made))
    await world.pass_time(3)

    assert await proved(world) >= 3 * len(made)
    for one in made:
        found = [outcome for outcome, _ in await outcomes(client, one.id)]
        assert sorted(found) == ["queued", "queued", "skipped"]
