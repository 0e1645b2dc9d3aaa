"""The HTTP API when a tenant has reached a limit, and the routes that show and set limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.commands.limits import FRESH, KEPT, Limiter
from foliot.config.limits import ORDINARY
from foliot.core.access import Caller, Role
from foliot.core.egress import EgressFailed, EgressRefused, OutgoingRequest
from foliot.core.errors import Invalid, Unavailable
from foliot.core.limits import TenantLimits
from foliot.db.database import Database
from foliot.features.tenants import schema as tenants_schema
from foliot.net.client import HttpEgress
from tests.asgi import Answer, Client
from tests.callers import Names
from tests.declared import conforms
from tests.world import EVERY_MINUTE, OneAction, World, open_world

ACME = {"Authorization": "Bearer ada"}
GLOBEX = {"Authorization": "Bearer bob"}
SYSTEM = {"Authorization": "Bearer root"}
VIEWER = {"Authorization": "Bearer eve"}
CALLERS = {
    "ada": Caller("acme", "ada", Role.ADMIN),
    "eve": Caller("acme", "eve", Role.VIEWER),
    "bob": Caller("globex", "bob", Role.ADMIN),
    "root": Caller("house", "root", Role.SYSTEM),
}
SEVERAL = {
    "requests_per_minute": 60,
    "schedules": 2,
    "concurrent_runs": 5,
    "run_now_per_minute": 2,
    "streams": 2,
    "stored_bytes": 50_000,
    "catchup_rate": None,
}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


def limited(world: World, limits: TenantLimits = ORDINARY) -> Client:
    limiter = Limiter(store=world.store, clock=world.clock, default=limits)
    world.cases = use_cases(
        world.store,
        world.clock,
        world.feed,
        OneAction(),
        limiter=limiter,
        check_allow=HttpEgress.check_limits,
    )
    return Client(create_app(world.cases, identity=Names(CALLERS)))


async def put(client: Client, tenant_id: str = "acme", **document: Any) -> Answer:
    answer = await client.put(f"/api/tenants/{tenant_id}", document, **SYSTEM)
    assert answer.status == 200, answer.text
    return answer


def is_too_many(answer: Answer, retry_after: str | None) -> str:
    assert (answer.status, answer.json["code"]) == (429, "too_many"), answer.text
    assert answer.headers.get("retry-after") == retry_after
    return str(answer.json["detail"])


# --- requests ---------------------------------------------------------------------------------------------------------


async def test_the_request_too_many_is_told_when_to_come_back_and_that_is_true(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=30))
    for _ in range(30):
        assert (await client.get("/api/schedules", **ACME)).status == 200

    detail = is_too_many(await client.get("/api/schedules", **ACME), "2")

    assert detail == "your tenant is limited to 30 requests a minute here"
    world.clock.advance(1.9)
    is_too_many(await client.get("/api/schedules", **ACME), "1")
    world.clock.advance(0.1)
    assert (await client.get("/api/schedules", **ACME)).status == 200


async def test_one_tenants_flood_costs_another_nothing(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=3))
    for _ in range(10):
        await client.get("/api/schedules", **ACME)

    assert (await client.get("/api/schedules", **GLOBEX)).status == 200


async def test_everybody_of_a_tenant_draws_from_one_share(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=2))
    await client.get("/api/schedules", **ACME)
    await client.get("/api/schedules", **VIEWER)

    is_too_many(await client.get("/api/schedules", **ACME), "30")


async def test_the_limit_comes_after_who_and_before_everything_else(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=1))
    for _ in range(5):
        assert (await client.get("/api/schedules", Authorization="Bearer nobody")).status == 401
    assert (await client.put("/api/tenants/x", {}, **VIEWER)).status == 403

    is_too_many(await client.put("/api/tenants/x", {}, **VIEWER), "60")
    is_too_many(await client.post("/api/schedules", b"not json", **ACME), "60")
    is_too_many(await client.get("/api/schedules?what=ever", **ACME), "60")


async def test_what_is_public_is_nobodys_share(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=1))
    await client.get("/api/schedules", **ACME)

    assert (await client.get("/health", **ACME)).status == 200


async def test_a_changed_limit_holds_within_five_seconds(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=1000))
    await client.get("/api/schedules", **ACME)
    await put(client, limits={"requests_per_minute": 1})
    assert (await client.get("/api/schedules", **ACME)).status == 200

    world.clock.advance(FRESH)

    assert [(await client.get("/api/schedules", **ACME)).status for _ in range(2)] == [200, 429]


async def test_a_tenants_limits_are_read_once_in_five_seconds_however_many_ask(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=1000))
    reads = 0
    glance = world.store.glance

    def counted() -> Any:
        nonlocal reads
        reads += 1
        return glance()

    world.cases[Limiter].store = cast("Database", Counting(world.store, counted))
    await asyncio.gather(*(client.get("/api/schedules", **ACME) for _ in range(20)))

    assert reads == 1


class Counting:
    """A store whose glances are counted."""

    def __init__(self, store: Any, glance: Any) -> None:
        self.glance, self.begin, self.read = glance, store.begin, store.read


async def test_while_the_database_is_away_the_last_known_limits_hold_and_nobody_waits_in_line(world: World) -> None:
    client = limited(world, ORDINARY)
    await put(client, limits={"schedules": 7})
    limiter, tried = world.cases[Limiter], 0
    assert (await limiter.of("acme")).schedules == 7

    def away() -> Any:
        nonlocal tried
        tried += 1
        raise Unavailable("gone")

    limiter.store = cast("Database", Counting(world.store, away))
    world.clock.advance(FRESH)

    assert [(await limiter.of("acme")).schedules for _ in range(50)] == [7] * 50
    assert (await limiter.of("globex")) == ORDINARY
    assert tried == 2
    with pytest.raises(Unavailable):
        await limiter.egress_allow("acme")


async def test_a_process_keeps_a_bounded_number_of_tenants_in_mind(world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr("foliot.commands.limits.KEPT", 3)
    limiter = Limiter(store=world.store, clock=world.clock, default=TenantLimits(requests_per_minute=5))
    for at in range(10):
        await limiter.request(Caller(f"tenant-{at}", "ada", Role.VIEWER))

    assert (len(limiter._known), len(limiter._buckets)) == (3, 3)
    assert KEPT >= 1000


# --- runs that people ask for -----------------------------------------------------------------------------------------


async def test_run_now_and_retry_draw_from_one_share(world: World) -> None:
    client = limited(world, TenantLimits(run_now_per_minute=2))
    schedule = (await client.post("/api/schedules", EVERY_MINUTE, **ACME)).json
    path = f"/api/schedules/{schedule['id']}/run-now"
    run = (await client.post(path, **ACME)).json
    await client.post(f"/api/runs/{run['id']}/cancel", **ACME)
    assert (await client.post(f"/api/runs/{run['id']}/retry", **ACME)).status == 202

    detail = is_too_many(await client.post(path, **ACME), "30")

    assert detail == "your tenant is limited to 2 runs a minute here"
    is_too_many(await client.post(f"/api/runs/{run['id']}/retry", **ACME), "30")
    assert (await client.get("/api/runs", **ACME)).status == 200
    world.clock.advance(30)
    assert (await client.post(path, **ACME)).status == 202


async def test_an_answer_given_again_costs_no_run(world: World) -> None:
    client = limited(world, TenantLimits(run_now_per_minute=1))
    schedule = (await client.post("/api/schedules", EVERY_MINUTE, **ACME)).json
    path = f"/api/schedules/{schedule['id']}/run-now"

    answers = [await client.post(path, **ACME, Idempotency_Key="once") for _ in range(3)]

    assert [answer.status for answer in answers] == [202] * 3
    is_too_many(await client.post(path, **ACME, Idempotency_Key="twice"), "60")


# --- streams ----------------------------------------------------------------------------------------------------------


async def test_a_tenant_may_have_so_many_streams_and_no_more_however_fast_it_asks(world: World) -> None:
    client = limited(world, TenantLimits(streams=2))
    schedule = (await client.post("/api/schedules", EVERY_MINUTE, **ACME)).json
    run = (await client.post(f"/api/schedules/{schedule['id']}/run-now", **ACME)).json
    path = f"/api/runs/{run['id']}/events"

    async with AsyncExitStack() as stack:
        opened = await asyncio.gather(*(stack.enter_async_context(client.stream(path, **ACME)) for _ in range(6)))
        statuses = [(await asyncio.wait_for(one.started, 5))["status"] for one in opened]
        assert sorted(statuses) == [200, 200, 429, 429, 429, 429]
        for one, status in zip(opened, statuses, strict=True):
            assert status != 200 or len(await one.frames(1)) == 1
        is_too_many(await client.get(path, accept="text/event-stream", **ACME), "5")
        assert (await client.get(path, **ACME)).status == 200
        assert (await client.get("/api/limits", **ACME)).json["used"]["streams"] == 2

    async with client.stream(path, **ACME) as stream:
        assert (await asyncio.wait_for(stream.started, 5))["status"] == 200
        await stream.frames(1)


# --- schedules --------------------------------------------------------------------------------------------------------


async def test_a_schedule_too_many_is_refused_with_what_to_do(world: World) -> None:
    client = limited(world, TenantLimits(schedules=1))
    assert (await client.post("/api/schedules", EVERY_MINUTE, **ACME)).status == 201

    detail = is_too_many(await client.post("/api/schedules", EVERY_MINUTE, **ACME), None)

    assert detail.endswith("delete one first, or ask for a higher limit")
    assert len((await client.get("/api/schedules", **ACME)).json["items"]) == 1


# --- seen and set -----------------------------------------------------------------------------------------------------


async def test_a_tenant_sees_its_limits_and_what_it_uses(world: World) -> None:
    client = limited(world)
    await put(client, limits={"schedules": 3, "streams": None})
    world.clock.advance(FRESH)
    schedule = (await client.post("/api/schedules", EVERY_MINUTE, **ACME)).json
    run = (await client.post(f"/api/schedules/{schedule['id']}/run-now", **ACME)).json
    await world.claim(run["id"])

    answer = await client.get("/api/limits", **VIEWER)

    conforms(tenants_schema.LimitUsage, answer.json)
    stored = answer.json["used"]["stored_bytes"]
    assert 500 < stored < 5000
    assert answer.json == {
        "limits": {
            "requests_per_minute": 6000,
            "schedules": 3,
            "concurrent_runs": None,
            "run_now_per_minute": 600,
            "streams": None,
            "stored_bytes": 1_000_000_000,
            "catchup_rate": None,
        },
        "used": {"schedules": 1, "concurrent_runs": 1, "streams": 0, "stored_bytes": stored},
        "pages": {"bytes": 0, "quota": None},
    }
    assert (await client.get("/api/limits", **GLOBEX)).json["used"]["schedules"] == 0


async def test_what_is_said_of_a_tenant_is_answered_and_kept(world: World) -> None:
    client = limited(world)
    document: dict[str, Any] = {"limits": SEVERAL, "egress_allow": ["*.example.com", "203.0.113.0/24"]}

    said = (await put(client, **document)).json

    conforms(tenants_schema.TenantSettings, said)
    assert {name: said[name] for name in document} == document
    assert (said["effective"], said["updated_by"]) == (SEVERAL, "root")
    assert (await client.get("/api/tenants/acme", **SYSTEM)).json == said
    assert (await client.get("/api/tenants", **SYSTEM)).json == {"items": [said], "next_cursor": None}


async def test_a_tenant_of_whom_nothing_is_said_has_what_the_settings_say(world: World) -> None:
    client = limited(world)

    found = (await client.get("/api/tenants/anybody", **SYSTEM)).json

    assert (found["limits"], found["effective"], found["egress_allow"]) == ({}, ORDINARY.as_dict(), [])
    assert (found["updated_by"], found["updated_at"]) == (None, None)


async def test_to_put_is_to_say_the_whole(world: World) -> None:
    client = limited(world)
    await put(client, limits={"schedules": 3}, egress_allow=["example.com"])

    said = (await put(client)).json

    assert (said["limits"], said["egress_allow"]) == ({}, [])


async def test_only_the_role_system_sees_and_sets_tenants(world: World) -> None:
    client = limited(world)

    for headers in (ACME, VIEWER):
        assert (await client.get("/api/tenants", **headers)).status == 403
        assert (await client.get("/api/tenants/acme", **headers)).status == 403
        assert (await client.put("/api/tenants/acme", {}, **headers)).status == 403


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], ""),
        ({"limits": 5}, "limits"),
        ({"limits": {"schedules": "5"}}, "limits.schedules"),
        ({"limits": {"runs": 5}}, "limits.runs"),
        ({"limit": {}}, "limit"),
        ({"egress_allow": "example.com"}, "egress_allow"),
        ({"egress_allow": [5]}, "egress_allow"),
        ({"egress_allow": ["http://example.com/"]}, "egress_allow"),
        ({"egress_allow": ["a.example"] * 300}, "egress_allow"),
    ],
)
async def test_a_wrong_document_is_refused_by_field_and_changes_nothing(
    world: World, document: object, field: str
) -> None:
    client = limited(world)

    answer = await client.put("/api/tenants/acme", document, **SYSTEM)

    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field), answer.text
    assert (await client.get("/api/tenants", **SYSTEM)).json["items"] == []


@pytest.mark.parametrize("tenant_id", ["x" * 65, "a\x00b", " acme", "a\x7fb"])
async def test_an_id_that_no_token_can_name_names_nobody(world: World, tenant_id: str) -> None:
    client = limited(world)

    answer = await client.put(f"/api/tenants/{tenant_id}", {}, **SYSTEM)

    assert (answer.status, answer.json["code"]) == (404, "not_found")


async def test_ids_of_any_kind_can_be_put_and_paged_through(world: World) -> None:
    client = limited(world)
    names = sorted(["auth0|77", "a/b", "ada@example.com", "Zoë"])
    for name in names:
        await put(client, name, limits={"schedules": 1})

    found, page, cursor = [], {}, ""
    for _ in names:
        page = (await client.get(f"/api/tenants?limit=1{cursor}", **SYSTEM)).json
        found += [one["tenant_id"] for one in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"

    assert (found, page["next_cursor"]) == (names, None)
    assert (await client.get("/api/tenants/a/b", **SYSTEM)).json["limits"] == {"schedules": 1}


async def test_every_change_of_a_tenant_stands_in_the_trail_of_who_made_it(world: World) -> None:
    client = limited(world)
    await put(client, limits={"schedules": 3})
    await put(client, limits={"schedules": 4}, egress_allow=["example.com"])

    entries = (await client.get("/api/audit?thing=tenant", **SYSTEM)).json["items"]

    assert [(one["user_id"], one["verb"], one["thing_id"]) for one in entries] == [("root", "replace", "acme")] * 2
    assert entries[0]["before"] == {"limits": {"schedules": 3}, "egress_allow": []}
    assert entries[0]["after"] == {"limits": {"schedules": 4}, "egress_allow": ["example.com"]}


async def test_the_list_of_targets_reaches_the_way_out_and_a_damaged_one_lets_nothing_out(world: World) -> None:
    client = limited(world)
    await put(client, egress_allow=["example.com"])
    limiter = world.cases[Limiter]

    assert list(await limiter.egress_allow("acme")) == ["example.com"]
    assert list(await limiter.egress_allow("globex")) == []
    await world.sql("UPDATE tenants SET egress_allow = '7'")
    world.clock.advance(FRESH)
    with pytest.raises(Invalid):
        await limiter.egress_allow("acme")
    assert (await client.get("/api/tenants/acme", **SYSTEM)).json["egress_allow"] is None


async def test_an_action_goes_only_where_its_tenants_list_lets_it(world: World) -> None:
    client = limited(world)
    await put(client, egress_allow=["203.0.113.0/24"])
    request = OutgoingRequest(method="GET", url="http://127.0.0.1:9/", timeout=timedelta(seconds=2), tenant_id="acme")

    async with HttpEgress(loopback=True, limits=world.cases[Limiter].egress_allow) as egress:
        with pytest.raises(EgressRefused):
            await egress.send(request)
        with pytest.raises(EgressFailed):
            await egress.send(replace(request, tenant_id="globex"))
        await world.sql("UPDATE tenants SET egress_allow = 'broken'")
        world.clock.advance(FRESH)
        with pytest.raises(EgressRefused):
            await egress.send(request)


async def test_refusals_are_counted_by_limit_and_name_no_tenant(world: World) -> None:
    client = limited(world, TenantLimits(requests_per_minute=3, schedules=0))
    await client.post("/api/schedules", EVERY_MINUTE, **ACME)
    for _ in range(4):
        await client.get("/api/schedules", **ACME)

    lines = (await client.get("/metrics", **SYSTEM)).text.splitlines()

    assert 'foliot_limited_total{limit="requests_per_minute"} 2.0' in lines
    assert 'foliot_limited_total{limit="schedules"} 1.0' in lines
    assert 'foliot_limited_total{limit="streams"} 0.0' in lines
    assert not [line for line in lines if "acme" in line]
