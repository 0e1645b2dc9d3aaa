"""Plans on every database: what differs is shown field by field, applied once, and hand edits are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.core.access import LOCAL
from foliot.core.errors import Conflict, Invalid, InvalidMany
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.features.audit_log.chain import ChainVerifier
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.plans.schema import PlanAnswer
from foliot.features.plans.usecases import plans
from foliot.features.plans.usecases.plans import Plan, Plans
from foliot.features.schedules.usecases.schedules import Schedules
from tests.asgi import Client
from tests.declared import conforms
from tests.world import EVERY_MINUTE, HOURLY, World

SECRET = {"url": "https://example.com/hook", "headers": {"Authorization": "Bearer 0123456789abcdef"}}


@pytest.fixture
def world(store: Database) -> World:
    return World.on(store)


def asked(*documents: Any, **more: Any) -> dict[str, Any]:
    return {"file": "prices", "documents": {"schedules": list(documents)}, **more}


async def planned(world: World, *documents: Any, **more: Any) -> Plan:
    return await world.cases[Plans].plan(LOCAL, asked(*documents, **more))


async def applied(world: World, *documents: Any, **more: Any) -> Plan:
    plan = await planned(world, *documents, **more)
    return await world.cases[Plans].apply(LOCAL, asked(*documents, **more, digest=plan.digest))


def acts(plan: Plan) -> dict[str, str]:
    return {one.name: one.act.value for one in plan.changes}


def fields(plan: Plan) -> dict[str, tuple[Any, Any, bool]]:
    return {one.field: (one.was, one.becomes, one.by_hand) for change in plan.changes for one in change.fields}


async def schedules(world: World) -> dict[str, Schedule]:
    return {one.name: one for one in await world.cases[Schedules].list(LOCAL, PageRequest(500))}


async def test_a_file_applied_twice_changes_nothing_the_second_time(world: World) -> None:
    documents = (HOURLY, {**EVERY_MINUTE, "tags": ["a", "b"]}, {**HOURLY, "name": "H", "cron_expr": "H * * * *"})

    first = await applied(world, *documents)
    made = await schedules(world)
    again = await planned(world, *documents)
    second = await applied(world, *documents)

    assert set(acts(first).values()) == {"create"}
    assert {one.managed_by for one in made.values()} == {"file:prices"}
    assert set(acts(again).values()) == set(acts(second).values()) == {"none"}
    assert await schedules(world) == made
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []


async def test_planning_writes_nothing(world: World) -> None:
    await planned(world, HOURLY)
    assert await schedules(world) == {}


async def test_a_change_in_the_file_is_shown_and_applied_field_by_field(world: World) -> None:
    await applied(world, HOURLY, EVERY_MINUTE)
    was = (await schedules(world))["Often"]
    changed = {**HOURLY, "cron_expr": "30 * * * *", "payload": {"url": "https://example.com/other"}}

    plan = await applied(world, changed, EVERY_MINUTE)

    assert acts(plan) == {"Hourly": "change", "Often": "none"}
    assert fields(plan) == {
        "cron_expr": ("0 * * * *", "30 * * * *", False),
        "action.url": ("https://example.com/hook", "https://example.com/other", False),
    }
    now = await schedules(world)
    assert (now["Hourly"].spec.trigger.as_dict()["cron_expr"], now["Hourly"].version) == ("30 * * * *", 2)
    assert now["Often"] == was
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []


async def test_an_edit_by_hand_is_drift_and_not_overwritten_unless_asked(world: World) -> None:
    await applied(world, HOURLY)
    mine = (await schedules(world))["Hourly"]
    await world.cases[Schedules].patch(LOCAL, mine.id, {"cron_expr": "15 * * * *"})
    newer = {**HOURLY, "tags": ["new"]}

    plan = await applied(world, newer)

    assert acts(plan) == {"Hourly": "drift"}
    assert fields(plan) == {"cron_expr": ("15 * * * *", "0 * * * *", True), "tags": ([], ["new"], False)}
    assert (await schedules(world))["Hourly"].spec.trigger.as_dict()["cron_expr"] == "15 * * * *"

    forced = await applied(world, newer, overwrite=True)

    assert acts(forced) == {"Hourly": "change"}
    now = (await schedules(world))["Hourly"]
    assert (now.spec.trigger.as_dict()["cron_expr"], now.tags) == ("0 * * * *", ("new",))
    assert acts(await planned(world, newer)) == {"Hourly": "none"}


async def test_an_edit_by_hand_that_the_file_adopts_is_no_drift(world: World) -> None:
    await applied(world, HOURLY)
    mine = (await schedules(world))["Hourly"]
    await world.cases[Schedules].patch(LOCAL, mine.id, {"cron_expr": "15 * * * *"})
    adopted = {**HOURLY, "cron_expr": "15 * * * *"}

    assert acts(await applied(world, adopted)) == {"Hourly": "none"}
    assert acts(await applied(world, {**HOURLY, "cron_expr": "20 * * * *"})) == {"Hourly": "change"}


async def test_pausing_by_hand_is_no_drift_unless_the_file_says_otherwise(world: World) -> None:
    await applied(world, HOURLY, {**EVERY_MINUTE, "status": "active"})
    for one in (await schedules(world)).values():
        await world.cases[Schedules].pause(LOCAL, one.id, {"reason": "maintenance"})

    plan = await planned(world, HOURLY, {**EVERY_MINUTE, "status": "active"})

    assert acts(plan) == {"Hourly": "none", "Often": "drift"}
    assert fields(plan) == {"status": ("paused", "active", True)}


async def test_a_file_pauses_and_resumes(world: World) -> None:
    await applied(world, {**HOURLY, "paused": True, "paused_reason": "not yet"})
    asleep = (await schedules(world))["Hourly"]
    await applied(world, {**HOURLY, "paused": False})
    awake = (await schedules(world))["Hourly"]
    paused = await applied(world, {**HOURLY, "status": "paused"})

    assert (asleep.status, asleep.paused_reason, asleep.next_at) == (ScheduleStatus.PAUSED, "not yet", None)
    assert awake.status is ScheduleStatus.ACTIVE
    assert awake.next_at is not None
    assert fields(paused) == {"status": ("active", "paused", False)}
    assert (await schedules(world))["Hourly"].paused_by == LOCAL.user_id
    assert (await world.cases[LedgerVerifier].prove(LOCAL)).holes == []


async def test_what_a_file_no_longer_contains_is_deleted_only_with_prune(world: World) -> None:
    await applied(world, HOURLY, EVERY_MINUTE)

    assert acts(await applied(world, HOURLY)) == {"Hourly": "none", "Often": "none"}
    edited = (await schedules(world))["Often"]
    await world.cases[Schedules].patch(LOCAL, edited.id, {"tags": ["mine"]})
    assert acts(await applied(world, HOURLY, prune=True)) == {"Hourly": "none", "Often": "drift"}
    assert acts(await applied(world, HOURLY, prune=True, overwrite=True)) == {"Hourly": "none", "Often": "delete"}
    assert set(await schedules(world)) == {"Hourly"}
    assert acts(await planned(world, HOURLY, prune=True)) == {"Hourly": "none"}


async def test_a_schedule_deleted_by_hand_is_not_created_again_unless_asked(world: World) -> None:
    await applied(world, HOURLY)
    await world.cases[Schedules].delete(LOCAL, (await schedules(world))["Hourly"].id)

    assert acts(await applied(world, HOURLY)) == {"Hourly": "drift"}
    assert await schedules(world) == {}
    assert acts(await applied(world, HOURLY, overwrite=True)) == {"Hourly": "create"}


async def test_a_schedule_of_the_same_name_is_adopted_and_one_of_another_file_is_not(world: World) -> None:
    mine = await world.cases[Schedules].create(LOCAL, HOURLY)

    plan = await applied(world, HOURLY)

    assert fields(plan) == {"managed_by": ("api", "file:prices", False)}
    assert (await schedules(world))["Hourly"].id == mine.id
    with pytest.raises(Invalid, match="is managed by file:prices"):
        await world.cases[Plans].plan(LOCAL, {**asked(HOURLY), "file": "other"})
    await world.cases[Schedules].create(LOCAL, EVERY_MINUTE)
    await world.cases[Schedules].create(LOCAL, EVERY_MINUTE)
    with pytest.raises(Invalid, match="is the name of 2 schedules"):
        await planned(world, EVERY_MINUTE)


async def test_a_schedule_that_was_taken_over_is_left_to_the_person(world: World) -> None:
    await applied(world, HOURLY)
    taken = await world.cases[Plans].take_over(LOCAL, (await schedules(world))["Hourly"].id)

    plan = await applied(world, {**HOURLY, "tags": ["new"]})

    assert taken.managed_by == "api"
    assert acts(plan) == {"Hourly": "drift"}
    assert fields(plan)["managed_by"] == ("api", "file:prices", True)
    assert acts(await applied(world, {**HOURLY, "tags": ["new"]}, overwrite=True)) == {"Hourly": "change"}
    assert (await schedules(world))["Hourly"].managed_by == "file:prices"
    mine = await world.cases[Schedules].create(LOCAL, EVERY_MINUTE)
    with pytest.raises(Conflict, match="is not managed by a file"):
        await world.cases[Plans].take_over(LOCAL, mine.id)


async def test_a_plan_is_refused_when_something_has_changed_since(world: World) -> None:
    await applied(world, HOURLY)
    newer = {**HOURLY, "tags": ["new"]}
    plan = await planned(world, newer)
    await world.cases[Schedules].patch(LOCAL, (await schedules(world))["Hourly"].id, {"priority": 1})

    with pytest.raises(Conflict, match="plan again"):
        await world.cases[Plans].apply(LOCAL, asked(newer, digest=plan.digest))

    assert (await schedules(world))["Hourly"].tags == ()


async def test_credentials_are_compared_and_never_shown(world: World) -> None:
    document = {**HOURLY, "payload": SECRET}
    await applied(world, document)
    other = {**SECRET, "headers": {"Authorization": "Bearer another-one-of-them"}}

    assert acts(await planned(world, document)) == {"Hourly": "none"}
    plan = await applied(world, {**HOURLY, "payload": other})
    assert fields(plan) == {"action.headers.Authorization": ("***", "***", False)}
    assert acts(await planned(world, {**HOURLY, "payload": other})) == {"Hourly": "none"}


async def test_schedules_of_a_file_follow_each_other_in_any_order(world: World) -> None:
    after = {"name": "Second", "type": "after", "after": {"schedule": "Hourly"}, "payload": HOURLY["payload"]}

    await applied(world, after, HOURLY)

    made = await schedules(world)
    follows = made["Second"].spec.trigger.follows
    assert follows is not None
    assert follows.parents == (made["Hourly"].id,)
    assert set(acts(await planned(world, after, HOURLY)).values()) == {"none"}
    with pytest.raises(Invalid, match="would create a cycle"):
        await planned(world, after, {**after, "name": "Hourly", "after": {"schedule": "Second"}})
    with pytest.raises(Invalid, match="neither in these documents"):
        await planned(world, {**after, "after": {"schedule": "Thrid"}})


async def test_every_fault_is_named_with_its_place(world: World) -> None:
    with pytest.raises(InvalidMany) as refused:
        await planned(world, HOURLY, {**HOURLY, "cron_expr": "never"}, {"name": "Other", "typ": "cron"}, 5)

    faults = [one.field for one in refused.value.errors]
    assert faults[0] == "schedules[3]"
    assert {"schedules[0].name", "schedules[1].name", "schedules[1].cron_expr", "schedules[2].typ"} <= set(faults)


async def test_offsets_are_shown_applied_and_kept_by_later_plans(world: World) -> None:
    crowd = [{**EVERY_MINUTE, "name": f"s{n}", "type": "cron", "cron_expr": "* * * * *"} for n in range(4)]
    crowd = [{name: value for name, value in one.items() if name != "interval_seconds"} for one in crowd]

    plan = await planned(world, *crowd, spread=True)
    body = asked(*crowd, digest=plan.digest, offsets=dict(plan.offsets))
    await world.cases[Plans].apply(LOCAL, body)

    made = {one.spec.trigger.as_dict()["cron_expr"] for one in (await schedules(world)).values()}
    again, spread_again = await planned(world, *crowd), await planned(world, *crowd, spread=True)
    assert made == {"* * * * *", "1 * * * * *", "2 * * * * *", "3 * * * * *"}
    assert (set(acts(again).values()), set(acts(spread_again).values())) == ({"none"}, {"none"})
    assert plan.simulation is not None
    assert again.simulation is not None
    assert plan.simulation.queues["default"].after.count == again.simulation.queues["default"].before.count == 1
    edited = {**crowd[0], "cron_expr": "*/2 * * * *"}
    assert acts(await planned(world, edited, *crowd[1:])) == {"s0": "change", "s1": "none", "s2": "none", "s3": "none"}


async def test_a_new_schedule_is_forecast_with_the_median_of_its_kind_and_told(world: World) -> None:
    plan = await planned(world, HOURLY)

    assert plan.simulation is not None
    assert plan.simulation.queues["default"].after.count == 1
    assert plan.simulation.queues["default"].before.count == 0
    assert "1 schedule has no ended run" in plan.simulation.notes[0]


async def test_more_changes_than_fit_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "CHUNK", 3)
    documents = [{**HOURLY, "name": f"Hourly {number}"} for number in range(10)]

    await applied(world, *documents)
    await applied(world, *({**one, "priority": 2} for one in documents))

    assert {one.spec.priority for one in (await schedules(world)).values()} == {2}
    assert set(acts(await planned(world, *({**one, "priority": 2} for one in documents))).values()) == {"none"}
    assert list((await world.cases[ChainVerifier].verify(LOCAL)).breaks) == []


async def test_the_routes_answer_as_declared_and_a_repeated_request_is_answered_once(world: World) -> None:
    client = Client(create_app(world.cases))
    plan = await client.post("/api/plan", asked(HOURLY))
    body = asked(HOURLY, digest=plan.json["digest"])

    first = await client.post("/api/plan/apply", body, Idempotency_Key="one")
    again = await client.post("/api/plan/apply", body, Idempotency_Key="one")
    other = await client.post("/api/plan/apply", body, Idempotency_Key="two")

    assert (plan.status, first.status, again.status, other.status) == (200, 200, 200, 409)
    conforms(PlanAnswer, plan.json)
    assert plan.json["counts"] == {"create": 1, "change": 0, "delete": 0, "none": 0, "drift": 0}
    assert first.json == again.json
    assert (await client.post("/api/plan", asked({**HOURLY, "cron_expr": 5}))).json["errors"][0]["field"] == (
        "schedules[0].cron_expr"
    )
