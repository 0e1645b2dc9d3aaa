"""What is done about a target of webhooks: found by filters, tried out, recovered, left alone; on every database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest

from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import NotFound
from foliot.core.limits import TenantLimits
from foliot.core.secrets import SIGNING
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.endpoints import schema as endpoints_schema
from foliot.features.endpoints.usecases import Endpoints
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql import counts
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.filters.usecases import Search
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.usecases import Secrets
from foliot.testing import open_store
from tests.asgi import Client
from tests.declared import conforms
from tests.givens import statements
from tests.world import EVERY_MINUTE, World

HOOK = "https://hooks.example/In/box"
ODD = "https://odd.example/a%_b\\/ü,{{ x }}"
BOOM = {"code": "http_500", "message": "the target answered 500"}
KEY = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


def hook(url: str, **action: Any) -> dict[str, Any]:
    return {**EVERY_MINUTE, "action": {"kind": "webhook", "url": url, **action}}


async def ended(world: World, schedule_id: str, state: RunState, payload: Mapping[str, Any] | None = None) -> str:
    run = await world.cases[Schedules].run_now(LOCAL, schedule_id, {"payload": payload} if payload else None)
    await world.end(run.id, state, None if state is RunState.SUCCESS else BOOM)
    return run.id


async def schedules(client: Client, q: str) -> set[str]:
    answer = await client.get(f"/api/schedules?q={quote(q)}")
    assert answer.status == 200, answer.text
    count = (await client.get(f"/api/schedules/count?q={quote(q)}")).json["count"]
    assert count == len(answer.json["items"])
    return {one["name"] for one in answer.json["items"]}


async def runs(client: Client, q: str) -> set[str]:
    answer = await client.get(f"/api/runs?limit=500&q={quote(q)}")
    assert answer.status == 200, answer.text
    count = (await client.get(f"/api/runs/count?q={quote(q)}")).json["count"]
    assert count == len(answer.json["items"])
    return {one["id"] for one in answer.json["items"]}


async def test_schedules_are_found_by_whom_they_call(world: World, client: Client) -> None:
    for name, url in (
        ("plain", HOOK),
        ("host in capitals", "https://Hooks.EXAMPLE/In/box"),
        ("with a query", f"{HOOK}?key=1"),
        ("with a fragment", f"{HOOK}#a"),
        ("another case of the path", HOOK.lower()),
        ("deeper", f"{HOOK}/more"),
        ("longer", f"{HOOK}es"),
        ("another port", "https://hooks.example:8443/In/box"),
        ("another host", "https://evilhooks.example/In/box"),
        ("root", "https://root.example"),
        ("root with a slash", "https://root.example/"),
        ("root with a query", "https://root.example?a"),
        ("odd", ODD),
        ("long", f"https://long.example/{'x' * 600}"),
    ):
        await world.schedule(hook(url), name=name)
    elsewhere = hook("https://other.example/", body={"url": HOOK, "nested": {"url": HOOK}}, headers={"X-To": HOOK})
    await world.schedule(elsewhere, name="says it elsewhere")

    same = {"plain", "host in capitals", "with a query", "with a fragment"}
    assert await schedules(client, f"target:{HOOK}") == same
    assert await schedules(client, "target:https://HOOKS.example/In/box?any=thing") == same
    assert await schedules(client, "target:https://root.example") == {
        "root",
        "root with a slash",
        "root with a query",
    }
    assert await schedules(client, f"target:https://long.example/{'x' * 600}") == {"long"}
    assert await schedules(client, f'target:"{ODD}"') == {"odd"}
    assert await schedules(client, f'target:"{ODD.replace("_", "x")}"') == set()
    assert await schedules(client, f"target:{HOOK},https://root.example status:active") == same | {
        "root",
        "root with a slash",
        "root with a query",
    }
    assert "plain" not in await schedules(client, f"-target:{HOOK}")
    assert len(await schedules(client, f"-target:{HOOK}")) == 15 - len(same)


@pytest.mark.parametrize("most", [counts.MOST_VERSIONS, 0], ids=["few callers", "too many"])
async def test_runs_are_found_by_whom_they_called(
    world: World, client: Client, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "MOST_VERSIONS", most)
    moved = (await world.schedule(hook(HOOK))).id
    other = (await world.schedule(hook("https://other.example/"))).id
    before = await ended(world, moved, RunState.SUCCESS)
    await world.cases[Schedules].patch(LOCAL, moved, {"action": {"url": "https://new.example/"}})
    after = await ended(world, moved, RunState.DEAD_LETTER)
    astray = await ended(world, other, RunState.DEAD_LETTER, {"url": f"{HOOK}?x=1"})
    usual = await ended(world, other, RunState.SUCCESS)

    assert await runs(client, f"target:{HOOK}") == {before, astray}
    assert await runs(client, f"target:{HOOK} state:dead_letter") == {astray}
    assert await runs(client, "target:https://new.example") == {after}
    assert await runs(client, f"-target:{HOOK}") == {after, usual}
    assert await runs(client, "target:https://nobody.example/") == set()
    answer = await client.get("/api/runs?q=target:hooks.example/in")
    assert answer.status == 422
    assert answer.json["errors"][0]["suggestion"] == "target:https://hooks.example/in"


async def test_what_versions_say_is_read_once_and_not_for_each_run(world: World, client: Client) -> None:
    one = (await world.schedule(hook(HOOK, body="x" * 1000))).id
    run = await ended(world, one, RunState.SUCCESS)

    with statements(world.store) as said:
        assert await runs(client, f"target:{HOOK}") == {run}

    assert any("FROM runs" in each for each in said)
    assert not [each for each in said if "FROM runs" in each and "versions" in each]


async def test_a_test_is_a_run_of_its_own_that_says_what_it_is(world: World, client: Client) -> None:
    headers = {"Authorization": "Bearer {{ secret.token }}"}
    one = await world.schedule(hook(f"{HOOK}?key=1", body={"real": True}, headers=headers), name="Orders")
    paused = await world.schedule(hook(HOOK), name="Newer, paused")
    await world.cases[Schedules].pause(LOCAL, paused.id)

    answer = await client.post("/api/endpoints/test", {"url": HOOK})

    assert answer.status == 202, answer.text
    made = answer.json
    assert answer.headers["location"] == f"/api/runs/{made['id']}"
    assert (made["kind"], made["origin"], made["queue"], made["schedule_id"]) == ("webhook", "manual", "manual", None)
    assert made["max_attempts"] == 1
    (claimed,) = await world.claim(made["id"])
    assert claimed.config["url"] == f"{HOOK}?key=1"
    assert claimed.config["headers"] == headers
    assert claimed.config["test"] is True
    sent = claimed.config["body"]
    assert (sent["type"], sent["test"]) == ("foliot.test", True)
    assert sent["data"] == {"schedule_id": one.id, "schedule": "Orders"}
    (told,) = [each for each in await world.cases[AuditLog].list(LOCAL, PageRequest()) if each.verb == "test"]
    assert (told.thing, told.thing_id, told.became) == ("schedule", one.id, {"run_id": made["id"], "url": HOOK})
    assert await runs(client, "test:true") == {made["id"]}
    assert await runs(client, f"target:{HOOK} -test:true") == set()


async def test_only_what_a_schedule_calls_is_tried_out(world: World, client: Client) -> None:
    gone = await world.schedule(hook("https://gone.example/"))
    await world.cases[Schedules].delete(LOCAL, gone.id)
    mine = await world.schedule(hook(HOOK))
    other = await world.schedule(hook("https://other.example/"))
    stranger = Caller("stranger", "eve", Role.ADMIN)

    for url in ("https://gone.example/", "https://hooks.example/", "http://hooks.example/In/box", f"{HOOK}/more"):
        assert (await client.post("/api/endpoints/test", {"url": url})).status == 404, url
    wrong = await client.post("/api/endpoints/test", {"url": HOOK, "schedule_id": other.id})
    assert wrong.status == 404
    assert (await client.post("/api/endpoints/test", {"url": "ftp://x"})).status == 422
    assert (await client.post("/api/endpoints/test", {"url": HOOK, "body": {}})).status == 422
    named = await client.post("/api/endpoints/test", {"url": HOOK, "schedule_id": mine.id})
    assert named.status == 202
    with pytest.raises(Exception, match="no schedule that calls"):
        await world.cases[Endpoints].test(stranger, {"url": HOOK})


async def test_the_beginning_of_an_id_names_no_schedule(world: World, client: Client) -> None:
    one = await world.schedule(hook(HOOK))

    for part in ("sch_", one.id[:-1], f"{one.id}0"):
        assert (await client.post("/api/endpoints/test", {"url": HOOK, "schedule_id": part})).status == 404, part


@pytest.mark.parametrize("change", ["delete", "patch"])
async def test_no_test_goes_where_nobody_goes_any_more(
    server_database_url: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(server_database_url) as store, open_store(server_database_url) as other:
        world, cases = World.on(store), World.on(other).cases[Schedules]
        one = await world.schedule(hook(HOOK))
        look = SqlSearch.schedules

        async def just_before(self: SqlSearch, *args: Any) -> Any:
            found = await look(self, *args)
            if found and change == "delete":
                await cases.delete(LOCAL, one.id)
            elif found:
                await cases.patch(LOCAL, one.id, {"action": {"url": "https://new.example/"}})
            return found

        monkeypatch.setattr(SqlSearch, "schedules", just_before)
        with pytest.raises(NotFound, match="no schedule that calls"):
            await world.cases[Endpoints].test(LOCAL, {"url": HOOK})
        assert await world.cases[Search].runs(LOCAL, PageRequest(), FilterQuery()) == []


async def test_a_method_that_would_change_something_is_not_tried_out(world: World, client: Client) -> None:
    await world.schedule(hook(HOOK, method="DELETE"))
    await world.schedule(hook(HOOK, method="PUT"))
    refused = await client.post("/api/endpoints/test", {"url": HOOK})
    assert refused.status == 409
    assert "DELETE, PUT" in refused.json["detail"]

    await world.schedule(hook(HOOK, method="GET", body={"real": True}))
    made = await client.post("/api/endpoints/test", {"url": HOOK})
    (claimed,) = await world.claim(made.json["id"])
    assert (claimed.config["method"], "body" in claimed.config) == ("GET", False)


async def test_tests_are_bounded_and_asked_once(world: World, client: Client) -> None:
    limiter = Limiter(store=world.store, clock=world.clock, default=TenantLimits(run_now_per_minute=2))
    object.__setattr__(world.cases[Endpoints], "limiter", limiter)
    await world.schedule(hook(HOOK))

    first = await client.post("/api/endpoints/test", {"url": HOOK}, **{"Idempotency-Key": "one"})
    again = await client.post("/api/endpoints/test", {"url": HOOK}, **{"Idempotency-Key": "one"})
    assert first.json["id"] == again.json["id"]
    assert (await client.post("/api/endpoints/test", {"url": HOOK})).status == 202
    assert (await client.post("/api/endpoints/test", {"url": HOOK})).status == 429
    assert len(await runs(client, "test:true")) == 2


async def test_what_failed_since_is_replayed_and_nothing_twice(world: World, client: Client) -> None:
    one = (await world.schedule(hook(HOOK))).id
    other = (await world.schedule(hook("https://other.example/"))).id
    await ended(world, one, RunState.DEAD_LETTER)
    world.clock.advance(7200)
    letter = await ended(world, one, RunState.DEAD_LETTER)
    failed = await ended(world, one, RunState.FAILED)
    await ended(world, other, RunState.DEAD_LETTER)
    await ended(world, other, RunState.FAILED)
    tried = await client.post("/api/endpoints/test", {"url": HOOK})
    await world.end(tried.json["id"], RunState.FAILED, BOOM)
    since = f"target:{HOOK} since:1h"

    replay = await client.post("/api/bulk", {"action": "replay", "filter": since, "dry_run": True})
    assert [each["id"] for each in replay.json["sample"]] == [letter]
    lost = f"{since} state:failed -repeated:true -test:true"
    retry = await client.post("/api/bulk", {"action": "retry", "filter": lost, "dry_run": True})
    assert [each["id"] for each in retry.json["sample"]] == [failed]
    await world.cases[Runs].retry(LOCAL, failed)
    assert await runs(client, lost) == set()


async def test_whoever_calls_it_is_paused_as_one_bulk_action(world: World, client: Client) -> None:
    first = await world.schedule(hook(HOOK))
    await world.schedule(hook(f"{HOOK}?x=2"))
    await world.schedule(hook("https://other.example/"))
    await world.cases[Schedules].pause(LOCAL, first.id)

    made = await client.post("/api/bulk", {"action": "pause", "filter": f"target:{HOOK}", "expect": 1})

    assert (made.status, made.json["total"]) == (202, 1)


async def listed(client: Client) -> list[dict[str, Any]]:
    answer = await client.get("/api/endpoints")
    conforms(endpoints_schema.EndpointPage, answer.json)
    return list(answer.json["items"])


async def test_it_is_told_since_when_secrets_are_what_they_are(world: World, client: Client) -> None:
    headers = {"Authorization": "Bearer {{ secret.token }}", "X-Other": "{{secret.gone}}"}
    one = await world.schedule(hook(HOOK, headers=headers))
    await ended(world, one.id, RunState.SUCCESS)
    none = await world.schedule(hook("https://plain.example/"))
    await ended(world, none.id, RunState.SUCCESS)
    by_url = {each["url"]: each["secrets"] for each in await listed(client)}
    assert by_url["https://plain.example/"] == []

    await world.cases[Secrets].put(LOCAL, "token", {"value": "a token that nobody knows"})
    await world.cases[Secrets].put(LOCAL, SIGNING, {"value": KEY})
    world.clock.advance(3600)
    await world.cases[Secrets].put(LOCAL, "token", {"value": "another that nobody knows"})
    await world.cases[Secrets].put(LOCAL, SIGNING, {"value": KEY})

    by_url = {each["url"]: each["secrets"] for each in await listed(client)}
    signing = {"name": SIGNING, "since": "2027-01-04T12:00:00Z", "version": 1}
    assert by_url["https://plain.example/"] == [signing]
    assert by_url[HOOK] == [
        signing,
        {"name": "gone", "since": None, "version": None},
        {"name": "token", "since": "2027-01-04T13:00:00Z", "version": 2},
    ]
    viewer = Caller(LOCAL.tenant_id, "vic", Role.VIEWER)
    assert (await world.cases[Endpoints].list(viewer)).secrets is None


async def test_no_body_is_read_to_tell_where_calls_went_and_what_they_hold(world: World, client: Client) -> None:
    quotes = {"X-Fill": '"' * 16_000, "X-Token": "{{ secret.token }}"}
    longest = f"{HOOK}?".ljust(8192, '"')
    one = await world.schedule(hook(longest, headers=quotes, body={"url": "https://no.example/", "n": "x" * 100_000}))
    await ended(world, one.id, RunState.SUCCESS)
    await ended(world, one.id, RunState.SUCCESS, {"body": None})

    with statements(world.store) as said:
        (fares,) = await listed(client)

    assert (fares["url"], fares["calls"]) == (HOOK, 2)
    assert [each["name"] for each in fares["secrets"]] == ["token"]
    asked = [re.sub(r"(?i)substr\([^)]*\)", "", each) for each in said if "FROM" in each]
    assert not [each for each in asked if ".action" in each]


async def test_what_is_to_be_recovered_begins_where_the_first_run_was_made(world: World, client: Client) -> None:
    one = await world.schedule(hook(HOOK))
    await ended(world, one.id, RunState.SUCCESS)
    world.clock.advance(60)
    made_at = world.clock.now()
    run = await world.cases[Schedules].run_now(LOCAL, one.id)
    world.clock.advance(300)
    await world.end(run.id, RunState.DEAD_LETTER, BOOM)

    (fares,) = await listed(client)

    assert fares["failing_from"] == made_at.isoformat().replace("+00:00", "Z")
    assert fares["failing_since"] > fares["failing_from"]
