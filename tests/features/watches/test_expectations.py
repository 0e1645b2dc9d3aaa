"""Expectations of watches: a site that shows an empty template degrades the run, with one alert and one recovery."""

from __future__ import annotations

from typing import Any

import pytest

from tests.asgi import Client
from tests.features.alerts.alerting import Alerting
from tests.features.watches.test_watches import SHOP, Watched, product
from tests.givens import runs_of
from tests.world import World

FIELDS = {
    "price": {"css": ".price", "type": "price", "optional": True},
    "title": {"css": "h1", "optional": True},
    "day": {"css": "time", "type": "date", "optional": True},
}
URLS = [f"{SHOP}/{number}" for number in range(10)]


@pytest.fixture
def watched(world: World, client: Client) -> Watched:
    return Watched(world, client)


def stock(watched: Watched, *, empty: bool = False) -> None:
    for number in range(10):
        body = "<h1>Shop</h1>" if empty else product(f"{number + 1}.00 €", f"Product {number}")
        watched.site.write(f"/{number}", body)


async def test_an_empty_template_degrades_the_run_with_one_alert_and_one_recovery(
    watched: Watched, world: World, client: Client
) -> None:
    alerting = Alerting.on(world, client)
    channel = await alerting.channel()
    await alerting.rule(channel, on=["degraded"], after={"in_a_row": 1})
    expect = {"items_vs_baseline": ">= 60%", "coverage": {"price": "90%"}, "schema": {"price": "number"}}
    watch = await watched.create(urls=URLS, fields=FIELDS, expect=expect)
    after = {"type": "after", "after": {"schedule": watch["schedule_id"], "outcome": "success"}}
    follow = await client.post(
        "/api/schedules",
        {"name": "use it", **after, "overlap": "allow_all", "action": {"kind": "webhook", "url": f"{SHOP}/use"}},
    )
    assert follow.status == 201, follow.text
    states = []
    for run in range(1, 9):
        stock(watched, empty=run in {6, 7})
        states.append((await watched.pass_time())["state"])
        await alerting.send()
    assert states == ["success"] * 5 + ["degraded"] * 2 + ["success"]
    assert alerting.receiver.types == ["alert.opened", "alert.resolved"]
    opened = alerting.receiver.documents[0]["alert"]
    assert "coverage.price: 0%, expected >= 90%, usually 100%" in opened["reason"]
    followers = await runs_of(world.store, schedule_id=follow.json["id"])
    assert len(followers) == 6, "what follows a success does not follow a degraded run"


async def test_pages_that_say_the_same_are_duplicates_and_dates_grow_old(watched: Watched) -> None:
    expect = {"duplicates": "<= 20%", "freshness": {"field": "day", "within": "2d"}}
    await watched.create(urls=URLS, fields=FIELDS, expect=expect)
    today = watched.world.clock.now().date().isoformat()
    for number in range(10):
        watched.site.write(f"/{number}", f"<h1>Product {number}</h1><time>{today}</time>")
    assert (await watched.pass_time())["state"] == "success"
    for number in range(5):
        watched.site.write(f"/{number}", f"<h1>Welcome</h1><time>{today}</time>")
    run = await watched.pass_time()
    assert run["state"] == "degraded"
    broken = [one["expectation"] for one in run["verdict"] if one["met"] is False]
    assert broken == ["duplicates"]
    run = await watched.pass_time(3 * 86_400)
    assert [one["expectation"] for one in run["verdict"] if one["met"] is False] == ["duplicates", "freshness"]


@pytest.mark.parametrize("name", ["items", "items_vs_baseline", "duration"])
async def test_runs_that_visit_only_what_is_due_have_no_number_of_items(watched: Watched, name: str) -> None:
    bound = {"items": ">= 5", "items_vs_baseline": ">= 60%", "duration": "<= 30m"}[name]
    document: dict[str, Any] = {"name": "due", "urls": URLS, "expect": {name: bound}, "revisit": {"budget": "60/hour"}}
    answer = await watched.client.post("/api/watches", document)
    assert answer.status == 422
    assert [error["field"] for error in answer.json["errors"]] == [f"expect.{name}"]
    document["expect"] = {"coverage": {"text": "90%"}, "errors": "<= 5"}
    assert (await watched.client.post("/api/watches", document)).status == 201


async def test_a_watch_without_expectations_has_its_numbers_and_suggestions(watched: Watched) -> None:
    watch = await watched.create(urls=URLS, fields=FIELDS)
    for run in range(6):
        stock(watched)
        if run == 3:
            watched.site.write("/0", "<h1>Internal error</h1>", 500)
        await watched.pass_time()
    quality = await watched.get(f"/api/schedules/{watch['schedule_id']}/quality")
    assert [(run["facts"]["items"], run["facts"]["errors"]) for run in quality["items"]] == [
        (10, 0), (10, 0), (9, 1), (10, 0), (10, 0), (10, 0),
    ]  # fmt: skip
    assert quality["baseline"] == {"median": 10, "low": 9, "high": 10}
    assert quality["bands"]["errors"] == {"median": 0, "low": 0, "high": 1}
    assert {one["expectation"]: one["value"] for one in quality["suggestions"]} == {
        "items": ">= 8", "items_vs_baseline": ">= 60%", "errors": "<= 6",
    }  # fmt: skip
