"""Queues and workers in the HTTP API: who sees what, and what pausing and operators' requests do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.core.access import Caller, Role
from foliot.core.queue_name import KNOWN_QUEUES
from foliot.engine.model.node import NodeRequest
from foliot.engine.model.run import RunState
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.features.queues import schema as queues_schema
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.workers import schema as workers_schema
from foliot.wakeups.feed import QUEUES_TOPIC, RUNS_TOPIC, node_topic
from tests.asgi import Answer, Client
from tests.callers import Names
from tests.declared import conforms
from tests.world import EVERY_MINUTE, World, open_world

ACME = {"Authorization": "Bearer ada"}
SYSTEM = {"Authorization": "Bearer root"}
CALLERS = {"ada": Caller("acme", "ada", Role.ADMIN), "root": Caller("default", "root", Role.SYSTEM)}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases, identity=Names(CALLERS)))


async def listed(client: Client, who: dict[str, str] = SYSTEM) -> dict[str, dict[str, Any]]:
    answer = await client.get("/api/queues", **who)
    conforms(queues_schema.QueuePage, answer.json)
    return {one["name"]: one for one in answer.json["items"]}


async def node(world: World, name: str, role: str = "worker", **report: Any) -> None:
    now = world.clock.now()
    async with world.store.begin() as tx:
        await SqlRetention(tx).report(name, role, now, now, {"slots": 4, "free": 3, "in_flight": 1, **report})


async def waits(world: World, queue: str, tenant: str = "acme") -> str:
    """A run that waits in this queue."""
    owner = Caller(tenant, "ada", Role.ADMIN)
    made = await world.cases[Schedules].create(owner, {**EVERY_MINUTE, "queue": queue, "max_runs": 1})
    await world.pass_time(1)
    found = await world.cases[Runs].of_schedule(owner, made.id, _page(), None)
    return found[0].id


def _page() -> Any:
    from foliot.engine.model.views import PageRequest

    return PageRequest(10)


async def trail(client: Client) -> list[tuple[str, str, str]]:
    items = (await client.get("/api/audit", **SYSTEM)).json["items"]
    return [(one["verb"], one["thing"], one["thing_id"]) for one in items]


def is_problem(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.json["code"]) == (status, code), answer.text


# --- queues -----------------------------------------------------------------------------------------------------------


async def test_every_house_has_its_queues(client: Client) -> None:
    found = await listed(client)

    assert tuple(found) == KNOWN_QUEUES
    assert found["default"] == {
        "name": "default",
        "depth": 0,
        "oldest": None,
        "in_flight": 0,
        "per_minute": 0,
        "paused_at": None,
        "paused_by": None,
        "reason": None,
        "workers": [],
    }


async def test_a_queue_shows_what_waits_runs_and_ended_in_it_and_who_takes_it(world: World, client: Client) -> None:
    running = await waits(world, "reports")
    await waits(world, "reports", "globex")
    await world.claim(running)
    await node(world, "one", queues=["reports"], per_minute={"reports": 7})
    await node(world, "two", "up", queues=None, per_minute={"reports": 2, "default": 1})
    await node(world, "fires", "scheduler", slots=0, free=0)
    await node(world, "leaves")
    async with world.store.begin() as tx:
        await SqlRetention(tx).wish("leaves", NodeRequest.DRAIN)

    found = (await listed(client))["reports"]

    assert (found["depth"], found["in_flight"], found["per_minute"]) == (1, 1, 9)
    assert found["oldest"] is not None
    assert found["workers"] == ["one", "two"]


async def test_tenants_see_their_own_runs_and_nothing_of_the_house(world: World, client: Client) -> None:
    await waits(world, "reports")
    await waits(world, "secret-plans", "globex")
    await node(world, "one", per_minute={"reports": 7})
    await client.post("/api/queues/reports/pause", {"reason": "globex floods us"}, **SYSTEM)
    await client.post("/api/queues/hidden/pause", **SYSTEM)

    found = await listed(client, ACME)

    assert tuple(found) == (*KNOWN_QUEUES, "reports")
    assert found["reports"]["depth"] == 1
    assert found["reports"]["paused_at"] is not None
    assert [found["reports"][name] for name in ("paused_by", "reason", "per_minute", "workers")] == [None] * 4


async def test_a_paused_queue_says_since_when_by_whom_and_why(world: World, client: Client) -> None:
    run = await waits(world, "reports")

    answer = await client.post("/api/queues/reports/pause", {"reason": "their server is down"}, **SYSTEM)

    conforms(queues_schema.QueueStatus, answer.json)
    assert (answer.json["paused_by"], answer.json["reason"]) == ("root", "their server is down")
    assert (await listed(client))["reports"] == answer.json
    assert await world.claim(run) == []
    again = await client.post("/api/queues/reports/pause", **SYSTEM)
    assert again.json == answer.json
    assert await trail(client) == [("pause", "queue", "reports")], "the second changed nothing"

    back = await client.post("/api/queues/reports/resume", **SYSTEM)
    assert (back.json["paused_at"], back.json["reason"]) == (None, None)
    assert (await client.post("/api/queues/reports/resume", **SYSTEM)).json == back.json
    assert await trail(client) == [("resume", "queue", "reports"), ("pause", "queue", "reports")]
    assert len(await world.claim(run)) == 1


async def test_another_reason_replaces_the_first_and_the_pause_goes_on(world: World, client: Client) -> None:
    first = await client.post("/api/queues/manual/pause", {"reason": "one"}, **SYSTEM)
    world.clock.advance(60)

    second = await client.post("/api/queues/manual/pause", {"reason": "two"}, **SYSTEM)

    assert (second.json["paused_at"], second.json["reason"]) == (first.json["paused_at"], "two")


async def test_the_default_queue_has_two_names(world: World, client: Client) -> None:
    assert (await client.post("/api/queues/default_queue/pause", **SYSTEM)).json["name"] == "default"
    assert (await listed(client))["default"]["paused_at"] is not None
    assert "default_queue" not in await listed(client)

    await waits(world, "default_queue")
    runs = (await client.get("/api/runs?queue=default_queue", **ACME)).json["items"]
    assert [one["queue"] for one in runs] == ["default"]


async def test_pausing_and_resuming_wake_those_who_wait(world: World, client: Client) -> None:
    async with world.feed.listen(QUEUES_TOPIC) as waiter:
        await client.post("/api/queues/default/pause", **SYSTEM)
        assert await waiter.wait(1)
    async with world.feed.listen(RUNS_TOPIC) as waiter:
        await client.post("/api/queues/default/resume", **SYSTEM)
        assert await waiter.wait(1)


async def test_a_repeated_pause_with_its_key_is_answered_word_for_word(world: World, client: Client) -> None:
    key = {"Idempotency-Key": "once", **SYSTEM}
    first = await client.post("/api/queues/default/pause", {"reason": "x"}, **key)
    await client.post("/api/queues/default/resume", **SYSTEM)

    second = await client.post("/api/queues/default/pause", {"reason": "x"}, **key)

    assert (second.body, second.headers["idempotent-replayed"]) == (first.body, "true")
    assert (await listed(client))["default"]["paused_at"] is None


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/queues/no%20spaces/pause", None, "queue"),
        (f"/api/queues/{'q' * 65}/resume", None, "queue"),
        ("/api/queues/default/pause", {"reason": 5}, "reason"),
        ("/api/queues/default/pause", {"reason": "x" * 501}, "reason"),
        ("/api/queues/default/pause", {"reasons": "x"}, "reasons"),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_name(path: str, body: Any, field: str, client: Client) -> None:
    answer = await client.post(path, body, **SYSTEM)

    is_problem(answer, 422, "invalid")
    assert answer.json["errors"][0]["field"] == field


async def test_no_tenant_pauses_a_queue(client: Client) -> None:
    is_problem(await client.post("/api/queues/default/pause", **ACME), 403, "forbidden")
    is_problem(await client.post("/api/queues/default/resume", **ACME), 403, "forbidden")


# --- workers ----------------------------------------------------------------------------------------------------------


async def test_workers_are_listed_with_what_they_do(world: World, client: Client) -> None:
    await node(world, "host-1:42:abc", host="host-1", pid=42, queues=["b", "a"])
    world.clock.advance(timedelta(seconds=31))
    await node(world, "host-2:7:def", "up", queues=None, pid=7)

    answer = await client.get("/api/workers", **SYSTEM)

    conforms(workers_schema.WorkerPage, answer.json)
    one, two = answer.json["items"]
    assert (one["host"], one["pid"], one["queues"], one["state"]) == ("host-1", 42, ["a", "b"], "stale")
    assert (two["host"], two["pid"], two["queues"], two["state"]) == ("host-2", 7, None, "live")
    assert (two["slots"], two["free"], two["in_flight"], two["role"]) == (4, 3, 1, "up")


@pytest.mark.parametrize("wish", list(NodeRequest))
async def test_a_worker_can_be_asked_to_leave(wish: NodeRequest, world: World, client: Client) -> None:
    await node(world, "host-1:42:abc")

    async with world.feed.listen(node_topic("host-1:42:abc")) as waiter:
        answer = await client.post(f"/api/workers/host-1:42:abc/{wish}", **SYSTEM)
        assert await waiter.wait(1)

    assert (answer.json["state"], answer.json["wish"]) == ("draining", wish.value)
    assert (await client.post(f"/api/workers/host-1:42:abc/{wish}", **SYSTEM)).json == answer.json
    assert await trail(client) == [(wish.value, "house", "host-1:42:abc")]


async def test_a_worker_that_is_gone_or_silent_cannot_be_asked(world: World, client: Client) -> None:
    is_problem(await client.post("/api/workers/nobody/drain", **SYSTEM), 404, "not_found")
    await node(world, "silent")
    world.clock.advance(timedelta(seconds=31))

    answer = await client.post("/api/workers/silent/restart", **SYSTEM)

    is_problem(answer, 409, "conflict")
    assert "has not reported since" in answer.json["detail"]


async def test_workers_are_nothing_of_a_tenants(world: World, client: Client) -> None:
    await node(world, "one")
    for answer in (await client.get("/api/workers", **ACME), await client.post("/api/workers/one/drain", **ACME)):
        is_problem(answer, 403, "forbidden")


async def test_a_damaged_report_is_shown_as_far_as_it_can_be_read(world: World, client: Client) -> None:
    await node(world, "one", slots="many", queues="all", per_minute=[1], free=-3, pid=True)

    (one,) = (await client.get("/api/workers", **SYSTEM)).json["items"]

    assert (one["slots"], one["free"], one["pid"], one["queues"]) == (0, 0, None, None)
    assert (await listed(client))["default"]["workers"] == []


# --- health and metrics -----------------------------------------------------------------------------------------------


async def test_health_names_a_paused_queue_with_runs_in_it(world: World, client: Client) -> None:
    await client.post("/api/queues/reports/pause", **SYSTEM)
    await node(world, "one", "up")
    assert (await client.get("/health/detailed", **SYSTEM)).json["problems"] == []

    await waits(world, "reports")
    await node(world, "one", "up")

    seen = (await client.get("/health/detailed", **SYSTEM)).json
    assert (seen["status"], seen["problems"]) == ("degraded", ["the queue reports is paused, and 1 of its runs wait"])


async def test_health_names_a_queue_whose_last_worker_leaves(world: World, client: Client) -> None:
    await waits(world, "reports")
    await node(world, "fires", "scheduler", slots=0)
    await node(world, "one", queues=["reports"])
    assert (await client.get("/health/detailed", **SYSTEM)).json["problems"] == []

    await client.post("/api/workers/one/drain", **SYSTEM)

    assert (await client.get("/health/detailed", **SYSTEM)).json["problems"] == ["no worker serves reports"]


async def test_metrics_show_pauses_slots_and_what_runs(world: World, client: Client) -> None:
    await world.claim(await waits(world, "reports"))
    await client.post("/api/queues/analysis/pause", **SYSTEM)
    await node(world, "one")
    await node(world, "two", slots=6, free=6)

    lines = (await client.get("/metrics", **SYSTEM)).text.splitlines()

    assert 'foliot_queue_paused{queue="analysis"} 1.0' in lines
    assert 'foliot_queue_paused{queue="default"} 0.0' in lines
    assert 'foliot_runs_in_flight{queue="reports"} 1.0' in lines
    assert "foliot_worker_slots 10.0" in lines
    assert "foliot_worker_free 9.0" in lines


async def test_metrics_name_a_hundred_queues_and_sum_the_rest_up(world: World, client: Client) -> None:
    from tests.givens import request

    async with world.store.begin() as tx:
        await SqlRuns(tx).add([request(queue=f"q{number}") for number in range(120)], world.clock.now())

    text = (await client.get("/metrics", **SYSTEM)).text

    named = [line for line in text.splitlines() if line.startswith("foliot_queue_depth{")]
    assert len(named) == 101
    assert 'foliot_queue_depth{queue="(others)"} 26.0' in named


async def test_a_run_that_ended_waits_in_no_queue(world: World, client: Client) -> None:
    await world.end(await waits(world, "reports"), RunState.SUCCESS)

    assert "reports" not in await listed(client)
