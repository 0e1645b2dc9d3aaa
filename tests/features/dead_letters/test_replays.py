"""What a replay follows, and what can be changed about it, through the HTTP API, on every database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Forbidden, Invalid
from foliot.engine.model.run import RunState
from foliot.engine.model.views import ClaimedRun
from foliot.features.bulk import schema as bulk_schema
from foliot.features.bulk.actor import BulkRunner
from foliot.features.bulk.usecases import BulkItemActions, Bulks
from foliot.features.dead_letters.usecases import DeadLetters
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, URL, Webhook, World

BOOM = {"code": "http_500", "message": "answered 500"}
MENDED = "https://mended.example/hook"


async def letter(world: World, client: Client, schedule_id: str, payload: dict[str, Any] | None = None) -> str:
    """A run of this schedule that gave up."""
    asked = {} if payload is None else {"payload": payload}
    run_id: str = (await client.post(f"/api/schedules/{schedule_id}/run-now", asked)).json["id"]
    await world.end(run_id, RunState.DEAD_LETTER, BOOM)
    return run_id


async def replay(world: World, client: Client, letter_id: str, **terms: Any) -> tuple[dict[str, Any], ClaimedRun]:
    """The new run, and what it is about to do."""
    answer = await client.post("/api/dead-letters/replay", {"ids": [letter_id], **terms})
    assert answer.status == 202, answer.json
    (made,) = answer.json["items"]
    (claimed,) = await world.claim(made["id"])
    return made, claimed


async def mend(client: Client, schedule_id: str, **changes: Any) -> int:
    answer = await client.patch(f"/api/schedules/{schedule_id}", {"action": {"url": MENDED}, **changes})
    assert answer.status == 200, answer.json
    version: int = answer.json["version"]
    return version


async def trial(client: Client, **body: Any) -> dict[str, Any]:
    answer = await client.post("/api/bulk", {"action": "replay", "dry_run": True, **body})
    assert answer.status == 200, answer.json
    conforms(bulk_schema.BulkDryRun, answer.json)
    told: dict[str, Any] = answer.json
    return told


async def test_a_replay_follows_its_schedule_as_it_is_now(world: World, client: Client) -> None:
    schedule = await world.schedule(EVERY_MINUTE, queue="pushes")
    dead = await letter(world, client, schedule.id)
    version = await mend(client, schedule.id, priority=9, timeout_seconds=7, retry_policy={"max_retries": 6})

    made, claimed = await replay(world, client, dead)

    assert (version, made["schedule_version"], claimed.config["url"]) == (2, 2, MENDED)
    assert (made["max_attempts"], made["priority"], claimed.timeout_seconds) == (7, 9, 7)
    assert made["queue"] == "manual", "a run that somebody asked for stays one"
    (entry,) = (await client.get("/api/audit?verb=replay")).json["items"]
    assert entry["after"] == {"run_id": made["id"], "version": 2}
    await world.finish(claimed)
    assert (await client.get(f"/api/runs/{dead}")).json["resolved_by"] == made["id"]


async def test_a_letter_of_an_instant_goes_to_the_queue_of_now(world: World, client: Client) -> None:
    schedule = await world.schedule(EVERY_MINUTE)
    await world.pass_time(1)
    dead = (await client.get("/api/runs")).json["items"][0]["id"]
    await world.end(dead, RunState.DEAD_LETTER, BOOM)
    await mend(client, schedule.id, queue="other")

    made, _ = await replay(world, client, dead)
    assert (made["queue"], made["scheduled_for"]) == ("other", None)
    made, _ = await replay(world, client, dead, as_of="then")
    assert (made["queue"], made["schedule_version"]) == ("default", 1)


async def test_whoever_wants_it_as_it_was_gets_that(world: World, client: Client) -> None:
    schedule = await world.schedule()
    dead = await letter(world, client, schedule.id)
    await mend(client, schedule.id)

    made, claimed = await replay(world, client, dead, as_of="then")

    assert (made["schedule_version"], claimed.config["url"]) == (1, URL)
    wrong = await client.post("/api/dead-letters/replay", {"ids": [dead], "as_of": "soon"})
    assert (wrong.status, wrong.json["errors"][0]["field"]) == (422, "as_of")


async def test_a_retry_does_the_same_again(world: World, client: Client) -> None:
    schedule = await world.schedule()
    dead = await letter(world, client, schedule.id, {"body": {"sku": 5}})
    await mend(client, schedule.id)

    made = (await client.post(f"/api/runs/{dead}/retry")).json
    (claimed,) = await world.claim(made["id"])

    assert (made["schedule_version"], claimed.config["url"], claimed.config["body"]) == (1, URL, {"sku": 5})


async def test_what_a_run_was_given_for_itself_stays(world: World, client: Client) -> None:
    schedule = await world.schedule(action={"kind": "webhook", "url": URL, "body": {"sku": 1}})
    dead = await letter(world, client, schedule.id, {"body": {"sku": 5}})
    await mend(client, schedule.id)

    _, now = await replay(world, client, dead)
    _, then = await replay(world, client, dead, as_of="then")

    assert (now.config["url"], now.config["body"]) == (MENDED, {"sku": 5})
    assert (then.config["url"], then.config["body"]) == (URL, {"sku": 5})


async def test_what_was_taken_from_a_run_stays_away(world: World, client: Client) -> None:
    schedule = await world.schedule(action={"kind": "webhook", "url": URL, "body": {"token": "leaks"}})
    dead = await letter(world, client, schedule.id, {"body": None})
    await mend(client, schedule.id)

    _, now = await replay(world, client, dead)

    assert (now.config["url"], "body" in now.config) == (MENDED, False)


async def test_what_no_longer_fits_is_refused_with_what_to_do(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = await world.schedule()
    dead = await letter(world, client, schedule.id, {"body": {"sku": 5}})
    await mend(client, schedule.id)

    def refuse(_: Webhook, config: Mapping[str, Any]) -> dict[str, Any]:
        raise Invalid("body", "is not taken any more")

    monkeypatch.setattr(Webhook, "check", refuse)
    refused = await client.post("/api/dead-letters/replay", {"ids": [dead]})

    assert refused.status == 409
    assert "body: is not taken any more" in refused.json["detail"]
    assert "as_of then" in refused.json["detail"]
    _, claimed = await replay(world, client, dead, as_of="then")
    assert claimed.config["body"] == {"sku": 5}


@pytest.mark.parametrize("gone", ["deleted", "damaged", "other kind"])
async def test_without_a_schedule_to_follow_it_does_what_it_did(world: World, client: Client, gone: str) -> None:
    schedule = await world.schedule()
    dead = await letter(world, client, schedule.id)
    await mend(client, schedule.id)
    if gone == "deleted":
        await client.delete(f"/api/schedules/{schedule.id}")
    elif gone == "damaged":
        await world.sql("UPDATE schedules SET spec = '{' WHERE id = :id", id=schedule.id)
        world.clock.advance(60)
        await world.tick()
    else:
        crawl = {"kind": "crawl", "spider": "seo", "start_urls": [URL]}
        changed = await client.put(f"/api/schedules/{schedule.id}", {**EVERY_MINUTE, "action": crawl})
        assert changed.status == 200, changed.json

    told = await trial(client, ids=[dead])
    made, claimed = await replay(world, client, dead)

    assert (made["schedule_version"], claimed.config["url"], made["kind"]) == (1, URL, "webhook")
    assert (told["rehearsal"]["stay"], told["rehearsal"]["changed"], told["hosts"]) == (1, 0, ["example.com"])
    assert told["warnings"][0].startswith("1 as they were: its schedule ")


async def test_a_run_without_a_schedule_does_what_it_did(world: World, client: Client) -> None:
    asked = {"spider": "seo", "start_urls": ["https://shop.test/"], "depth": 2}
    job = (await client.post("/crawl", asked)).json["job_id"]
    await world.end(job, RunState.DEAD_LETTER, BOOM)

    told = await trial(client, ids=[job])
    made, claimed = await replay(world, client, job)

    assert (made["schedule_version"], claimed.config["start_urls"]) == (None, ["https://shop.test/"])
    assert (told["hosts"], told["warnings"]) == (["shop.test"], ["1 as they were: it has no schedule"])


async def test_a_patch_is_laid_over_the_payload(world: World, client: Client) -> None:
    body = {"sku": 1, "size": {"w": 1, "h": 2}, "old": True}
    schedule = await world.schedule(action={"kind": "webhook", "url": URL, "body": body})
    dead = await letter(world, client, schedule.id)
    await mend(client, schedule.id)
    patch = {"body": {"sku": 2, "size": {"h": 3}, "old": None}, "headers": {"x-key": "open sesame"}}

    made, claimed = await replay(world, client, dead, patch=patch)

    assert claimed.config["body"] == {"sku": 2, "size": {"w": 1, "h": 3}}
    assert (claimed.config["url"], made["action"]["body"]["sku"]) == (MENDED, 2)
    (entry,) = (await client.get("/api/audit?verb=replay")).json["items"]
    assert entry["after"]["action"]["headers"] == {"x-key": "***"}


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        (5, "patch"),
        ({"kind": "crawl"}, "patch"),
        ({"url": "gopher://example.com"}, "patch.url"),
        ({"url": None}, "patch.url"),
        ({"colour": "red"}, "patch.colour"),
    ],
)
async def test_a_patch_that_makes_nonsense_is_refused(world: World, client: Client, patch: object, field: str) -> None:
    dead = await letter(world, client, (await world.schedule()).id)

    refused = await client.post("/api/dead-letters/replay", {"ids": [dead], "patch": patch})

    assert (refused.status, refused.json["errors"][0]["field"]) == (422, field)
    assert (await client.get("/api/runs?q=origin:replay")).json["items"] == []


async def test_who_may_only_replay_may_not_say_what_is_sent(world: World, client: Client) -> None:
    dead = await letter(world, client, (await world.schedule()).id)
    scopes = frozenset({"dead_letter:run", "bulk:write"})
    narrow = Caller(LOCAL.tenant_id, "narrow", Role.OPERATOR, scopes=scopes)
    patch = {"url": "https://elsewhere.example/"}

    with pytest.raises(Forbidden):
        await world.cases[DeadLetters].replay(narrow, {"ids": [dead], "patch": patch})
    with pytest.raises(Forbidden):
        await world.cases[Bulks].create(narrow, {"action": "replay", "ids": [dead], "patch": patch})
    made = (await client.post("/api/bulk", {"action": "replay", "ids": [dead], "patch": patch})).json["id"]
    await world.cases[Bulks].pause(narrow, made)
    with pytest.raises(Forbidden):
        await world.cases[Bulks].resume(narrow, made)
    await world.cases[Bulks].stop(narrow, made)
    assert len((await world.cases[DeadLetters].replay(narrow, {"ids": [dead]})).runs) == 1


async def test_a_rehearsal_says_by_which_settings_and_how_often_alike(world: World, client: Client) -> None:
    schedule = await world.schedule(action={"kind": "webhook", "url": URL, "body": {"sku": 1}})
    plain = [await letter(world, client, schedule.id) for _ in range(3)]
    other = await letter(world, client, schedule.id, {"body": {"sku": 5}})
    version = await mend(client, schedule.id)
    await world.end((await client.post("/api/dead-letters/replay", {"ids": [other]})).json["items"][0]["id"],
                    RunState.FAILED, BOOM)  # fmt: skip

    told = await trial(client, filter="code:http_500")

    assert (told["count"], told["hosts"]) == (4, ["mended.example"])
    seen = told["rehearsal"]
    assert (seen["looked_at"], seen["changed"], seen["duplicates"], seen["refused"]) == (4, 4, 2, 0)
    assert (seen["replays_most"], seen["replays_cap"], seen["edited"]) == (1, 10, 0)
    sample = {one["id"]: (one["version"], one["follows"], one["replays"]) for one in told["sample"]}
    assert sample == {**dict.fromkeys(plain, (1, version, 0)), other: (1, version, 1)}
    then = await trial(client, filter="code:http_500", as_of="then")
    assert (then["hosts"], then["rehearsal"]["changed"]) == (["example.com"], 0)


async def test_a_rehearsed_patch_says_what_it_changes_and_what_it_breaks(world: World, client: Client) -> None:
    one = await world.schedule(action={"kind": "webhook", "url": URL, "body": {"sku": 1}})
    for _ in range(2):
        await letter(world, client, one.id)
    same = await letter(world, client, one.id, {"body": {"sku": 2}})
    job = (await client.post("/crawl", {"spider": "seo", "start_urls": [URL]})).json["job_id"]
    await world.end(job, RunState.DEAD_LETTER, BOOM)

    told = (await trial(client, filter="code:http_500", patch={"body": {"sku": 2}}))["rehearsal"]

    assert (told["edited"], told["refused"], told["looked_at"]) == (2, 1, 4)
    assert [refusal["id"] for refusal in told["refusals"]] == [job]
    assert "patch.body" in told["refusals"][0]["message"]
    assert (await client.get(f"/api/runs/{same}")).json["action"]["body"] == {"sku": 2}


async def test_a_bulk_action_replays_on_its_terms(world: World, client: Client) -> None:
    schedule = await world.schedule(action={"kind": "webhook", "url": URL, "body": {"sku": 1}})
    dead = [await letter(world, client, schedule.id) for _ in range(2)]
    await mend(client, schedule.id)
    patch = {"body": {"sku": 2}, "headers": {"x-key": "open sesame"}}

    made = (await client.post("/api/bulk", {"action": "replay", "ids": dead, "patch": patch, "canary": 0})).json
    before = (await client.post("/api/bulk", {"action": "replay", "ids": dead, "as_of": "then", "canary": 0})).json
    hauler = BulkRunner(
        clock=world.clock, store=world.store, feed=world.feed, actions=world.cases[BulkItemActions], holder="one"
    )
    for _ in range(6):
        await hauler.run_once()
        world.clock.advance(0.2)

    shown = {"as_of": "now", "patch": {"body": {"sku": 2}, "headers": {"x-key": "***"}}}
    assert (made["details"], before["details"]) == (shown, {"as_of": "then"})
    runs = (await client.get("/api/runs?q=origin:replay")).json["items"]
    claimed = await world.claim(*(run["id"] for run in runs))
    did = sorted((run.config["url"], run.config["body"]["sku"]) for run in claimed)
    assert did == [(URL, 1), (URL, 1), (MENDED, 2), (MENDED, 2)]
    assert {run.config["headers"].get("x-key") for run in claimed} == {"open sesame", None}


@pytest.mark.parametrize("body", [{"action": "retry", "as_of": "now"}, {"action": "discard", "patch": {}}])
async def test_terms_are_for_replays(client: Client, body: dict[str, Any]) -> None:
    refused = await client.post("/api/bulk", {"filter": "", **body})

    assert refused.status == 422
