"""How the targets of webhooks fare, read off the newest runs on every database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from foliot.core.access import LOCAL
from foliot.core.document import rfc3339
from foliot.engine.model.breaker import BreakerState, OpenBreakerReport
from foliot.engine.model.run import RunState
from foliot.engine.model.views import AttemptEnding, PageRequest
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.retention import SqlRetention
from foliot.features.endpoints import schema as endpoints_schema
from foliot.features.endpoints import usecases as endpoints
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.declared import conforms
from tests.givens import statements
from tests.world import EVERY_MINUTE, World

GOOD, DOWN = "https://good.example/hook", "https://down.example:8443/in"
REFUSED = {"code": "connect", "message": "connection refused"}
BUSY = {"code": "http_503", "message": "the target answered 503"}


def hook(url: str, **more: Any) -> dict[str, Any]:
    return {**EVERY_MINUTE, "action": {"kind": "webhook", "url": url}, "overlap": "allow_all", **more}


async def waiting(world: World, schedule_id: str) -> list[str]:
    """Its runs that nobody has begun, the oldest first."""
    runs = await world.cases[Runs].list(LOCAL, PageRequest(500), schedule_id=schedule_id)
    return sorted(run.id for run in runs if run.state is RunState.QUEUED)


async def call(world: World, run_id: str, took_ms: int, outcome: str, error: Mapping[str, Any] | None = None) -> None:
    (claimed,) = await world.claim(run_id)
    world.clock.advance(took_ms / 1000)
    states = {"success": RunState.SUCCESS, "retry": RunState.RETRYING, "cancelled": RunState.CANCELLED}
    state, now = states.get(outcome, RunState.FAILED), world.clock.now()
    ending = AttemptEnding(
        fence=claimed.fence,
        state=state,
        outcome="failed" if outcome == "retry" else outcome,
        at=now,
        error=error,
        ready_at=now + timedelta(hours=1) if state is RunState.RETRYING else None,
    )
    async with world.store.begin() as tx:
        await SqlClaims(tx).finish([ending], now)


async def listed(client: Client) -> dict[str, Any]:
    answer = await client.get("/api/endpoints")
    assert answer.status == 200, answer.text
    conforms(endpoints_schema.EndpointPage, answer.json)
    return dict(answer.json)


async def test_a_target_is_judged_by_its_calls_and_the_worst_stands_first(world: World, client: Client) -> None:
    good = await world.schedule(hook(f"{GOOD}?key=s3cret"), name="Good one")
    down = await world.schedule(hook(DOWN.replace("https://", "https://user:pa55@")), name="Down")
    also = await world.schedule(hook(GOOD), name="The same target")
    assert (await listed(client))["items"] == []
    await world.pass_time(4)
    for run_id, took in zip(await waiting(world, good.id), (10, 20, 30, 400), strict=True):
        await call(world, run_id, took, "success")
    busy, fine, *_ = await waiting(world, also.id)
    await call(world, busy, 50, "failed", BUSY)
    await call(world, fine, 60, "success")
    first, second, third, fourth = await waiting(world, down.id)
    await call(world, first, 5, "success")
    began = world.clock.now()
    await call(world, second, 5, "failed", REFUSED)
    await call(world, third, 5, "retry", REFUSED)
    await call(world, fourth, 5, "lost", {"code": "lost", "message": "our worker is gone"})

    found = await listed(client)

    bad, fares = found["items"]
    assert (found["total"], found["whole"]) == (2, True)
    assert (bad["url"], bad["calls"], bad["failed"], bad["success_ratio"]) == (DOWN, 3, 2, 0.3333)
    assert bad["codes"] == {"connect": 2, "2xx": 1}
    assert bad["failing_since"] == began.isoformat().replace("+00:00", "Z")
    assert (bad["last_error"], bad["last_run_id"]) == ("connection refused", third)
    assert bad["schedules"] == [{"id": down.id, "name": "Down"}]
    assert (fares["url"], fares["calls"], fares["succeeded"]) == (GOOD, 6, 5)
    assert fares["codes"] == {"2xx": 5, "http_503": 1}
    assert (fares["p50_ms"], fares["p95_ms"]) == (30.0, 400.0)
    assert (fares["failing_since"], fares["last_error"], fares["schedule_count"]) == (None, None, 2)
    assert [one["name"] for one in fares["schedules"]] == ["The same target", "Good one"]


async def test_a_run_is_counted_where_it_went(world: World, client: Client) -> None:
    moved = await world.schedule(hook(GOOD))
    await world.pass_time(1)
    (before,) = await waiting(world, moved.id)
    await call(world, before, 1, "success")
    await world.cases[Schedules].patch(LOCAL, moved.id, {"action": {"kind": "webhook", "url": DOWN}})
    elsewhere = await world.cases[Schedules].run_now(LOCAL, moved.id, {"payload": {"url": "https://third.example"}})
    await call(world, elsewhere.id, 1, "success")
    await world.pass_time(1)
    (after,) = await waiting(world, moved.id)
    await call(world, after, 1, "success")

    urls = {one["url"]: one["last_run_id"] for one in (await listed(client))["items"]}

    assert urls == {GOOD: before, DOWN: after, "https://third.example/": elsewhere.id}


async def test_a_look_is_bounded_and_says_so(world: World, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await world.schedule(hook(GOOD))
    await world.pass_time(4)
    for run_id in await waiting(world, one.id):
        await call(world, run_id, 1, "success")

    with statements(world.store) as said:
        assert (await listed(client))["items"][0]["calls"] == 4
    assert len(said) <= 9, said
    monkeypatch.setattr(endpoints, "MOST_RUNS", 3)
    found = await listed(client)
    assert (found["whole"], found["items"][0]["calls"]) == (False, 3)
    monkeypatch.setattr(endpoints, "MOST_RUNS", 4)
    assert (await listed(client))["whole"] is True
    world.clock.advance(timedelta(hours=25))
    assert (await listed(client))["items"] == []


async def test_another_tenants_targets_are_not_shown(world: World, client: Client) -> None:
    one = await world.schedule(hook(GOOD))
    await world.pass_time(1)
    (run_id,) = await waiting(world, one.id)
    await call(world, run_id, 1, "success")
    await world.sql("UPDATE runs SET tenant_id = 'other' WHERE id = :id", id=run_id)

    assert (await listed(client))["items"] == []


async def test_open_breakers_are_shown_with_their_targets_to_their_tenant_alone(world: World, client: Client) -> None:
    good = await world.schedule(hook(GOOD), name="Good one")
    await world.pass_time(1)
    await call(world, (await waiting(world, good.id))[0], 10, "success")
    now = world.clock.now()

    def open_one(target: str, tenant_id: str = LOCAL.tenant_id, since: int = 60) -> dict[str, Any]:
        trial_at = now + timedelta(seconds=30)
        breaker = OpenBreakerReport(
            tenant_id=tenant_id,
            target=target,
            state=BreakerState.OPEN,
            since=now - timedelta(seconds=since),
            failures=5,
            why="The target did not answer in time.",
            next_trial_at=trial_at,
        )
        return breaker.as_dict()

    reports = {
        "n1": [open_one("good.example:443"), open_one("secret.example:443", "other")],
        "n2": [open_one("good.example:443", since=90), open_one("grpc:billing")],
    }
    async with world.store.begin() as tx:
        for node, breakers in reports.items():
            await SqlRetention(tx).report(node, "worker", now, now, {"slots": 10, "breakers": breakers, "outside": 2})

    found = await listed(client)
    metrics = (await client.get("/metrics")).text

    assert [one["target"] for one in found["breakers"]] == ["good.example:443", "grpc:billing"]
    (item,) = found["items"]
    assert item["breaker"] == {
        "target": "good.example:443",
        "state": "open",
        "since": rfc3339(now - timedelta(seconds=90)),
        "failures": 10,
        "why": "The target did not answer in time.",
        "next_trial_at": rfc3339(now + timedelta(seconds=30)),
    }
    assert "secret.example" not in str(found)
    assert "foliot_breakers_open 4.0" in metrics
    assert "foliot_attempts_outside 4.0" in metrics
    assert "example" not in metrics
