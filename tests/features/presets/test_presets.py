"""Schedules that presets and code declare: made once, kept as edited, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from foliot import task
from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.core.access import CODE, LOCAL, Caller, Role
from foliot.core.errors import Invalid, InvalidMany, NotFound
from foliot.db.database import Database
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.features.presets.model import all_presets
from foliot.features.presets.usecases import PresetApplied, Presets
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.schedules.usecases.declared import DeclarationOutcome
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tasks.actor import Declarer
from foliot.testing import GivenActions, StoppedClock
from foliot.wakeups.feed import MemoryFeed
from tests.taskbook import catalogue, run_task

NAME = "price-monitoring"
MONDAY = datetime(2027, 1, 4, 12, tzinfo=UTC)
PRODUCTS = [{"competitor": "amazon", "product": "kettle", "url": "https://shop.test/kettle"}]


def opened(store: Database, *functions: Any) -> tuple[UseCases, StoppedClock, Declarer]:
    clock = StoppedClock(MONDAY)
    known = catalogue(store, clock, *functions)
    actions = GivenActions.of(run_task(known))
    cases = use_cases(store, clock, MemoryFeed(), actions, tasks=known, presets=all_presets())
    return cases, clock, Declarer(store=store, tasks=known, declaring=cases[Presets].declaring)


async def schedules(cases: UseCases, caller: Caller = LOCAL) -> Sequence[Schedule]:
    return sorted(await cases[Schedules].list(caller, PageRequest(100)), key=lambda one: one.id)


def fates(loaded: PresetApplied) -> dict[str, DeclarationOutcome]:
    return {one.name: one.fate for one in loaded.made}


# --- presets ----------------------------------------------------------------------------------------------------------


async def test_loaded_twice_there_are_the_five_schedules_at_the_right_times(store: Database) -> None:
    cases, clock, _ = opened(store)

    first = await cases[Presets].load(LOCAL, NAME)
    clock.advance(60)
    second = await cases[Presets].load(LOCAL, NAME)

    assert set(fates(first).values()) == {DeclarationOutcome.CREATED}
    assert {one.managed_by for one in await schedules(cases)} == {ManagedBy.PRESET}
    assert set(fates(second).values()) == {DeclarationOutcome.UNCHANGED}
    assert [one.schedule.id for one in first.made] == [one.schedule.id for one in second.made]
    found = {
        one.name: (one.next_at, one.spec.queue, one.action["task"], one.action["parameters"])
        for one in await schedules(cases)
    }
    assert found == {
        "Daily Competitor Scraping": (
            datetime(2027, 1, 5, 8, tzinfo=UTC),
            "scraping",
            "scrape_competitor_prices",
            {"competitor_ids": ["amazon", "walmart", "target"]},
        ),
        "Quick Price Check": (
            datetime(2027, 1, 4, 16, tzinfo=UTC),
            "scraping",
            "scrape_competitor_prices",
            {"competitor_ids": ["amazon"], "top_products_only": True},
        ),
        "Weekly Price Analysis": (
            datetime(2027, 1, 10, 2, tzinfo=UTC),
            "analysis",
            "comprehensive_price_analysis",
            {"competitor_ids": ["amazon", "walmart", "target"]},
        ),
        "Health Check": (datetime(2027, 1, 4, 12, 5, tzinfo=UTC), "monitoring", "health_check_services", {}),
        "Cleanup": (datetime(2027, 1, 11, 3, tzinfo=UTC), "maintenance", "cleanup_old_execution_records", {}),
    }


async def test_loaded_by_many_at_once_there_are_five(store: Database) -> None:
    cases, _, _ = opened(store)

    await asyncio.gather(*(cases[Presets].load(LOCAL, NAME) for _ in range(4)))

    assert len(await schedules(cases)) == 5


async def test_what_somebody_edited_stays_when_it_is_loaded_again_and_when_it_is_unloaded(store: Database) -> None:
    cases, clock, _ = opened(store)
    made = {one.name: one.schedule for one in (await cases[Presets].load(LOCAL, NAME)).made}
    edited, paused, deleted = made["cleanup"], made["health-check"], made["quick-price-check"]
    clock.advance(60)
    await cases[Schedules].patch(LOCAL, edited.id, {"cron_expr": "0 5 * * MON"})
    await cases[Schedules].pause(LOCAL, paused.id)
    await cases[Schedules].delete(LOCAL, deleted.id)

    again = await cases[Presets].load(LOCAL, NAME)

    assert fates(again)["quick-price-check"] is DeclarationOutcome.CREATED, "somebody who loads it again wants it back"
    stands = {one.name: one for one in await schedules(cases)}
    assert len(stands) == 5
    assert stands["Cleanup"].spec.trigger.as_dict()["cron_expr"] == "0 5 * * MON"
    assert stands["Health Check"].status is ScheduleStatus.PAUSED

    gone = await cases[Presets].unload(LOCAL, NAME)

    assert fates(gone)["cleanup"] is DeclarationOutcome.KEPT
    assert [one.name for one in await schedules(cases)] == ["Cleanup"]
    assert fates(await cases[Presets].load(LOCAL, NAME))["cleanup"] is DeclarationOutcome.UNCHANGED
    assert len(await schedules(cases)) == 5

    await cases[Presets].unload(LOCAL, NAME, {"edited": True})
    assert await schedules(cases) == []
    assert (await cases[Presets].unload(LOCAL, NAME)).made == []


async def test_settings_reach_the_tasks_that_take_them_and_stay(store: Database) -> None:
    cases, clock, _ = opened(store)
    await cases[Presets].load(LOCAL, NAME)
    clock.advance(60)

    loaded = await cases[Presets].load(LOCAL, NAME, {"settings": {"products": PRODUCTS}})

    assert {name for name, fate in fates(loaded).items() if fate is DeclarationOutcome.UPDATED} == {
        "daily-competitor-scraping",
        "quick-price-check",
    }
    clock.advance(60)
    assert set(fates(await cases[Presets].load(LOCAL, NAME)).values()) == {DeclarationOutcome.UNCHANGED}
    daily = next(one for one in await schedules(cases) if one.name == "Daily Competitor Scraping")
    assert daily.action["parameters"] == {"competitor_ids": ["amazon", "walmart", "target"], "products": PRODUCTS}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"settings": {"prodcuts": []}}, "settings.prodcuts"),
        ({"settings": {"products": None}}, "settings.products"),
        ({"settings": {"products": [{"competitor": "a"}]}}, "action.parameters.products.0.product"),
        ({"products": []}, "products"),
    ],
)
async def test_wrong_settings_change_nothing(store: Database, body: dict[str, Any], field: str) -> None:
    cases, _, _ = opened(store)

    with pytest.raises(Invalid) as caught:
        await cases[Presets].load(LOCAL, NAME, body)

    each = caught.value.errors if isinstance(caught.value, InvalidMany) else [caught.value]
    assert field in {one.field for one in each}
    assert await schedules(cases) == []


async def test_each_tenant_has_its_own_and_none_gets_what_is_the_houses(store: Database) -> None:
    cases, _, _ = opened(store)
    other = Caller("acme", "anna", Role.OPERATOR)

    await cases[Presets].load(LOCAL, NAME)
    loaded = await cases[Presets].load(other, NAME)

    assert "health-check" not in fates(loaded)
    assert len(await schedules(cases)) == 5
    assert len(await schedules(cases, other)) == 4
    await cases[Presets].unload(other, NAME)
    assert len(await schedules(cases)) == 5


async def test_an_unknown_preset(store: Database) -> None:
    cases, _, _ = opened(store)

    with pytest.raises(NotFound):
        await cases[Presets].load(LOCAL, "no-such")


# --- code -------------------------------------------------------------------------------------------------------------


def declared(cron: str) -> Any:
    @task(
        "my_custom_task", schedule=cron, queue="custom", retries=3, parameters={"param1": "param_value", "param2": 42}
    )
    async def my_custom_task(param1: str, param2: int) -> None:
        """Custom task implementation."""

    return my_custom_task


async def test_a_declared_schedule_is_made_at_the_start_and_follows_the_code(store: Database) -> None:
    cases, clock, declarer = opened(store, declared("30 14 * * *"))
    await declarer.run_once()
    await declarer.run_once()

    (made,) = await schedules(cases)
    assert (made.name, made.user_id, made.spec.queue, made.spec.retry.max_retries) == (
        "my_custom_task",
        CODE.user_id,
        "custom",
        3,
    )
    assert (made.next_at, made.managed_by) == (datetime(2027, 1, 4, 14, 30, tzinfo=UTC), ManagedBy.CODE)
    assert made.action["parameters"] == {"param1": "param_value", "param2": 42}

    later, clock, declarer = opened(store, declared("0 15 * * *"))
    clock.advance(60)
    await declarer.run_once()

    (moved,) = await schedules(later)
    assert (moved.id, moved.next_at) == (made.id, datetime(2027, 1, 4, 15, tzinfo=UTC))


async def test_what_somebody_edited_beats_the_code_and_what_they_deleted_stays_deleted(
    store: Database, logged: list[MutableMapping[str, Any]]
) -> None:
    cases, _, declarer = opened(store, declared("30 14 * * *"))
    await declarer.run_once()
    (made,) = await schedules(cases)
    await cases[Schedules].patch(LOCAL, made.id, {"queue": "mine"})

    cases, clock, declarer = opened(store, declared("0 15 * * *"))
    clock.advance(60)
    await declarer.run_once()

    (stands,) = await schedules(cases)
    assert (stands.spec.queue, stands.spec.trigger.as_dict()["cron_expr"]) == ("mine", "30 14 * * *")
    assert [entry["task"] for entry in logged if entry.get("action") == "declared_kept"] == ["my_custom_task"]

    await cases[Schedules].delete(LOCAL, made.id)
    await declarer.run_once()
    assert await schedules(cases) == []


async def test_a_paused_one_stays_paused_when_the_code_changes(store: Database) -> None:
    cases, _, declarer = opened(store, declared("30 14 * * *"))
    await declarer.run_once()
    (made,) = await schedules(cases)
    await cases[Schedules].pause(LOCAL, made.id)

    cases, clock, declarer = opened(store, declared("0 15 * * *"))
    clock.advance(60)
    await declarer.run_once()

    (stands,) = await schedules(cases)
    assert (stands.status, stands.spec.trigger.as_dict()["cron_expr"]) == (ScheduleStatus.PAUSED, "0 15 * * *")


async def test_processes_that_start_together_make_it_once(store: Database) -> None:
    several = [opened(store, declared("30 14 * * *")) for _ in range(4)]

    await asyncio.gather(*(declarer.run_once() for _, _, declarer in several))

    assert len(await schedules(several[0][0])) == 1


async def test_a_declaration_that_is_wrong_is_said_and_spoils_no_other(
    store: Database, logged: list[MutableMapping[str, Any]]
) -> None:
    @task("wrong", schedule="99 * * * *")
    async def wrong() -> None: ...

    cases, _, declarer = opened(store, wrong, declared("30 14 * * *"))
    await declarer.run_once()

    assert [one.name for one in await schedules(cases)] == ["my_custom_task"]
    (said,) = declarer.troubles
    assert said.startswith("task wrong: its schedule cannot be created: cron_expr: ")
    assert [entry["task"] for entry in logged if entry.get("action") == "declared_wrong"] == ["wrong"]


async def test_a_field_that_a_newer_foliot_adds_is_no_edit(store: Database) -> None:
    cases, _, declarer = opened(store, declared("30 14 * * *"))
    await declarer.run_once()
    async with store.begin("default") as tx:
        (one,) = await SqlDeclarations(tx).of("default", "code")
        older = {name: value for name, value in one.made.items() if name != "priority"}
        await SqlDeclarations(tx).put(replace(one, made=older))

    cases, clock, declarer = opened(store, declared("0 15 * * *"))
    clock.advance(60)
    await declarer.run_once()

    (stands,) = await schedules(cases)
    assert stands.spec.trigger.as_dict()["cron_expr"] == "0 15 * * *"
