"""Secrets in the HTTP API: values go in, and no answer contains one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.features.secrets import schema as secrets_schema
from tests.asgi import Client
from tests.declared import conforms
from tests.features.schedules.test_rest_schedules import is_problem
from tests.world import EVERY_MINUTE, URL, OneAction, World, open_world

KEY_1, KEY_2 = ("whsec_" + 24 * letter for letter in "ab")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as world:
        yield world


@pytest.fixture
def client(world: World) -> Client:
    return Client(create_app(world.cases))


async def test_a_secret_is_set_listed_and_deleted(client: Client) -> None:
    made = await client.put("/api/secrets/TOKEN", {"value": "one-value"})
    assert (made.status, made.body) == (204, b"")
    listed = await client.get("/api/secrets")

    assert listed.status == 200
    conforms(secrets_schema.SecretPage, listed.json)
    assert listed.json == {
        "items": [
            {
                "name": "TOKEN",
                "version": 1,
                "created_at": "2027-01-04T12:00:00Z",
                "created_by": "local",
                "hosts": [],
                "previous_until": None,
            }
        ],
        "next_cursor": None,
    }
    assert (await client.delete("/api/secrets/TOKEN")).status == 204
    assert (await client.get("/api/secrets")).json["items"] == []


async def test_the_list_says_how_long_the_signing_secret_before_signs(client: Client, world: World) -> None:
    for name, values in (("webhook_signing", (KEY_1, KEY_2)), ("TOKEN", ("value-one", "value-two"))):
        for value in values:
            assert (await client.put(f"/api/secrets/{name}", {"value": value})).status == 204
        world.clock.advance(timedelta(minutes=1))

    items = (await client.get("/api/secrets")).json["items"]
    assert [(each["name"], each["version"], each["previous_until"]) for each in items] == [
        ("TOKEN", 2, None),
        ("webhook_signing", 2, "2027-01-05T12:00:00Z"),
    ]


@pytest.mark.parametrize("name", ["1TOKEN", "a-b", "a.b", "å", "x" * 65, "a b", "a%00b"])
async def test_a_wrong_name_is_refused_when_set_and_unknown_when_deleted(client: Client, name: str) -> None:
    answer = await client.put(f"/api/secrets/{name}", {"value": "one-value"})

    is_problem(answer, 422, "invalid")
    assert answer.json["errors"][0]["field"] == "name"
    is_problem(await client.delete(f"/api/secrets/{name}"), 404, "not_found")


async def test_an_unknown_secret_answers_404(client: Client) -> None:
    is_problem(await client.delete("/api/secrets/TOKEN"), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "field", "rule"),
    [
        (None, "body", '"value"'),
        ("hush-hush-hush", "body", '"value"'),
        (["hush-hush-hush"], "body", '"value"'),
        ({}, "body", '"value"'),
        ({"value": "one-value", "hush-hush-hush": 1}, "body", '"value"'),
        ({"valeu": "hush-hush-hush"}, "body", '"value"'),
        ({"value": None}, "value", "text"),
        ({"value": {"hush-hush-hush": 1}}, "value", "text"),
        ({"value": "hush-hu"}, "value", "8 characters"),
        ({"value": ""}, "value", "8 characters"),
        ({"value": "hush" * 2048 + "x"}, "value", "8 KiB"),
        ({"value": "å" * 4097}, "value", "8 KiB"),
        ({"value": "hush-hush\r\nX-Evil: 1"}, "value", "one line"),
        ({"value": "hush-hush\x7f"}, "value", "one line"),
        ({"value": " hush-hush-hush"}, "value", "begin or end with a space"),
    ],
)
async def test_a_wrong_value_is_refused_and_never_repeated(client: Client, body: object, field: str, rule: str) -> None:
    answer = await client.put("/api/secrets/TOKEN", body)

    is_problem(answer, 422, "invalid")
    (error,) = answer.json["errors"]
    assert error["field"] == field
    assert rule in error["message"]
    assert "hush" not in answer.text
    assert (await client.get("/api/secrets")).json["items"] == []


@pytest.mark.parametrize("value", ["x" * 8, "å" * 4096, "x" * 8192, "{{ secret.OTHER }}"])
async def test_values_at_the_limits_are_taken(client: Client, value: str) -> None:
    assert (await client.put("/api/secrets/TOKEN", {"value": value})).status == 204


@pytest.mark.parametrize("value", ["whsec_c2hvcnQ=", "hush-hush-hush", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!", "a" * 32])
async def test_the_signing_secret_must_be_one_of_standard_webhooks(client: Client, value: str) -> None:
    answer = await client.put("/api/secrets/webhook_signing", {"value": value})

    is_problem(answer, 422, "invalid")
    assert "'whsec_' followed by base64 of at least 16 bytes" in answer.json["detail"]
    assert value not in answer.text


async def test_there_is_no_way_to_read_a_value(client: Client) -> None:
    await client.put("/api/secrets/TOKEN", {"value": "hush-hush-hush"})

    is_problem(await client.get("/api/secrets/TOKEN"), 405, "method_not_allowed")
    assert "hush" not in (await client.get("/api/secrets")).text


async def test_a_schedule_that_puts_a_secret_where_it_is_not_filled_in_is_refused(client: Client) -> None:
    for action in (
        {"kind": "webhook", "url": URL + "?key={{ secret.TOKEN }}"},
        {"kind": "webhook", "url": URL, "body": {"key": "{{ secret.TOKEN }}"}},
        {"kind": "webhook", "url": URL, "headers": {"X-Key": "{{ secrets.TOKEN }}"}},
    ):
        is_problem(await client.post("/api/schedules", {**EVERY_MINUTE, "action": action}), 422, "invalid")

    made = (await client.post("/api/schedules", EVERY_MINUTE)).json
    for payload in ({"body": "{{ secret.TOKEN }}"}, {"headers": {"X-Key": "{{ secret }}"}}):
        answer = await client.post(f"/api/schedules/{made['id']}/run-now", {"payload": payload})
        is_problem(answer, 422, "invalid")


async def test_without_a_master_key_setting_one_answers_409_and_names_the_setting(world: World) -> None:
    cases = use_cases(world.store, world.clock, world.feed, OneAction())
    answer = await Client(create_app(cases)).put("/api/secrets/TOKEN", {"value": "one-value"})

    is_problem(answer, 409, "conflict")
    assert "FOLIOT_SECRET_KEY" in answer.json["detail"]
