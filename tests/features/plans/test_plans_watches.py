"""Watches in files: created, changed, paused and deleted as the files say; hand edits are left alone."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, Forbidden, InvalidMany
from foliot.db.database import Database
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.features.plans.usecases.plans import Plan, Plans
from foliot.features.watches.schema.watches import WatchDetail
from foliot.features.watches.usecases.watches import Watches, WatchView
from foliot.servers.http import encode
from tests.world import HOURLY, World

PRICES: dict[str, Any] = {
    "name": "Prices",
    "urls": ["https://shop.example/1"],
    "fields": {"price": {"css": ".price", "type": "price"}},
    "when": "drops(price, 10%)",
    "schedule": {"type": "interval", "interval_seconds": 3600},
}
NEWS: dict[str, Any] = {"name": "News", "feed": "https://news.example/rss", "revisit": {"budget": "60/hour"}}


@pytest.fixture
def world(store: Database) -> World:
    return World.on(store)


def asked(*watches: Any, schedules: Any = (), **more: Any) -> dict[str, Any]:
    return {"file": "shop", "documents": {"watches": list(watches), "schedules": list(schedules)}, **more}


async def planned(world: World, *watches: Any, **more: Any) -> Plan:
    return await world.cases[Plans].plan(LOCAL, asked(*watches, **more))


async def applied(world: World, *watches: Any, **more: Any) -> Plan:
    plan = await planned(world, *watches, **more)
    return await world.cases[Plans].apply(LOCAL, asked(*watches, **more, digest=plan.digest))


def acts(plan: Plan) -> dict[tuple[str, str], str]:
    return {(one.thing, one.name): one.act.value for one in plan.changes}


async def watches(world: World) -> dict[str, WatchView]:
    return {view.watch.settings.name: view for view in await world.cases[Watches].list(LOCAL, PageRequest(100))}


async def test_a_file_with_watches_and_schedules_applied_twice_changes_nothing_the_second_time(world: World) -> None:
    first = await applied(world, PRICES, NEWS, schedules=[HOURLY])
    made = await watches(world)
    again = await planned(world, PRICES, NEWS, schedules=[HOURLY])
    assert acts(first) == {
        ("watches", "Prices"): "create",
        ("watches", "News"): "create",
        ("schedules", "Hourly"): "create",
    }
    assert set(acts(again).values()) == {"none"}
    assert {view.schedule.status for view in made.values() if view.schedule} == {ScheduleStatus.ACTIVE}
    assert made["Prices"].watch.settings.when == "drops(price, 10%)"


async def test_what_get_shows_can_be_kept_as_a_file(world: World) -> None:
    view = await world.cases[Watches].create(LOCAL, {**PRICES, "expect": {"errors": "<= 5"}, "keep_pages": "30d"})
    shown = orjson.loads(encode.dumps(WatchDetail.of(view, "http://here")))
    (change,) = (await planned(world, shown)).changes
    assert (change.act.value, change.fields) == ("none", ())


async def test_a_changed_document_changes_the_watch_and_an_edit_by_hand_is_left_alone(world: World) -> None:
    await applied(world, PRICES)
    plan = await applied(world, {**PRICES, "when": "price < 30", "paused": True})
    (change,) = plan.changes
    assert {one.field: one.becomes for one in change.fields} == {"when": "price < 30", "paused": True}
    view = (await watches(world))["Prices"]
    assert view.schedule is not None
    assert (view.watch.settings.when, view.schedule.status) == ("price < 30", ScheduleStatus.PAUSED)
    await world.cases[Watches].change(LOCAL, view.watch.id, {"when": "price < 25"})
    wanted = {**PRICES, "when": "price < 30", "paused": True}
    (drift,) = (await applied(world, wanted)).changes
    assert (drift.act.value, [(one.field, one.by_hand) for one in drift.fields]) == ("drift", [("when", True)])
    assert (await watches(world))["Prices"].watch.settings.when == "price < 25"
    await applied(world, {**wanted, "paused": False}, overwrite=True)
    view = (await watches(world))["Prices"]
    assert view.schedule is not None
    assert (view.watch.settings.when, view.schedule.status) == ("price < 30", ScheduleStatus.ACTIVE)


async def test_what_a_file_no_longer_contains_is_deleted_by_prune_alone(world: World) -> None:
    await applied(world, PRICES, NEWS)
    kept = await planned(world, NEWS)
    assert acts(kept) == {("watches", "News"): "none", ("watches", "Prices"): "none"}
    await applied(world, NEWS, prune=True)
    assert set(await watches(world)) == {"News"}
    assert acts(await planned(world, NEWS, prune=True)) == {("watches", "News"): "none"}


async def test_a_watch_that_was_edited_since_the_plan_refuses_it(world: World) -> None:
    await applied(world, PRICES)
    wanted = {**PRICES, "when": "price < 30"}
    plan = await planned(world, wanted)
    world.clock.advance(1)
    await world.cases[Watches].change(LOCAL, (await watches(world))["Prices"].watch.id, {"tags": ["mine"]})
    with pytest.raises(Conflict, match="plan again"):
        await world.cases[Plans].apply(LOCAL, asked(wanted, digest=plan.digest))


async def test_faults_name_their_places(world: World) -> None:
    wrong = [PRICES, PRICES, {**NEWS, "when": "prise < 3"}, {"name": "x"}, {**NEWS, "name": "y", "status": "gone"}]
    with pytest.raises(InvalidMany) as caught:
        await planned(world, *wrong)
    assert {one.field for one in caught.value.errors} == {
        "watches[0].name", "watches[1].name", "watches[2].when", "watches[3].urls", "watches[3].schedule",
        "watches[4].status",
    }  # fmt: skip


async def test_who_may_not_write_watches_applies_none(world: World) -> None:
    reader = Caller(LOCAL.tenant_id, "reader", Role.VIEWER, LOCAL.interface)
    plan = await world.cases[Plans].plan(reader, asked(PRICES))
    with pytest.raises(Forbidden):
        await world.cases[Plans].apply(reader, asked(PRICES, digest=plan.digest))
    other = Caller("other", "eve", Role.ADMIN, LOCAL.interface)
    await applied(world, PRICES)
    assert acts(await world.cases[Plans].plan(other, asked(PRICES))) == {("watches", "Prices"): "create"}
