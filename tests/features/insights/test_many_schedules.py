"""With 5,000 schedules, the sorted list, the timeline and the calendar equal what the API's own data amount to.

`FOLIOT_TEST_SCHEDULES=100000 pytest --timeout 3600 …` checks the same with 100,000.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from foliot.core.access import LOCAL
from foliot.core.time.trigger import Cron, FixedInterval, Rule
from foliot.core.time.zone import Granularity
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.schedule_sort import ScheduleSort, SortKey
from foliot.engine.model.views import PageRequest
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.usecases import Search
from foliot.features.insights.usecases.calendar import CalendarRequest, Calendars
from foliot.features.insights.usecases.timeline import Timelines, TimelineView
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from tests.givens import HOUR, MINUTE, NOON, keep, schedule, spec
from tests.world import World

MANY = int(os.environ.get("FOLIOT_TEST_SCHEDULES", "5000"))
ROWS = 40
TAGS = ((), ("prices",), ("news", "daily"), ("stock",))
EVERYTHING = FilterQuery()


def fleet(chance: Random) -> Iterator[Schedule]:
    """Cron and interval triggers of all sorts, each first due within a day; every twentieth is paused."""
    for number in range(MANY):
        minute = chance.randrange(30, 24 * 60)
        rule: Rule = (
            Cron(f"{minute % 60} {minute // 60} * * *", chance.choice(("UTC", "Europe/Stockholm", "Asia/Kolkata")))
            if number % 2
            else FixedInterval(chance.choice((900, 3600, 14_400, 86_400)), NOON + minute * MINUTE)
        )
        paused = number % 20 == 0
        yield schedule(
            spec(rule),
            tenant_id=LOCAL.tenant_id,
            name=f"No {number:06}",
            tags=TAGS[number % 4],
            status=ScheduleStatus.PAUSED if paused else ScheduleStatus.ACTIVE,
            next_at=None if paused else rule.after(NOON),
        )


def planned(one: Schedule, start: datetime, end: datetime) -> list[datetime]:
    """Instant by instant, from what the API says of the schedule."""
    found: list[datetime] = []
    at = one.next_at
    while at is not None and at < end:
        if at >= start:
            found.append(at)
        at = one.spec.trigger.next_after(at)
    return found


async def everything(world: World) -> list[Schedule]:
    """All schedules, page by page as a client reads them, newest first."""
    found: list[Schedule] = []
    while True:
        page = PageRequest(500, found[-1].id if found else None)
        items = await world.cases[Search].schedules(LOCAL, page, EVERYTHING)
        found += items
        if len(items) < 500:
            return found


async def given(world: World) -> list[Schedule]:
    """Many schedules, of which three fail now, one runs, and one ran well."""
    made = list(fleet(Random(7)))
    await keep(world.store, *made)
    active = [one for one in made if one.next_at is not None]
    world.clock.advance(MINUTE)
    for place, state in ((4000, RunState.FAILED), (17, RunState.DEAD_LETTER), (2500, RunState.FAILED), (3, None)):
        run = await world.cases[Schedules].run_now(LOCAL, active[place].id)
        if state is not None:
            await world.end(run.id, state, {"code": "http_500", "message": "no"})
        world.clock.advance(MINUTE)
    return await everything(world)


def expected_order(
    schedules: list[Schedule], failed: dict[str, datetime], running: set[str], now: datetime
) -> list[str]:
    """Failing ones, the last that failed first; late ones; running ones; then by the next instant; idle ones last."""
    failing = sorted((one for one in schedules if one.id in failed), key=lambda one: failed[one.id], reverse=True)
    others = [one for one in schedules if one.id not in failed]
    timed = sorted(
        (one for one in others if one.next_at is not None),
        key=lambda one: (not _late(one, now), one.id not in running, one.next_at, one.id),
    )
    idle = sorted((one.id for one in others if one.next_at is None), reverse=True)
    return [one.id for one in [*failing, *timed]] + idle


def _late(one: Schedule, now: datetime) -> bool:
    return one.next_at is not None and one.next_at < now - MINUTE


async def test_list_timeline_and_calendar_equal_an_independent_computation(world: World) -> None:
    schedules = await given(world)
    runs = await world.cases[Runs].list(LOCAL, PageRequest(500))
    ended = {run.schedule_id: run.finished_at for run in runs if run.state in (RunState.FAILED, RunState.DEAD_LETTER)}
    failed = {key: at for key, at in ended.items() if key is not None and at is not None}
    running = {run.schedule_id for run in runs if not run.state.final and run.schedule_id is not None}
    wanted = expected_order(schedules, failed, running, world.clock.now())

    found: list[str] = []
    cursor: str | None = None
    while len(found) < MANY:
        page = PageRequest(500, cursor)
        placed = await world.cases[Search].sorted_schedules(LOCAL, page, EVERYTHING, ScheduleSort(SortKey.URGENCY))
        found += [one.id for one, _ in placed]
        cursor = placed[-1][1]
    assert found == wanted

    view = await world.cases[Timelines].strip(LOCAL, EVERYTHING, rows=ROWS)
    assert [group.key for group in view.groups] == wanted[:ROWS]
    reasons = list(dict.fromkeys(group.urgency for group in view.groups))
    # With 100,000, the rows are full of late ones.
    assert reasons == ["failing", "late", "running", "soon"][: None if MANY <= 5000 else len(reasons)]
    await _check_timeline(world, view, schedules)
    await _check_calendar(world, schedules)


async def _check_timeline(world: World, view: TimelineView, schedules: list[Schedule]) -> None:
    by_id = {one.id: one for one in schedules}
    shown = {group.key for group in view.groups}
    for group in view.groups:
        assert group.planned == len(planned(by_id[group.key], view.start, view.end)), group.name
    folded: Counter[str] = Counter()
    number: Counter[str] = Counter()
    starts: Counter[datetime] = Counter()
    for one in schedules:
        instants = planned(one, view.start, view.end)
        if len(instants) <= 48:
            starts.update(instants)
        if one.id in shown or not instants:
            continue
        key = f"tag:{one.tags[0]}" if one.tags else f"kind:{one.spec.kind}"
        folded[key] += len(instants)
        number[key] += 1
    assert {fold.key: fold.planned for fold in view.rest} == folded
    assert {fold.key: fold.schedules for fold in view.rest} == number
    assert max(count for _, count in view.collisions) == max(starts.values())
    opened = await world.cases[Timelines].strip(
        LOCAL, world.cases[Search].read_schedules("tag:prices"), rows=ROWS, start=view.start, end=view.end
    )
    prices = [one for one in schedules if "prices" in one.tags]
    total = sum(lane.planned for lane in [*opened.groups, *opened.rest])
    assert total == sum(len(planned(one, view.start, view.end)) for one in prices)


async def _check_calendar(world: World, schedules: list[Schedule]) -> None:
    start = NOON.replace(hour=0)
    asked = CalendarRequest(start, start + timedelta(days=7), Granularity.DAY, "UTC", None)
    cells = await world.cases[Calendars].cells(LOCAL, asked)
    counted = Counter(at.date() for one in schedules for at in planned(one, start, start + timedelta(days=7)))
    assert cells.exact
    assert [cell.planned for cell in cells.cells] == [counted[cell.at.date()] for cell in cells.cells]
    hours = CalendarRequest(start, start + 24 * HOUR, Granularity.HOUR, "UTC", None)
    by_hour = await world.cases[Calendars].cells(LOCAL, hours)
    per_hour = Counter(at.hour for one in schedules for at in planned(one, start, start + 24 * HOUR))
    assert [cell.planned for cell in by_hour.cells] == [per_hour[hour] for hour in range(24)]
