"""Lists of schedules in an order: page by page what sorting everything in Python gives, on every database."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from foliot.core.access import LOCAL
from foliot.core.errors import Invalid
from foliot.core.time.trigger import FixedInterval
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.schedule_sort import SORTS, read_sort
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.tables import schedule_stats
from foliot.features.filters.usecases import Search
from tests.givens import HOUR, MINUTE, NOON, SECOND, ask, keep, request, schedule, spec
from tests.world import World

DAY = timedelta(days=1)
Stats = dict[str, Any]


async def crowd(world: World) -> tuple[list[Schedule], dict[str, Stats], set[str]]:
    """Schedules of every kind of trouble, several of each with equal values."""
    dice = random.Random(7)
    made, stats = [], dict[str, Stats]()
    now = world.clock.now()
    for place in range(60):
        status = dice.choice([ScheduleStatus.ACTIVE] * 5 + [ScheduleStatus.PAUSED, ScheduleStatus.COMPLETED])
        soon = now + dice.choice([-HOUR, -2 * MINUTE, 3 * MINUTE, HOUR, 2 * HOUR])
        one = schedule(
            spec(FixedInterval(3600, NOON)),
            tenant_id=LOCAL.tenant_id,
            name=dice.choice(["Zebra", "apple", "Äpfel", "apple pie", "x" * 60]) + str(place % 3),
            status=status,
            next_at=soon if status is ScheduleStatus.ACTIVE else None,
            last_run_at=dice.choice([None, now - HOUR, now - 2 * DAY]),
            tags=("odd",) if place % 2 else (),
        )
        made.append(one)
        if place % 3:
            stats[one.id] = {
                "schedule_id": one.id,
                "tenant_id": LOCAL.tenant_id,
                "took_ms": dice.choice([None, 5, 10, 900]),
                "failing_at": dice.choice([None, None, now - HOUR, now - MINUTE]),
                "missed_at": dice.choice([None, None, now - HOUR, now - 3 * DAY]),
            }
    other = schedule(tenant_id="other", name="not ours")
    await keep(world.store, *made, other)
    busy = {one.id for one in made[::7]}
    await ask(world.store, now, *(request(tenant_id=LOCAL.tenant_id, schedule_id=one, version=1) for one in busy))
    async with world.store.begin() as tx:
        await tx.conn.execute(insert(schedule_stats), list(stats.values()))
    # A requested run is the last run of its schedule.
    stored = await world.cases[Search].schedules(LOCAL, PageRequest(100), world.cases[Search].read_schedules(""))
    return list(stored), stats, busy


def by_value(schedules: list[Schedule], value: Callable[[Schedule], Any], *, down: bool) -> list[str]:
    """By a value and then by id; those without one at the end, newest first."""
    there = sorted((one for one in schedules if value(one) is not None), key=lambda one: one.id)
    there.sort(key=value, reverse=down)
    nothing = sorted((one.id for one in schedules if value(one) is None), reverse=True)
    return [*(one.id for one in there), *nothing]


def by_urgency(schedules: list[Schedule], stats: dict[str, Stats], busy: set[str], now: datetime) -> list[str]:
    def rank(one: Schedule) -> tuple[Any, ...]:
        its = stats.get(one.id, {})
        newest = tuple(-ord(letter) for letter in one.id)
        lately = one.last_run_at is not None and one.last_run_at >= now - DAY
        alive = one.status is ScheduleStatus.ACTIVE or (one.status is ScheduleStatus.COMPLETED and lately)
        if its.get("failing_at") and alive:
            return 0, -its["failing_at"].timestamp(), one.id
        if its.get("missed_at") and its["missed_at"] >= now - DAY and one.status is ScheduleStatus.ACTIVE:
            return 1, -its["missed_at"].timestamp(), one.id
        if one.next_at is not None and one.next_at < now - MINUTE:
            return 2, one.next_at.timestamp(), one.id
        if one.id in busy:
            return (3, one.next_at.timestamp(), one.id) if one.next_at else (4, newest)
        return (5, one.next_at.timestamp(), one.id) if one.next_at else (6, newest)

    return [one.id for one in sorted(schedules, key=rank)]


async def listed(world: World, sort: str, q: str = "", size: int = 7) -> list[str]:
    """All pages."""
    search, found, cursor = world.cases[Search], list[str](), None
    while True:
        page = await search.sorted_schedules(
            LOCAL, PageRequest(size, cursor), search.read_schedules(q), read_sort(sort)
        )
        found += [one.id for one, _ in page]
        if len(page) < size:
            return found
        cursor = page[-1][1]
        # A page is of the moment at which the list was begun.
        world.clock.advance(SECOND)


async def test_every_order_is_that_of_all_schedules(world: World) -> None:
    made, stats, busy = await crowd(world)
    now = world.clock.now()
    values: dict[str, Callable[[Schedule], Any]] = {
        "next_run_at": lambda one: one.next_at,
        "last_run_at": lambda one: one.last_run_at,
        "duration": lambda one: stats.get(one.id, {}).get("took_ms"),
        "name": lambda one: one.name.lower()[:40],
        "created_at": lambda one: one.id,
    }
    wrong = []
    for sort in SORTS:
        world.clock.advance(now - world.clock.now())
        if sort == "urgency":
            wanted = by_urgency(made, stats, busy, now)
        elif sort == "failing":
            wanted = by_value(made, lambda one: stats.get(one.id, {}).get("failing_at"), down=True)
        else:
            wanted = by_value(made, values[sort.removeprefix("-")], down=sort.startswith("-"))
        if await listed(world, sort) != wanted:
            wrong.append(sort)
    assert wrong == []


async def test_a_filter_narrows_an_order(world: World) -> None:
    made, stats, busy = await crowd(world)
    odd = [one for one in made if "odd" in one.tags]

    assert await listed(world, "urgency", "tag:odd", 50) == by_urgency(odd, stats, busy, world.clock.now())


def test_an_unknown_order_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(Invalid, match=r"one of urgency, failing, .*did you mean next_run_at") as found:
        read_sort("next_run")
    assert found.value.suggestion == "next_run_at"
