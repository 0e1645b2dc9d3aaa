"""Bulk actions through the HTTP API, processed by the real bulk runner, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.commands.envelope import CommandContext
from foliot.engine.model.run import RunState
from foliot.features.bulk import schema as bulk_schema
from foliot.features.bulk.actor import LEASE, BulkRunner
from foliot.features.bulk.model import Bulk
from foliot.features.bulk.sql import SqlBulks
from foliot.features.bulk.usecases import BulkItemActions, Bulks
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World, open_world

BOOM = {"code": "http_500", "message": "POST https://api.partner.io/hook answered 500"}


@pytest.fixture
async def here() -> AsyncIterator[Client]:
    """For what no database has a part in: one in memory."""
    async with open_world() as made:
        yield Client(create_app(made.cases))


def hauler(world: World, name: str = "one") -> BulkRunner:
    return BulkRunner(
        clock=world.clock, store=world.store, feed=world.feed, actions=world.cases[BulkItemActions], holder=name
    )


async def make(client: Client, status: int = 202, **body: Any) -> dict[str, Any]:
    answer = await client.post("/api/bulk", body)
    assert answer.status == status, answer.json
    if status == 202:
        conforms(bulk_schema.BulkAction, answer.json)
    made: dict[str, Any] = answer.json
    return made


async def read(client: Client, bulk_id: str) -> dict[str, Any]:
    answer = await client.get(f"/api/bulk/{bulk_id}")
    conforms(bulk_schema.BulkAction, answer.json)
    body: dict[str, Any] = answer.json
    return body


async def work(world: World, *haulers: BulkRunner, rounds: int = 60) -> int:
    """Rounds in turn, with time passing between them, until nothing is due any more."""
    done = 0
    for _ in range(rounds):
        for one in haulers:
            did = await one.run_once()
            done += did.items
        async with world.store.read() as tx:
            if await SqlBulks(tx).next_at() is None:
                return done
        world.clock.advance(0.2)
    return done


async def letters(world: World, client: Client, count: int) -> list[str]:
    """So many dead letters, oldest first."""
    await world.schedule(EVERY_MINUTE, name="Price push")
    await world.pass_time(count)
    ids = sorted(one["id"] for one in (await client.get("/api/runs?limit=500")).json["items"])
    for run_id in ids:
        await world.end(run_id, RunState.DEAD_LETTER, BOOM)
    return ids


async def runs(client: Client, q: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"/api/runs?limit=500&q={q}")).json["items"]
    return found


async def test_a_trial_says_what_would_happen_and_does_nothing(world: World, client: Client) -> None:
    ids = await letters(world, client, 7)

    trial = await make(client, 200, action="replay", filter="code:http_500", dry_run=True)

    conforms(bulk_schema.BulkDryRun, trial)
    assert (trial["count"], len(trial["sample"]), trial["hosts"]) == (7, 5, ["example.com"])
    assert trial["sample"][0]["name"] == "Price push"
    assert len(await runs(client, "")) == len(ids)
    assert (await client.get("/api/bulk")).json["items"] == []


async def test_everything_that_matches_is_replayed_once_at_the_rate(world: World, client: Client) -> None:
    ids = await letters(world, client, 7)
    made = await make(client, action="replay", canary=0, filter="code:http_500", rate=5, expect=7)
    assert (made["state"], made["total"], made["pending"]) == ("running", 7, 7)
    one = hauler(world)

    assert (await one.run_once()).items == 1
    assert (await one.run_once()).items == 0, "its turn has not come"
    world.clock.advance(0.2)
    assert (await one.run_once()).items == 1
    world.clock.advance(0.2)
    assert await work(world, one) == 5

    seen = await read(client, made["id"])
    assert (seen["state"], seen["done"], seen["ok"], seen["pending"]) == ("finished", 7, 7, 0)
    assert seen["outcomes"] == {"queued": 7}
    assert sorted(run["parent_id"] for run in await runs(client, "origin:replay")) == ids
    entries = (await client.get("/api/audit?verb=replay")).json["items"]
    assert len(entries) == 7


async def test_the_set_is_fixed_when_it_is_made(world: World, client: Client) -> None:
    await letters(world, client, 2)
    made = await make(client, action="discard", filter="")
    await world.pass_time(1)
    (young,) = await runs(client, "state:queued")
    await world.end(young["id"], RunState.DEAD_LETTER, BOOM)

    await work(world, hauler(world))

    assert (await read(client, made["id"]))["total"] == 2
    left = (await client.get("/api/dead-letters/groups")).json["items"]
    assert [group["count"] for group in left] == [1]
    (gone, _) = await runs(client, "resolved:true")
    assert (gone["resolved_by"], gone["links"]["resolved_by"]) == ("discarded", None)


async def test_what_came_between_counting_and_fixing_is_not_expected(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await letters(world, client, 3)

    async def too_few(*_: object) -> int:
        return 2

    monkeypatch.setattr(Bulks, "_count", too_few)
    refused = await make(client, 409, action="discard", filter="", expect=2)

    assert refused["detail"].startswith("3 match now, not 2")
    assert (await client.get("/api/bulk")).json["items"] == []


async def test_what_cannot_be_done_to_one_does_not_stop_the_others(world: World, client: Client) -> None:
    ids = await letters(world, client, 3)
    await world.pass_time(1)
    (waiting,) = await runs(client, "state:queued")

    made = await make(client, action="replay", canary=0, ids=[*ids, waiting["id"]], rate=50)
    await work(world, hauler(world))

    seen = await read(client, made["id"])
    assert (seen["state"], seen["ok"], seen["failed"]) == ("finished", 3, 1)
    (failure,) = seen["failures"]
    assert failure["id"] == waiting["id"]
    assert "is not a dead letter: queued" in failure["message"]


async def test_it_pauses_resumes_and_stops(world: World, client: Client) -> None:
    await letters(world, client, 4)
    made = await make(client, action="replay", canary=0, filter="", rate=1)
    one, path = hauler(world), f"/api/bulk/{made['id']}"
    await one.run_once()

    paused = (await client.post(f"{path}/pause")).json
    assert (paused["state"], paused["reason"]) == ("paused", "paused by local")
    world.clock.advance(60)
    assert (await one.run_once()).items == 0

    assert (await client.post(f"{path}/resume")).json["state"] == "running"
    await one.run_once()
    stopped = (await client.post(f"{path}/stop")).json
    world.clock.advance(60)
    await one.run_once()

    assert (stopped["state"], stopped["done"]) == ("stopped", 2)
    assert len(await runs(client, "origin:replay")) == 2
    assert (await client.post(f"{path}/resume")).status == 409
    assert (await client.post(f"{path}/stop")).status == 200


async def test_it_stops_by_itself_after_so_many_failures(world: World, client: Client) -> None:
    await letters(world, client, 6)
    made = await make(client, action="replay", canary=0, filter="", rate=1, stop_after=2)
    one = hauler(world)
    for _ in range(2):
        await one.run_once()
        (replay,) = await runs(client, "origin:replay%20state:queued")
        await world.end(replay["id"], RunState.DEAD_LETTER, BOOM)
        world.clock.advance(1)
    await work(world, one)

    seen = await read(client, made["id"])

    assert seen["state"] == "stopped"
    assert "after 2 failures" in seen["reason"]
    assert seen["done"] == 3


async def test_two_processes_share_the_work_and_do_nothing_twice(world: World, client: Client) -> None:
    await letters(world, client, 6)
    made = await make(client, action="replay", canary=0, filter="", rate=5)
    first, second = hauler(world, "first"), hauler(world, "second")

    await first.run_once()
    world.clock.advance(0.2)
    assert (await second.run_once()).items == 0, "the first one holds it"
    world.clock.advance(LEASE.total_seconds() + 1)
    assert (await second.run_once()).items == 1, "the first one is gone"
    await work(world, second, first)

    seen = await read(client, made["id"])
    assert (seen["state"], seen["ok"]) == ("finished", 6)
    replays = [run["parent_id"] for run in await runs(client, "origin:replay")]
    assert len(replays) == len(set(replays)) == 6


async def test_an_item_that_two_take_at_the_same_moment_is_done_once(world: World, client: Client) -> None:
    await letters(world, client, 1)
    made = await make(client, action="replay", canary=0, filter="", rate=1)
    async with world.store.begin() as tx:
        (held,) = await SqlBulks(tx).claim("one", world.clock.now(), LEASE, 5)
        (item,) = await SqlBulks(tx).items(held.id, 5)
    errand = world.cases[BulkItemActions].take(held)

    both = [hauler(world)._act(errand, held, item) for _ in range(2)]
    ended = await asyncio.gather(*both, return_exceptions=True)

    assert sorted(type(one).__name__ for one in ended) == ["NoneType", "_LostBulk"]
    assert len(await runs(client, "origin:replay")) == 1
    assert (await read(client, made["id"]))["done"] == 1


async def test_an_effect_that_fails_leaves_nothing_behind(world: World, client: Client) -> None:
    await letters(world, client, 1)
    made = await make(client, action="replay", canary=0, filter="", rate=1)

    class Clumsy(BulkItemActions):
        def take(self, bulk: Bulk) -> Any:
            errand = super().take(bulk)

            class Breaks:
                caller = errand.caller
                limiter = errand.limiter

                async def do(self, ctx: CommandContext, thing_id: str) -> str | None:
                    await errand.do(ctx, thing_id)
                    raise RuntimeError("after the effect")

            return Breaks()

    hands = world.cases[BulkItemActions]
    clumsy = Clumsy(
        runs=hands.runs,
        dead_letters=hands.dead_letters,
        schedules=hands.schedules,
        fill=hands.fill,
        limiter=hands.limiter,
    )
    one = BulkRunner(clock=world.clock, store=world.store, feed=world.feed, actions=clumsy, holder="one")
    await one.run_once()

    seen = await read(client, made["id"])
    assert (seen["state"], seen["ok"], seen["failed"]) == ("finished", 0, 1)
    assert "Foliot's log has the details" in seen["failures"][0]["message"]
    assert await runs(client, "origin:replay") == []


async def test_a_process_that_lost_its_hold_changes_nothing(world: World, client: Client) -> None:
    await letters(world, client, 2)
    made = await make(client, action="replay", canary=0, filter="", rate=1)
    late, now = hauler(world, "late"), world.clock.now()
    async with world.store.begin() as tx:
        (held,) = await SqlBulks(tx).claim("late", now, LEASE, 5)
    world.clock.advance(LEASE.total_seconds() + 1)
    async with world.store.begin() as tx:
        assert await SqlBulks(tx).claim("another", world.clock.now(), LEASE, 5)

    assert await late._turn(held) == 0

    assert await runs(client, "origin:replay") == []
    assert (await read(client, made["id"]))["done"] == 0


async def test_schedules_are_paused_resumed_run_and_deleted_together(world: World, client: Client) -> None:
    for number in range(3):
        await world.schedule(EVERY_MINUTE, name=f"Shop {number}", tags=["shop"])
    await world.schedule(EVERY_MINUTE, name="Other")
    one = hauler(world)

    async def statuses() -> dict[str, str]:
        found = (await client.get("/api/schedules")).json["items"]
        return {each["name"]: each["status"] for each in found}

    await make(client, action="pause", filter="tag:shop", rate=50)
    await work(world, one)
    assert await statuses() == {"Shop 0": "paused", "Shop 1": "paused", "Shop 2": "paused", "Other": "active"}

    made = await make(client, action="resume", filter='"shop 1"', rate=50)
    await work(world, one)
    assert made["total"] == 1
    assert (await statuses())["Shop 1"] == "active"

    made = await make(client, action="run", filter="tag:shop", rate=50)
    await work(world, one)
    assert (await read(client, made["id"]))["outcomes"] == {"queued": 3}
    assert len(await runs(client, "origin:manual")) == 3

    await make(client, action="delete", filter="tag:shop", rate=50)
    await work(world, one)
    assert await statuses() == {"Other": "active"}


async def test_open_runs_are_cancelled_and_ended_ones_left_alone(world: World, client: Client) -> None:
    await letters(world, client, 1)
    await world.pass_time(2)

    made = await make(client, action="cancel", filter="", rate=50)
    await work(world, hauler(world))

    assert made["total"] == 2
    assert len(await runs(client, "state:cancelled")) == 2


async def test_a_letter_is_replayed_ten_times_and_no_more(world: World, client: Client) -> None:
    (letter,) = await letters(world, client, 1)
    for _ in range(10):
        answer = await client.post("/api/dead-letters/replay", {"ids": [letter]})
        await world.end(answer.json["items"][0]["id"], RunState.DEAD_LETTER, BOOM)

    made = await make(client, action="replay", canary=0, filter="", rate=50)
    await work(world, hauler(world))
    single = await client.post("/api/dead-letters/replay", {"ids": [letter]})
    trial = await make(client, 200, action="replay", filter="", dry_run=True)

    (failure,) = (await read(client, made["id"]))["failures"]
    assert "was replayed 10 times" in failure["message"]
    assert single.status == 409
    assert "will be refused" in trial["warnings"][0]


async def test_nothing_that_matches_is_finished_at_once(here: Client) -> None:
    made = await make(here, action="cancel", filter="")

    assert (made["state"], made["total"], made["finished_at"] is not None) == ("finished", 0, True)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"action": "explode", "filter": ""}, 422, "action"),
        ({"action": "cancel"}, 422, "filter"),
        ({"action": "cancel", "filter": "", "ids": []}, 422, "filter"),
        ({"action": "cancel", "ids": ["sch_" + "0" * 32]}, 422, "ids[0]"),
        ({"action": "cancel", "filter": "state:oops"}, 422, "filter"),
        ({"action": "pause", "filter": "state:failed"}, 422, "filter"),
        ({"action": "cancel", "filter": "", "rate": 51}, 422, "rate"),
        ({"action": "cancel", "filter": "", "colour": 1}, 422, "colour"),
        ({"action": "cancel", "ids": ["run_" + "0" * 32]}, 404, None),
        ({"action": "cancel", "filter": "", "expect": 3}, 409, None),
    ],
)
async def test_a_wrong_request_is_refused(here: Client, body: dict[str, Any], status: int, field: str | None) -> None:
    answer = await here.post("/api/bulk", body)

    assert answer.status == status
    if field is not None:
        assert answer.json["errors"][0]["field"] == field


async def test_the_same_request_makes_one_bulk_action(world: World, client: Client) -> None:
    await letters(world, client, 1)
    body = {"action": "replay", "filter": ""}

    first = await client.post("/api/bulk", body, Idempotency_Key="once")
    second = await client.post("/api/bulk", body, Idempotency_Key="once")

    assert first.json["id"] == second.json["id"]
    assert len((await client.get("/api/bulk")).json["items"]) == 1
