"""Every list of the API takes `limit` and `cursor`, also those that are read whole."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.commands.cursor import Cursors
from foliot.servers.http.paging import ListPart
from tests.asgi import Client
from tests.features.schedules.test_rest_schedules import is_problem
from tests.world import HOURLY, World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


def lists(world: World) -> list[str]:
    """Whatever answers `items` and `next_cursor`, without a thing's id in its path."""
    document = create_app(world.cases).openapi()
    schemas = document["components"]["schemas"]

    def is_list(operation: Any) -> bool:
        schema = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema", {})
        properties = schemas.get(schema.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
        return {"items", "next_cursor"} <= set(properties)

    return [
        path for path, ways in document["paths"].items() if "{" not in path and "get" in ways and is_list(ways["get"])
    ]


async def test_every_list_takes_a_limit_and_a_cursor(world: World, client: Client) -> None:
    found = lists(world)

    assert len(found) > 14
    for path in found:
        assert (await client.get(f"{path}?limit=1")).status == 200, path
        is_problem(await client.get(f"{path}?limit=0"), 422, "invalid")
        is_problem(await client.get(f"{path}?limit=501"), 422, "invalid")
        is_problem(await client.get(f"{path}?cursor=nonsense"), 422, "invalid")


async def test_a_list_that_is_read_whole_comes_page_by_page_too(world: World, client: Client) -> None:
    for at in range(5):
        await client.put(f"/api/secrets/TOKEN_{at}", {"value": f"a value {at}"})
    seen: list[str] = []
    cursor = ""
    page: dict[str, Any] = {}
    for _ in range(3):
        page = (await client.get(f"/api/secrets?limit=2{cursor}")).json
        seen += [one["name"] for one in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"

    assert seen == [f"TOKEN_{at}" for at in range(5)]
    assert page["next_cursor"] is None
    assert len((await client.get("/api/secrets")).json["items"]) == 5


def test_a_page_goes_on_behind_the_last_one_shown_wherever_that_moved() -> None:
    cursors = Cursors(None, "acme\n/api/endpoints")
    shown, cursor = ListPart(2, None, cursors).of(["a", "b", "c", "d"], str)
    assert (list(shown), cursor is None) == (["a", "b"], False)

    assert list(ListPart(2, cursor, cursors).of(["new", "a", "b", "c", "d"], str)[0]) == ["c", "d"]
    assert list(ListPart(2, cursor, cursors).of(["a", "c", "d"], str)[0]) == ["d"], "the last one shown is gone"
    assert ListPart(2, cursor, cursors).of([], str) == ([], None)


async def test_a_key_that_belongs_to_another_request_is_named_as_the_field_that_is_wrong(client: Client) -> None:
    await client.post("/api/schedules", HOURLY, Idempotency_Key="k-1")
    answer = await client.post("/api/schedules", {**HOURLY, "name": "x"}, Idempotency_Key="k-1")

    is_problem(answer, 422, "key_reused")
    assert [(one["field"], one["got"]) for one in answer.json["errors"]] == [("Idempotency-Key", "k-1")]


async def test_a_run_by_hand_carries_the_moment_it_was_asked_for(world: World, client: Client) -> None:
    made = await world.schedule(HOURLY)
    asked_at = world.clock.now()
    by_hand = (await client.post(f"/api/schedules/{made.id}/run-now", {})).json
    world.clock.advance(90)
    (claimed,) = await world.claim(by_hand["id"])

    assert claimed.scheduled_for == asked_at
    assert by_hand["scheduled_for"] is None, "it belongs to no instant"
