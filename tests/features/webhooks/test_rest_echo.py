"""The receiver for first tries."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from foliot.app.http import create_app
from foliot.core.access import Caller, Role
from tests.asgi import Client
from tests.callers import Names
from tests.world import World, open_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


async def test_what_came_is_what_is_answered(world: World) -> None:
    client = Client(create_app(world.cases))

    answer = await client.post("/api/echo/any/where?a=1&a=2", {"sku": 991}, X_Hello="world")

    told = answer.json
    assert answer.status == 200
    assert (told["method"], told["path"], told["query"]) == ("POST", "/any/where", {"a": ["1", "2"]})
    assert (told["json"], told["body"], told["bytes"]) == ({"sku": 991}, '{"sku":991}', 11)
    assert told["headers"]["x-hello"] == "world"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_every_method_is_heard(world: World, method: str) -> None:
    answer = await Client(create_app(world.cases)).send(method, "/api/echo/")

    assert (answer.status, answer.json["method"]) == (200, method)


@pytest.mark.parametrize(
    ("path", "status"),
    [("status/503", 503), ("status/429", 429), ("status/204", 204), ("status/99", 200), ("status/600", 200)],
)
async def test_it_answers_with_the_status_that_its_address_names(world: World, path: str, status: int) -> None:
    assert (await Client(create_app(world.cases)).get(f"/api/echo/{path}")).status == status


async def test_it_answers_late_where_its_address_says_so_but_not_after_the_end(world: World) -> None:
    app = create_app(world.cases)
    assert (await Client(app).get("/api/echo/delay/0.01")).status == 200
    app.state.streams.stopping.set()

    assert (await Client(app).get("/api/echo/delay/59")).json["path"] == "/delay/59"


@pytest.mark.parametrize("body", [b"\xff\xfe", b"\x00", b"[" * 10_000, b"[" * 600 + b"]" * 600, b"x" * 100_000])
async def test_no_body_is_too_strange(world: World, body: bytes) -> None:
    answer = await Client(create_app(world.cases)).post("/api/echo/x", body)

    assert (answer.status, answer.json["json"], answer.json["bytes"]) == (200, None, len(body))


async def test_a_secured_foliot_has_none(world: World) -> None:
    app = create_app(world.cases, identity=Names({"ada": Caller("acme", "ada", Role.ADMIN)}))

    for bearer in ("Bearer ada", "Bearer nobody"):
        assert (await Client(app).get("/api/echo/x", Authorization=bearer)).status == 404


async def test_no_page_of_another_site_can_use_it(world: World) -> None:
    answer = await Client(create_app(world.cases)).post("/api/echo/x", {}, Origin="https://evil.example")

    assert answer.json["code"] == "foreign_origin"
