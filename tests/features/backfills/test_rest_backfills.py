"""Backfills through the HTTP API, processed by the real bulk runner, on every database."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from foliot.commands.envelope import CommandContext
from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL, Caller, Role
from foliot.engine.model.run import RunState
from foliot.features.backfills import schema as backfills_schema
from foliot.features.backfills.model import item_of
from foliot.features.backfills.usecases import Backfills
from foliot.features.bulk import schema as bulk_schema
from foliot.features.bulk.actor import BulkRunner
from foliot.features.bulk.sql import SqlBulks
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.runs import schema as runs_schema
from tests.asgi import Client
from tests.declared import conforms
from tests.features.bulk.test_rest_bulks import hauler, read, work
from tests.world import EVERY_MINUTE, World

START, END = "2027-01-04T12:00:00Z", "2027-01-04T12:11:00Z"
BOOM = {"code": "http_500", "message": "POST https://example.com/hook answered 500"}


async def backfill(client: Client, schedule_id: str, status: int = 202, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"/api/schedules/{schedule_id}/backfill", {"from": START, **body})
    assert answer.status == status, answer.json
    if status in {200, 202}:
        conforms(backfills_schema.BackfillDryRun if status == 200 else bulk_schema.BulkAction, answer.json)
    made: dict[str, Any] = answer.json
    return made


async def fills(client: Client) -> list[str]:
    """The instants that runs were made for, each as often as there is a run."""
    found = (await client.get("/api/runs?limit=500&q=origin:manual")).json["items"]
    for one in found:
        conforms(runs_schema.Run, one)
    return sorted(one["fills"] for one in found)


async def a_mixed_past(world: World, client: Client) -> str:
    """Ten minutes: six runs that succeeded, two that failed, one skipped, one missed in a pause of a minute."""
    made = await world.schedule(EVERY_MINUTE, name="Often")
    await client.post(f"/api/schedules/{made.id}/skip-next")
    await world.pass_time(9)
    await client.post(f"/api/schedules/{made.id}/pause", {"reason": "waiting"})
    await world.pass_time(1)
    await client.post(f"/api/schedules/{made.id}/resume")
    runs = sorted((await client.get("/api/runs?limit=500")).json["items"], key=lambda run: run["scheduled_for"])
    for place, run in enumerate(runs):
        bad = place in {2, 5}
        await world.end(run["id"], RunState.DEAD_LETTER if bad else RunState.SUCCESS, BOOM if bad else None)
    return made.id


MISSING = ["2027-01-04T12:04:00Z", "2027-01-04T12:07:00Z", "2027-01-04T12:10:00Z"]
"""Failed, failed, paused. What was skipped by wish, at 12:01, misses nothing."""
SUCCEEDED_OR_SKIPPED = {"succeeded": 6, "skipped on purpose": 1}


async def test_a_trial_counts_what_has_no_success_and_does_nothing(world: World, client: Client) -> None:
    schedule_id = await a_mixed_past(world, client)

    trial = await backfill(client, schedule_id, 200, dry_run=True)

    assert (trial["count"], trial["named"], trial["left_out"]) == (3, 10, SUCCEEDED_OR_SKIPPED)
    assert trial["warnings"][-1] == "1 skipped on purpose: `all` includes them"
    assert (trial["first"], trial["last"], trial["hosts"]) == (MISSING[0], MISSING[-1], ["example.com"])
    assert [(one["at"], one["outcome"], one["reason"]) for one in trial["sample"]] == [
        (MISSING[0], "ran", "dead_letter"),
        (MISSING[1], "ran", "dead_letter"),
        (MISSING[2], "skipped", "paused: waiting"),
    ]
    assert await fills(client) == []
    assert (await client.get("/api/bulk")).json["items"] == []


async def test_each_missing_instant_gets_one_run_that_knows_it_and_the_account_still_adds_up(
    world: World, client: Client
) -> None:
    schedule_id = await a_mixed_past(world, client)
    made = await backfill(client, schedule_id, expect=3)
    assert (made["action"], made["total"]) == ("backfill", 3)
    assert made["details"]["schedule_id"] == schedule_id

    await work(world, hauler(world))

    assert (await read(client, made["id"]))["outcomes"] == {"queued": 3}
    assert await fills(client) == MISSING
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []
    one = (await client.get("/api/runs?q=origin:manual")).json["items"][0]
    (claimed,) = await world.claim(one["id"])
    assert claimed.scheduled_for is not None
    assert claimed.scheduled_for.isoformat() == "2027-01-04T12:10:00+00:00", "what acts on it is told the instant"
    assert (one["queue"], one["origin"], one["scheduled_for"]) == ("default", "manual", None)
    assert len((await client.get("/api/audit?verb=backfill")).json["items"]) == 3


async def test_asking_again_makes_no_second_run(world: World, client: Client) -> None:
    schedule_id = await a_mixed_past(world, client)
    await backfill(client, schedule_id)
    await work(world, hauler(world))

    waiting = await backfill(client, schedule_id)
    assert (waiting["state"], waiting["total"]) == ("finished", 0)
    for run in (await client.get("/api/runs?q=origin:manual")).json["items"]:
        await world.end(run["id"], RunState.SUCCESS)
    again = await backfill(client, schedule_id, 200, dry_run=True)
    assert (again["count"], again["left_out"]) == (0, {"succeeded": 9, "skipped on purpose": 1})
    every = await backfill(client, schedule_id, which="all")
    assert every["total"] == 7, "what was skipped too; those that a backfill has made up for are not made up for twice"
    await work(world, hauler(world))

    found = await fills(client)
    assert len(found) == len(set(found)) == 10
    assert (await backfill(client, schedule_id, 200, which="all", dry_run=True))["left_out"] == {
        "under way": 7,
        "already backfilled": 3,
    }


async def test_what_was_skipped_on_purpose_and_asked_for_since_may_be_missing(world: World, client: Client) -> None:
    schedule_id = await a_mixed_past(world, client)
    await backfill(client, schedule_id, which="all")
    await work(world, hauler(world))
    for run in (await client.get("/api/runs?limit=500&q=origin:manual")).json["items"]:
        await world.end(run["id"], RunState.DEAD_LETTER, BOOM)

    again = await backfill(client, schedule_id, 200, dry_run=True)

    assert (again["first"], again["left_out"]) == ("2027-01-04T12:01:00Z", {"succeeded": 6})


async def test_two_that_overlap_make_one_run_for_each_instant(world: World, client: Client) -> None:
    """Both were fixed before either began; the schedule's row decides."""
    schedule_id = await a_mixed_past(world, client)
    one, other = await asyncio.gather(backfill(client, schedule_id), backfill(client, schedule_id))
    assert (one["total"], other["total"]) == (3, 3)

    first, second = hauler(world, "first"), hauler(world, "second")

    async def carry(mine: BulkRunner) -> None:
        for _ in range(40):
            await mine.run_once()
            world.clock.advance(0.1)

    await asyncio.gather(carry(first), carry(second))

    assert await fills(client) == MISSING
    ends = [await read(client, bulk["id"]) for bulk in (one, other)]
    assert [end["state"] for end in ends] == ["finished", "finished"]
    assert sum(end["ok"] for end in ends) == 3
    told = [failure["message"] for end in ends for failure in end["failures"]]
    assert len(told) == 3
    assert all("is under way by run_" in message for message in told)


async def test_one_that_failed_may_be_made_up_for_again_and_a_retry_that_succeeds_counts(
    world: World, client: Client
) -> None:
    schedule_id = await a_mixed_past(world, client)
    await backfill(client, schedule_id)
    await work(world, hauler(world))
    runs = sorted((await client.get("/api/runs?q=origin:manual")).json["items"], key=lambda run: run["fills"])
    for run in runs:
        await world.end(run["id"], RunState.DEAD_LETTER, BOOM)
    retried = (await client.post(f"/api/runs/{runs[0]['id']}/retry")).json
    assert retried["fills"] == MISSING[0]
    await world.end(retried["id"], RunState.SUCCESS)

    again = await backfill(client, schedule_id, 200, dry_run=True)

    assert (again["count"], again["first"]) == (2, MISSING[1])


async def test_instants_from_before_the_schedule_are_those_its_trigger_names(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE, type="cron", interval_seconds=None, cron_expr="30 2 * * *")

    trial = await backfill(client, made.id, 200, dry_run=True, **{"from": "2027-01-01T00:00:00Z"})

    assert (trial["count"], trial["first"]) == (4, "2027-01-01T02:30:00Z")
    assert {one["reason"] for one in trial["sample"]} == {"the schedule did not exist yet"}


async def test_what_is_due_and_not_settled_is_left_to_whoever_fires(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE)
    world.clock.advance(150)

    assert (await backfill(client, made.id, 200, dry_run=True))["named"] == 0
    await world.tick()
    assert (await backfill(client, made.id, 200, dry_run=True))["left_out"] == {"under way": 2}


async def test_limits_and_mistakes_are_told_by_field(world: World, client: Client) -> None:
    schedule_id = await a_mixed_past(world, client)

    async def refused(status: int = 422, start: str | None = START, **body: Any) -> str:
        said = await backfill(client, schedule_id, status, **{"from": start, **body})
        return str(said["errors"][0]["field"] if status == 422 else said["detail"])

    assert await refused(start=None) == "from"
    assert await refused(start="yesterday") == "from"
    assert await refused(to=START) == "to"
    assert await refused(to="2030-01-01T00:00:00Z") == "to"
    assert await refused(which="some") == "which"
    assert await refused(rate=51) == "rate"
    assert await refused(limit=10_001) == "limit"
    assert await refused(limit=2) == "limit"
    assert await refused(sofort=True) == "sofort"
    assert await refused(409, expect=5) == "it would create 3 runs now, not 5: check again before you backfill"
    trial = await backfill(client, schedule_id, 200, limit=2, dry_run=True)
    assert trial["warnings"][0] == "3 runs are more than the limit of 2: this would be refused"
    often = await world.schedule(EVERY_MINUTE, type="cron", interval_seconds=None, cron_expr="* * * * *")
    said = await backfill(client, often.id, 422, **{"from": "2026-01-01T00:00:00Z"})
    assert "one backfill covers at most 20000" in said["errors"][0]["message"]
    await client.delete(f"/api/schedules/{schedule_id}")
    assert "is deleted" in await refused(409)
    assert await fills(client) == []


async def test_overlap_is_ignored_but_told(world: World, client: Client) -> None:
    made = await world.schedule(EVERY_MINUTE, overlap="skip")
    await world.pass_time(3)

    trial = await backfill(client, made.id, 200, dry_run=True)
    assert trial["left_out"] == {"under way": 1}
    assert any("the overlap policy skip" in warning for warning in trial["warnings"])
    await backfill(client, made.id)
    await work(world, hauler(world))

    assert len(await fills(client)) == 2


async def test_the_same_key_is_the_same_backfill(world: World, client: Client) -> None:
    schedule_id = await a_mixed_past(world, client)
    path = f"/api/schedules/{schedule_id}/backfill"

    first = await client.post(path, {"from": START}, Idempotency_Key="once")
    second = await client.post(path, {"from": START}, Idempotency_Key="once")

    assert first.json["id"] == second.json["id"]
    assert len((await client.get("/api/bulk")).json["items"]) == 1


async def test_a_viewer_makes_up_for_nothing(world: World) -> None:
    from foliot.core.errors import Forbidden

    made = await world.schedule(EVERY_MINUTE)
    viewer = Caller(LOCAL.tenant_id, "vera", Role.VIEWER)
    with pytest.raises(Forbidden):
        await world.cases[Backfills].create(viewer, made.id, {"from": START})


async def test_of_many_who_fill_an_instant_at_once_one_makes_the_run(world: World, client: Client) -> None:
    """Each in a transaction of its own that dawdles before its commit: the lock of the schedule decides."""
    schedule_id = await a_mixed_past(world, client)
    made = await backfill(client, schedule_id)

    async def fill(ctx: CommandContext) -> str:
        bulk = await SqlBulks(await ctx.begin(world.cases[Limiter])).get(LOCAL.tenant_id, made["id"])
        assert bulk is not None
        run_id = await world.cases[Backfills].fill(ctx, bulk, item_of(datetime.fromisoformat(MISSING[1])))
        await asyncio.sleep(0.05)
        return run_id

    calls = [CommandContext(world, LOCAL).perform(fill) for _ in range(4)]
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(end) for end in ends].count(str) == 1
    assert all("is under way by run_" in str(end) for end in ends if not isinstance(end, str))
    assert await fills(client) == [MISSING[1]]
