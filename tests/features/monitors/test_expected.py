"""Expected pings in the ledger, the timeline and the calendar, on every database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.features.monitors.sql import SqlMonitors
from tests.asgi import Client
from tests.features.monitors.test_monitors import Watched
from tests.world import World

CRON: dict[str, Any] = {"type": "cron", "cron_expr": "0 * * * *", "interval_seconds": None, "timezone": "UTC"}


@pytest.fixture
def watched(world: World, client: Client) -> Watched:
    return Watched(world, client)


async def outcomes(watched: Watched) -> list[str]:
    answer = await watched.client.get(f"/api/monitors/{watched.monitor['id']}/instants?limit=50")
    assert answer.status == 200, answer.text
    return [each["outcome"] for each in answer.json["items"] if each["outcome"] != "planned"]


async def lane(watched: Watched) -> dict[str, Any]:
    (found,) = (await watched.client.get("/api/timeline")).json["groups"]
    assert (found["name"], found["kind"], found["key"]) == ("Backup", "monitor", watched.monitor["id"])
    return dict(found)


def states(lane: dict[str, Any]) -> list[tuple[str, int]]:
    return [(mark["state"], mark["count"]) for mark in lane["marks"] if mark["state"] != "planned"]


async def test_pings_answer_the_times_at_which_they_are_expected(watched: Watched) -> None:
    await watched.create(**CRON)
    await watched.ping()
    await watched.wait(3600 + 60)
    await watched.ping()
    await watched.wait(3600 + 400)
    await watched.ping()
    assert await outcomes(watched) == ["answered", "late"]
    assert states(await lane(watched)) == [("success", 1)] * 3


async def test_silence_is_missed_in_ledger_timeline_and_calendar(watched: Watched) -> None:
    await watched.create(**CRON)
    await watched.rule()
    await watched.ping()
    for _ in range(5):
        await watched.wait(3600)
    await watched.wait(900)
    assert await outcomes(watched) == ["missed"] * 5
    found = await lane(watched)
    assert (states(found)[1:], found["urgency"]) == ([("missed", 5)], "missed")
    assert [mark for mark in found["marks"] if mark["state"] == "planned"]
    cells = (await watched.client.get("/api/calendar")).json["items"]
    assert sum(cell["missed"] for cell in cells) == 5
    assert sum(cell["planned"] for cell in cells) > 24
    # One silence is one alert, counted with each time that is missed.
    (alert,) = await watched.alerting.alerts("open")
    assert alert["count"] > 4
    assert watched.told == [("alert.opened", "late")]
    await watched.ping()
    assert await outcomes(watched) == ["missed"] * 5
    await watched.wait(3)
    assert watched.told[-1] == ("alert.resolved", "late")


async def test_a_ping_after_a_long_silence_leaves_nothing_out(watched: Watched) -> None:
    """Also what no check has seen, because Foliot was down."""
    await watched.create(interval_seconds=600)
    await watched.ping()
    watched.world.clock.advance(3 * 600 + 30)
    await watched.ping()
    assert await outcomes(watched) == ["missed", "missed", "answered"]
    await watched.wait(600)
    await watched.ping("fail")
    assert await outcomes(watched) == ["missed", "missed", "answered", "failed"]


async def test_a_monitor_of_another_type_of_row_is_left_out(watched: Watched) -> None:
    """A filter selects schedules, and tags and queues are those of schedules."""
    await watched.create()
    await watched.ping()
    for query in ("?group_by=queue", "?q=name:Backup"):
        assert (await watched.client.get(f"/api/timeline{query}")).json["groups"] == []


async def test_old_entries_are_pruned(watched: Watched) -> None:
    await watched.create()
    await watched.ping()
    await watched.wait(4200)
    await watched.ping()
    await watched.wait(4200)
    async with watched.world.store.begin() as tx:
        await SqlMonitors(tx).prune(watched.world.clock.now() - timedelta(seconds=4200))
    assert await outcomes(watched) == ["missed"]


async def test_a_monitor_that_is_deleted_leaves_no_entries(watched: Watched) -> None:
    await watched.create()
    await watched.ping()
    await watched.wait(3600)
    await watched.wait(600)
    assert await outcomes(watched) == ["missed"]
    assert (await watched.client.delete(f"/api/monitors/{watched.monitor['id']}")).status == 204
    assert (await watched.client.get("/api/timeline")).json["groups"] == []
