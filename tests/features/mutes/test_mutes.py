"""Muted groups of dead letters, on every database."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Forbidden, NotFound
from foliot.engine.model.run import RunState
from foliot.features.bulk.actor import BulkRunner
from foliot.features.bulk.usecases import BulkItemActions
from foliot.features.dead_letters import schema as dead_letters_schema
from foliot.features.insights.model.attention import AttentionKind
from foliot.features.insights.usecases.attention import Attention
from foliot.features.live.usecases import ChangeMarkers
from foliot.features.mutes import schema as mutes_schema
from foliot.features.mutes.usecases import Mutes
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World

REFUSED = {"code": "http_500", "message": "POST https://api.partner.io/hook answered 500"}
LIMITED = {"code": "http_429", "message": "POST https://shop.test/ answered 429"}


async def letters(world: World, *errors: dict[str, Any]) -> list[str]:
    """A dead letter for each, and the fingerprints of their groups in the same order."""
    found = []
    for error in errors:
        await world.pass_time(1)
        (run,) = (await Client(create_app(world.cases)).get("/api/runs?q=state:queued")).json["items"]
        await world.end(run["id"], RunState.DEAD_LETTER, error)
        found.append((await Client(create_app(world.cases)).get(f"/api/runs/{run['id']}")).json["fingerprint"])
    return found


async def count(client: Client, q: str) -> int:
    found: int = (await client.get(f"/api/runs/count?q={q}")).json["count"]
    return found


async def groups(client: Client, q: str = "") -> dict[str, Any]:
    answer = await client.get(f"/api/dead-letters/groups?q={q}")
    conforms(dead_letters_schema.FailureGroupPage, answer.json)
    found: dict[str, Any] = answer.json
    return found


async def told(world: World) -> list[int]:
    """How many letters need attention."""
    return [
        one.count for one in (await world.cases[Attention].check(LOCAL)).items if one.kind is AttentionKind.DEAD_LETTERS
    ]


async def test_a_muted_group_needs_nobody_until_its_time_is_over(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    partner, _, shop = await letters(world, REFUSED, REFUSED, LIMITED)
    assert await told(world) == [3]

    answer = await client.post(f"/api/dead-letters/groups/{partner}/mute", {"hours": 2, "reason": "they are mending"})

    conforms(mutes_schema.MutedGroup, answer.json)
    assert (answer.status, answer.json["user_id"], answer.json["reason"]) == (200, "local", "they are mending")
    assert await told(world) == [1]
    assert await count(client, "state:dead_letter -resolved:true -muted:true") == 1
    assert await count(client, "muted:true") == 2
    heard, silent = await groups(client, "-muted:true"), await groups(client, "muted:true")
    assert [(one["fingerprint"], one["mute"]) for one in heard["items"]] == [(shop, None)]
    assert [(one["fingerprint"], one["mute"]["reason"]) for one in silent["items"]] == [(partner, "they are mending")]
    assert (heard["letters"], silent["letters"], silent["total"]) == (1, 2, 1)
    await letters(world, REFUSED)
    assert await told(world) == [1], "a new letter of the group is muted with it"

    world.clock.advance(2 * 3600 - 60)
    assert await told(world) == [4]
    assert await count(client, "muted:true") == 0
    assert {one["mute"] for one in (await groups(client))["items"]} == {None}


async def test_everything_muted_leaves_nothing_that_needs_attention(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    (partner,) = await letters(world, REFUSED)

    await client.post(f"/api/dead-letters/groups/{partner}/mute")

    assert await told(world) == []
    muted = (await groups(client))["items"][0]["mute"]
    assert (muted["until"] > muted["at"], muted["reason"]) == (True, "")


async def test_a_group_is_unmuted_before_its_time_and_muted_anew(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    (partner,) = await letters(world, REFUSED)
    path = f"/api/dead-letters/groups/{partner}"
    await client.post(f"{path}/mute", {"reason": "first"})
    await client.post(f"{path}/mute", {"hours": 1, "reason": "second"})

    assert (await groups(client))["items"][0]["mute"]["reason"] == "second"
    for _ in range(2):
        answer = await client.post(f"{path}/unmute")
        assert (answer.status, answer.json) == (200, {"fingerprint": partner, "mute": None})

    assert await told(world) == [1]
    entries = (await client.get("/api/audit?thing=dead_letter")).json["items"]
    assert [(one["verb"], one["thing_id"]) for one in entries] == [
        ("unmute", partner),
        ("mute", partner),
        ("mute", partner),
    ]
    assert [(entries[1]["before"] or {}).get("reason"), entries[1]["after"]["reason"]] == ["first", "second"]


async def test_what_cannot_be_muted_is_refused(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    (partner,) = await letters(world, REFUSED)
    path = f"/api/dead-letters/groups/{partner}/mute"

    for body in ({"hours": 0}, {"hours": 721}, {"hours": "long"}, {"reason": "x" * 501}, {"minutes": 5}, [1]):
        assert (await client.post(path, body)).status == 422, body
    for unknown in ("0" * 12, "nonsense", "F" * 12):
        assert (await client.post(f"/api/dead-letters/groups/{unknown}/mute")).status == 404
        assert (await client.post(f"/api/dead-letters/groups/{unknown}/unmute")).status == 404
    for caller in (
        Caller("default", "eve", Role.VIEWER),
        Caller("default", "key", Role.OPERATOR, scopes=frozenset({"dead_letter:run"})),
    ):
        with pytest.raises(Forbidden):
            await world.cases[Mutes].mute(caller, partner)
    assert await told(world) == [1]


async def test_tenants_mute_their_own(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    (partner,) = await letters(world, REFUSED)
    other = Caller("other", "eve", Role.ADMIN)

    with pytest.raises(NotFound):
        await world.cases[Mutes].mute(other, partner)
    schedule = await world.cases[Schedules].create(other, EVERY_MINUTE)
    run = await world.cases[Schedules].run_now(other, schedule.id)
    await world.end(run.id, RunState.DEAD_LETTER, REFUSED)
    await world.cases[Mutes].mute(other, partner, {"hours": 1})

    assert await told(world) == [1]
    assert await count(client, "muted:true") == 0
    found = (await world.cases[Attention].check(other)).items
    assert [one for one in found if one.kind is AttentionKind.DEAD_LETTERS] == []


async def test_whoever_watches_runs_hears_of_mutes_and_discards(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    (partner,) = await letters(world, REFUSED)

    async def stir() -> object:
        return await world.cases[ChangeMarkers].runs(LOCAL)

    seen = [await stir()]
    assert await stir() == seen[0]
    await client.post(f"/api/dead-letters/groups/{partner}/mute", {"hours": 1})
    seen.append(await stir())
    await client.post(f"/api/dead-letters/groups/{partner}/unmute")
    assert await stir() == seen[0]
    await client.post(f"/api/dead-letters/groups/{partner}/mute", {"hours": 1})
    world.clock.advance(3600)
    assert await stir() == seen[0], "it came back by itself"
    await client.post("/api/bulk", {"action": "discard", "filter": ""})
    items = world.cases[BulkItemActions]
    async with world.feed.listen("runs") as waiter:
        await BulkRunner(clock=world.clock, store=world.store, feed=world.feed, actions=items, holder="one").run_once()
        assert await waiter.wait(0)
    seen.append(await stir())

    assert len({str(one) for one in seen}) == 3
    assert await told(world) == []


async def test_the_pile_is_counted_whole_by_age(world: World, client: Client) -> None:
    await world.schedule(EVERY_MINUTE)
    await letters(world, REFUSED)
    first = world.clock.now()
    for hours in (5, 20, 50):
        world.clock.advance(hours * 3600)
        await world.tick()
        await world.sql("UPDATE runs SET state = 'cancelled', lane = NULL, open_of = NULL, finished_at = created_at "
                        "WHERE state = 'queued'")  # fmt: skip
        await letters(world, LIMITED)

    found = await groups(client)

    assert (found["total"], found["letters"]) == (2, 4)
    assert found["oldest_at"].startswith(first.isoformat()[:19])
    assert [(one["up_to_hours"], one["count"]) for one in found["ages"]] == [
        *((1, 1), (6, 0), (24, 0), (72, 2), (168, 1), (None, 0)),
    ]
    assert [one["letters"] for one in [await groups(client, "since:2h")]] == [1]
