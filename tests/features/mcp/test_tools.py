"""The endpoint `/mcp`, asked by the official client: which tools there are, who may use them, and what they answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, ClassVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Interface, Role
from foliot.core.errors import Unauthenticated
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.bulk.usecases import Bulks
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.explanations.usecases import Explanations
from foliot.features.mcp.rest.endpoint import TOOLS
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.watches.usecases.watches import Watches
from tests.world import EVERY_MINUTE, URL, World

VIEWER = Caller("acme", "vera", Role.VIEWER)
OPERATOR = Caller("acme", "otto", Role.OPERATOR)
STRANGER = Caller("other", "eve", Role.ADMIN)
PRICES: dict[str, Any] = {
    "name": "prices",
    "type": "cron",
    "cron_expr": "0 12 * * *",
    "timezone": "Europe/Stockholm",
    "payload": {"url": URL},
}
NAMED = {
    "why", "attention", "find_runs", "read_log", "preview_trigger", "plan", "create_schedule", "run_now", "pause",
    "replay", "watch_page", "changes_since",
}  # fmt: skip


class Keys:
    """The identity of each key of these tests."""

    known: ClassVar = {"viewer": VIEWER, "operator": OPERATOR, "stranger": STRANGER}

    async def caller(self, bearer: str) -> Caller:
        if bearer not in self.known:
            raise Unauthenticated
        return self.known[bearer]

    async def still(self, caller: Caller) -> bool:
        return True


class Agent:
    """The official client; answers as data."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        found = await self.client.call_tool(tool, arguments)
        assert not found.is_error, found.content
        (content,) = found.content
        assert isinstance(content, TextContent)
        assert json.loads(content.text) == found.structured_content
        return found.structured_content

    async def refused(self, tool: str, **arguments: Any) -> Any:
        found = await self.client.call_tool(tool, arguments)
        assert found.is_error
        return found.structured_content

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}


@asynccontextmanager
async def agent(world: World, key: str | None = "operator", mode: str = "auto") -> AsyncIterator[Agent]:
    app = create_app(world.cases, identity=None if key is None else Keys(), public_url="https://foliot.example")
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 50_000))
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http), mode=mode) as client,
    ):
        yield Agent(client)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_there_are_at_most_fifteen_tools(world: World, mode: str) -> None:
    async with agent(world, mode=mode) as asked:
        tools = (await asked.client.list_tools()).tools

    assert {tool.name for tool in tools} >= NAMED
    assert len(tools) <= 15
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
    hints = {tool.name: tool.annotations.read_only_hint for tool in tools if tool.annotations}
    assert {name for name, reads in hints.items() if not reads} == {
        "create_schedule", "run_now", "pause", "replay", "watch_page",
    }  # fmt: skip


async def test_a_key_of_a_viewer_cannot_write(world: World) -> None:
    schedule = await world.cases[Schedules].create(OPERATOR, PRICES)
    writing = {tool.name for tool in TOOLS.values() if tool.writes}
    arguments: dict[str, dict[str, Any]] = {
        "create_schedule": {"schedule": EVERY_MINUTE},
        "run_now": {"schedule": schedule.id},
        "pause": {"schedule": schedule.id},
        "replay": {"q": ""},
        "watch_page": {"url": "https://shop.example/"},
    }
    assert writing == arguments.keys()

    async with agent(world, "viewer") as asked:
        assert await asked.names() == TOOLS.keys() - writing
        for name, given in arguments.items():
            answer = await asked.refused(name, **given)
            assert answer["code"] == "forbidden", name
            assert "viewer" in answer["detail"]

    assert (await world.cases[Schedules].get(OPERATOR, schedule.id)).version == schedule.version
    assert await world.cases[Runs].list(OPERATOR, PageRequest(5)) == []


async def test_things_of_another_tenant_are_not_found(world: World) -> None:
    schedule = await world.cases[Schedules].create(OPERATOR, PRICES)
    run = await world.cases[Schedules].run_now(OPERATOR, schedule.id)
    foreign: list[tuple[str, dict[str, Any]]] = [
        ("why", {"target": schedule.id}),
        ("why", {"target": run.id}),
        ("why", {"target": "prices"}),
        ("read_log", {"run": run.id}),
        ("run_now", {"schedule": schedule.id}),
        ("pause", {"schedule": schedule.id}),
        ("replay", {"ids": [run.id]}),
    ]
    async with agent(world, "stranger") as asked:
        for name, arguments in foreign:
            assert (await asked.refused(name, **arguments))["code"] == "not_found", name
        assert (await asked.call("find_runs"))["items"] == []
        assert (await asked.call("find_schedules"))["items"] == []


async def test_a_wrong_key_is_refused(world: World) -> None:
    app = create_app(world.cases, identity=Keys())
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
        answer = await http.post("/mcp", json={}, headers={"Authorization": "Bearer nobody"})
        reading = await http.get("/mcp", headers={"Authorization": "Bearer viewer"})

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert reading.status_code == 405


async def test_why_answers_the_sentence_of_foliot_why(world: World) -> None:
    world.clock.set(world.clock.now().replace(hour=9, minute=0, second=0, microsecond=0))
    schedule = await world.cases[Schedules].create(OPERATOR, PRICES)
    await world.cases[Schedules].pause(OPERATOR, schedule.id, {"reason": "the shop is closed"})
    world.clock.advance(6 * 3600)
    await world.tick()
    noon = next(
        at
        for at in (schedule.created_at + timedelta(minutes=minute) for minute in range(24 * 60))
        if schedule.spec.trigger.next_after(at - timedelta(microseconds=1)) == at
    )
    expected = await world.cases[Explanations].of_schedule(OPERATOR, schedule.id, noon)

    async with agent(world, "viewer") as asked:
        answer = await asked.call("why", target="prices", at="12:00")

    assert answer["summary"] == expected.summary
    assert "paused" in answer["summary"]
    assert answer["link"] == f"https://foliot.example/schedules/{schedule.id}"


async def test_a_schedule_is_created_only_when_its_draft_is_confirmed(world: World) -> None:
    async with agent(world) as asked:
        draft = await asked.call("create_schedule", schedule=PRICES)
        assert await world.cases[Schedules].list(OPERATOR, PageRequest(5)) == []
        assert len(draft["draft"]["next_times"]) == 5
        assert "12:00" in draft["draft"]["summary"]

        other = await asked.refused("create_schedule", schedule={**PRICES, "name": "x"}, confirm=draft["confirm"])
        assert other["errors"][0]["field"] == "confirm"

        made = await asked.call("create_schedule", schedule=PRICES, confirm=draft["confirm"])
        again = await asked.call("create_schedule", schedule=PRICES, confirm=draft["confirm"])

    (stored,) = await world.cases[Schedules].list(OPERATOR, PageRequest(5))
    assert made["id"] == again["id"] == stored.id
    (entry,) = await world.cases[AuditLog].list(Caller("acme", "ada", Role.ADMIN), PageRequest(5), thing_id=stored.id)
    assert (entry.verb, entry.user_id, entry.door) == ("create", "otto", Interface.MCP.value)


async def test_a_draft_leaves_out_the_days_of_its_calendar(world: World) -> None:
    await world.cases[NamedCalendars].create(OPERATOR, {"name": "office", "dates": ["2027-01-05/2027-01-07"]})

    async with agent(world) as asked:
        draft = await asked.call("create_schedule", schedule={**PRICES, "exclude": ["calendar:office"]})

    assert [one[:10] for one in draft["draft"]["next_times"]] == [f"2027-01-{day:02}" for day in (8, 9, 10, 11, 12)]


async def test_a_draft_is_refused_by_the_rules_of_creating(world: World) -> None:
    async with agent(world) as asked:
        answer = await asked.refused("create_schedule", schedule={**PRICES, "cron_expr": "61 * * * *"})
        unknown = await asked.refused("pause", schedul="prices")

    assert answer["code"] == "invalid"
    assert answer["errors"][0]["field"] == "cron_expr"
    assert {one["field"] for one in unknown["errors"]} == {"schedule", "schedul"}


async def test_a_schedule_runs_and_is_paused_and_resumed(world: World) -> None:
    schedule = await world.cases[Schedules].create(OPERATOR, PRICES)
    async with agent(world) as asked:
        run = await asked.call("run_now", schedule="prices")
        paused = await asked.call("pause", schedule="prices", reason="the shop is closed")
        resumed = await asked.call("pause", schedule=schedule.id, resume=True)
        found = await asked.call("find_runs", q="schedule:prices")
        log = await asked.call("read_log", run=run["id"])

    assert (paused["status"], paused["paused_reason"]) == ("paused", "the shop is closed")
    assert resumed["status"] == "active"
    assert [one["id"] for one in found["items"]] == [run["id"]]
    assert found["items"][0]["link"] == f"https://foliot.example/runs/{run['id']}"
    assert log["lines"] == []


async def test_dead_letters_are_tried_before_they_are_replayed(world: World) -> None:
    schedule = await world.cases[Schedules].create(OPERATOR, {**PRICES, "retry_policy": {"max_retries": 0}})
    run = await world.cases[Schedules].run_now(OPERATOR, schedule.id)
    await world.end(run.id, RunState.DEAD_LETTER, {"code": "http_500", "message": "the target answered 500"})

    async with agent(world) as asked:
        trial = await asked.call("replay", q="schedule:prices")
        assert trial["draft"]["matches"] == 1
        assert trial["draft"]["hosts"] == ["example.com"]
        assert await world.cases[Bulks].list(OPERATOR, PageRequest(5)) == []
        begun = await asked.call("replay", q="schedule:prices", confirm=trial["confirm"])

    (bulk,) = await world.cases[Bulks].list(OPERATOR, PageRequest(5))
    assert (bulk.bulk.id, bulk.bulk.total) == (begun["id"], 1)


async def test_a_page_is_visited_before_it_is_watched(world: World) -> None:
    url = "https://shop.example/cups"
    world.site.write("/cups", "<html><body><p class=price>10 EUR</p></body></html>")
    given = {"url": url, "fields": {"price": {"css": ".price", "type": "price"}}, "when": "drops(price)"}
    async with agent(world) as asked:
        draft = await asked.call("watch_page", **given)
        assert draft["draft"]["pages"][0]["fields"]["price"] is not None
        made = await asked.call("watch_page", **given, confirm=draft["confirm"])
        since = await asked.call("changes_since", after=0)

    (view,) = await world.cases[Watches].list(OPERATOR, PageRequest(5))
    assert view.watch.id == made["id"]
    assert since == {"items": [], "last_seq": 0, "more": False}


async def test_what_only_reads(world: World) -> None:
    async with agent(world, None) as asked:
        preview = await asked.call("preview_trigger", words="every weekday at 07:30", timezone="Europe/Stockholm")
        planned = await asked.call("plan", schedules=[PRICES])
        attention = await asked.call("attention")

    assert preview["cron_expr"] == "30 7 * * 1-5"
    assert (planned["counts"]["create"], planned["changes"][0]["name"]) == (1, "prices")
    assert attention["items"] == []
    assert await world.cases[Schedules].list(LOCAL, PageRequest(5)) == []


async def test_answers_are_bounded(world: World) -> None:
    await world.cases[Schedules].create(OPERATOR, {**PRICES, "name": "x" * 200, "tags": ["t" * 64] * 1})
    async with agent(world) as asked:
        refused = await asked.refused("find_runs", limit=101)
        unknown = await asked.refused("delete_everything")

    assert refused["errors"][0]["field"] == "limit"
    assert unknown["code"] == "not_found"


def test_the_library_is_not_imported_before_the_first_request() -> None:
    code = "import sys, foliot.app.http; print('mcp' in sys.modules, 'httpx2' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "False False"
