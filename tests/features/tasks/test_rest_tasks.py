"""Tasks and presets in the HTTP API."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from foliot.app.http import create_app
from foliot.core.access import Caller, Role
from foliot.features.presets import schema as presets_schema
from foliot.features.runs import schema as runs_schema
from foliot.features.tasks import schema as tasks_schema
from tests.asgi import Client
from tests.callers import Names
from tests.declared import conforms
from tests.world import World, open_world

ACME = {"Authorization": "Bearer ada"}
VIEWER = {"Authorization": "Bearer vera"}
SYSTEM = {"Authorization": "Bearer root"}
CALLERS = {
    "ada": Caller("acme", "ada", Role.OPERATOR),
    "vera": Caller("acme", "vera", Role.VIEWER),
    "root": Caller("default", "root", Role.SYSTEM),
}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases, identity=Names(CALLERS)))


async def test_tasks_are_listed_with_what_they_take(client: Client) -> None:
    answer = await client.get("/api/tasks", **VIEWER)
    whole = await client.get("/api/tasks", **SYSTEM)
    conforms(tasks_schema.TaskPage, answer.json)
    listed = {one["name"]: one for one in answer.json["items"]}

    assert set(listed) == {
        "cleanup_old_execution_records",
        "comprehensive_price_analysis",
        "greet",
        "scrape_competitor_prices",
    }
    assert {one["name"] for one in whole.json["items"]} - set(listed) == {"health_check_services"}
    assert listed["greet"]["parameters"]["required"] == ["name"]
    assert listed["greet"]["parameters"]["properties"]["times"]["type"] == "integer"
    assert (listed["greet"]["built_in"], listed["greet"]["tenants"]) == (False, None)
    assert {one["name"]: one["tenants"] for one in whole.json["items"]} == {
        "cleanup_old_execution_records": ["all"],
        "comprehensive_price_analysis": ["all"],
        "greet": ["acme", "default"],
        "health_check_services": ["default"],
        "scrape_competitor_prices": ["all"],
    }
    assert answer.json["faults"] is None, "whose modules are broken is not for everybody"
    assert whole.json["faults"] == []
    assert (await client.get("/api/tasks/greet", **VIEWER)).json == listed["greet"]


async def test_a_task_is_run_once_for_each_key(client: Client) -> None:
    key = {"Idempotency_Key": "one"}
    first = await client.post("/api/tasks/greet/run", {"parameters": {"name": "you"}, "queue": "mine"}, **ACME, **key)
    again = await client.post("/api/tasks/greet/run", {"parameters": {"name": "you"}, "queue": "mine"}, **ACME, **key)

    assert (first.status, again.status) == (202, 202)
    assert first.body == again.body
    conforms(runs_schema.Run, first.json)
    assert (first.json["kind"], first.json["queue"], first.json["max_attempts"]) == ("task", "mine", 3)
    assert first.json["action"] == {"task": "greet", "parameters": {"name": "you"}}
    assert first.headers["location"] == f"/api/runs/{first.json['id']}"
    assert len((await client.get("/api/runs", **ACME)).json["items"]) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (None, "parameters.name"),
        ({"parameters": {"name": "x", "times": "many"}}, "parameters.times"),
        ({"parameters": {"name": "x", "nmae": 1}}, "parameters.nmae"),
        ({"parameters": "x"}, "parameters"),
        ({"params": {}}, "params"),
        ({"parameters": {"name": "x"}, "queue": "no spaces"}, "queue"),
        ({"parameters": {"name": "x"}, "priority": 11}, "priority"),
    ],
)
async def test_what_a_run_may_not_be_asked_with(client: Client, body: object, field: str) -> None:
    answer = await client.post("/api/tasks/greet/run", body, **ACME)

    assert answer.status == 422
    assert field in {error["field"] for error in answer.json["errors"]}


async def test_who_may_not_run_what(client: Client) -> None:
    assert (await client.post("/api/tasks/greet/run", {"parameters": {"name": "x"}}, **VIEWER)).status == 403
    assert (await client.post("/api/tasks/health_check_services/run", **ACME)).status == 404
    assert (await client.post("/api/tasks/health_check_services/run", **SYSTEM)).status == 202
    for name in ("nothing", "no%20name", "x" * 200):
        assert (await client.post(f"/api/tasks/{name}/run", **ACME)).status == 404


async def test_a_preset_is_shown_loaded_and_unloaded(client: Client) -> None:
    shown = await client.get("/api/presets/price-monitoring", **VIEWER)
    conforms(presets_schema.PresetContents, shown.json)
    assert (await client.get("/api/presets", **VIEWER)).json["items"] == [shown.json]

    loaded = await client.post("/api/presets/price-monitoring/load", {}, **SYSTEM)
    conforms(presets_schema.PresetResult, loaded.json)
    assert [one["outcome"] for one in loaded.json["items"]] == ["created"] * 5
    assert (await client.post("/api/presets/price-monitoring/load", {}, **VIEWER)).status == 403
    assert (await client.post("/api/presets/nothing/load", {}, **ACME)).status == 404

    unloaded = await client.post("/api/presets/price-monitoring/unload", **SYSTEM)
    assert [(one["outcome"], one["status"], one["next_run_at"]) for one in unloaded.json["items"]] == [
        ("deleted", "deleted", None)
    ] * 5
