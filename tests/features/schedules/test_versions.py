"""The versions of a schedule: listed with their settings and authors, paged, and compared; on every database."""

from __future__ import annotations

import json

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import NotFound
from foliot.engine.model.views import PageRequest
from foliot.features.schedules import schema
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.versions import Versions
from tests.asgi import Client
from tests.cli.cli_server import Script, invoke
from tests.cli.test_cli import server
from tests.declared import conforms
from tests.world import HOURLY, World

__all__ = ["server"]
VIEWER = Caller(LOCAL.tenant_id, "eye", Role.VIEWER)
STRANGER = Caller("elsewhere", "eve", Role.ADMIN)


async def test_each_edit_and_pause_is_a_version_with_its_settings_and_author(world: World, client: Client) -> None:
    hook = {"url": "https://a.example/", "headers": {"X-Api-Key": "s3cret"}}
    one = await world.schedule(HOURLY, name="First", payload=hook)
    await world.cases[Schedules].patch(LOCAL, one.id, {"priority": 9, "action": {"url": "https://a.example/b"}})
    await world.cases[Schedules].pause(LOCAL, one.id, {"reason": "holiday"})

    answer = await client.get(f"/api/schedules/{one.id}/versions")

    assert answer.status == 200, answer.text
    conforms(schema.ScheduleVersionPage, answer.json)
    assert "s3cret" not in answer.text
    paused, changed, created = answer.json["items"]
    assert [(each["version"], each["change"], each["user_id"]) for each in answer.json["items"]] == [
        (3, "pause", "local"),
        (2, "patch", "local"),
        (1, "create", "local"),
    ]
    assert (paused["status"], paused["reason"], created["status"]) == ("paused", "holiday", "active")
    assert paused["settings"] == changed["settings"]
    differing = {name for name in changed["settings"] if changed["settings"][name] != created["settings"][name]}
    assert differing == {"priority", "action"}
    assert (created["settings"]["action"]["url"], changed["settings"]["action"]["url"]) == (
        "https://a.example/",
        "https://a.example/b",
    )
    assert "name" not in created["settings"]


async def test_pages_follow_each_other(world: World, client: Client) -> None:
    one = await world.schedule(HOURLY)
    for priority in (1, 2, 3):
        await world.cases[Schedules].patch(LOCAL, one.id, {"priority": priority})
    path = f"/api/schedules/{one.id}/versions"

    first = (await client.get(f"{path}?limit=3")).json
    rest = (await client.get(f"{path}?limit=3&cursor={first['next_cursor']}")).json

    assert [each["version"] for each in (*first["items"], *rest["items"])] == [4, 3, 2, 1]
    assert rest["next_cursor"] is None


async def test_who_made_them_is_for_readers_of_the_audit_log_and_none_of_it_for_strangers(world: World) -> None:
    one = await world.schedule(HOURLY)

    (seen,) = await world.cases[Versions].list(VIEWER, one.id, PageRequest(9))

    assert (seen.version, seen.user_id, seen.change) == (1, None, None)
    with pytest.raises(NotFound):
        await world.cases[Versions].list(STRANGER, one.id, PageRequest(9))


PATH = "/api/schedules/sch_1/versions"


def version(number: int, **settings: object) -> dict[str, object]:
    return {
        "version": number,
        "at": "2027-01-01T09:00:00Z",
        "status": "active",
        "reason": "",
        "user_id": "eva",
        "change": "run_now" if number == 1 else "patch",
        "settings": {"priority": 5, "retry_policy": {"max_retries": 3}, **settings},
    }


PAGES = (
    (200, {"items": [version(3, priority=9), version(2, retry_policy={"max_retries": 1})], "next_cursor": "more"}),
    (200, {"items": [version(1)], "next_cursor": None}),
)


@pytest.fixture
def cli(server: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.setenv("FOLIOT_URL", f"http://127.0.0.1:{server.server_port}")
    server.will("GET", PATH, *PAGES)
    return server


def test_versions_are_compared_by_the_settings_that_differ(cli: Script) -> None:
    shown = invoke("schedule", "diff", "sch_1")

    assert shown.code == 0, shown.err
    assert [line.split() for line in shown.out.splitlines()] == [
        ["setting", "version", "2", "version", "3"],
        ["priority", "5", "9"],
        ["retry_policy.max_retries", "1", "3"],
    ]


def test_any_two_are_found_in_either_order_beyond_the_first_page(cli: Script) -> None:
    shown = invoke("schedule", "diff", "sch_1", "1", "3", "--json")

    assert json.loads(shown.out) == {"older": 1, "newer": 3, "changes": {"priority": {"old": 5, "new": 9}}}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [(("9",), "no version 9"), (("1",), "no version before 1"), (("3", "7"), "no version 7")],
)
def test_a_version_that_does_not_exist_is_named(cli: Script, wanted: tuple[str, ...], says: str) -> None:
    shown = invoke("schedule", "diff", "sch_1", *wanted)

    assert (shown.code, says in shown.err) == (3, True), shown.err
