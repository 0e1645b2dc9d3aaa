"""The HTTP API for the audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.commands.audit_sql import SqlAuditLog
from foliot.features.audit_log import schema as audit_log_schema
from tests.asgi import Client
from tests.declared import conforms
from tests.features.schedules.test_rest_schedules import created, is_problem
from tests.world import World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


async def listed(client: Client, query: str = "") -> list[dict[str, Any]]:
    answer = await client.get(f"/api/audit{query}")
    assert answer.status == 200, answer.text
    conforms(audit_log_schema.AuditPage, answer.json)
    items: list[dict[str, Any]] = answer.json["items"]
    return items


async def test_the_log_says_who_did_what_and_how_it_was_before(world: World, client: Client) -> None:
    one = (await created(client))["id"]
    await client.patch(f"/api/schedules/{one}", {"name": "Other"})
    async with world.store.begin() as tx:
        await SqlAuditLog(tx).chain(1)

    patched, made = await listed(client)
    assert (made["verb"], made["thing"], made["thing_id"], made["before"]) == ("create", "schedule", one, None)
    assert (made["user_id"], made["key_id"], made["door"], made["at"]) == (
        "local",
        None,
        "rest",
        "2027-01-04T12:00:00Z",
    )
    assert (made["seq"], len(made["digest"])) == (1, 64)
    assert (patched["after"], patched["seq"], patched["digest"]) == ({"name": "Other", "version": 2}, None, None)


async def test_it_is_narrowed_and_paged(world: World, client: Client) -> None:
    ids = [(await created(client))["id"] for _ in range(3)]
    world.clock.advance(60)
    await client.post(f"/api/schedules/{ids[0]}/pause")

    assert [one["verb"] for one in await listed(client, f"?thing=schedule&thing_id={ids[0]}")] == ["pause", "create"]
    assert len(await listed(client, "?user=local&verb=create")) == 3
    assert len(await listed(client, "?from=2027-01-04T12:00:30Z")) == 1
    assert len(await listed(client, "?to=2027-01-04T12:00:30Z")) == 3
    assert await listed(client, "?user=nobody") == []

    first = (await client.get("/api/audit?limit=3")).json
    second = (await client.get(f"/api/audit?limit=3&cursor={first['next_cursor']}")).json
    assert [one["thing_id"] for one in first["items"] + second["items"]] == [ids[0], *reversed(ids)]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("thing=nonsense", "thing"),
        ("from=yesterday", "from"),
        ("to=2027-01-01", "to"),
        ("from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z", "to"),
        ("user=%00", "user"),
        ("limit=0", "limit"),
        ("cursor=%2F", "cursor"),
        ("colour=red", "colour"),
    ],
)
async def test_a_wrong_question_is_named(query: str, field: str, client: Client) -> None:
    answer = await client.get(f"/api/audit?{query}")

    is_problem(answer, 422, "invalid")
    assert answer.json["errors"][0]["field"] == field


async def test_the_log_cannot_be_written_at_this_door(client: Client) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert (await client.send(method, "/api/audit")).status == 405
