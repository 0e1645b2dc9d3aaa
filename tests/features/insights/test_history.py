"""What the pictures of the dashboard show, on every database: all that lists and instants say, and nothing else."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Forbidden, Invalid, NotFound
from foliot.core.time.trigger import FixedInterval
from foliot.core.time.zone import Granularity
from foliot.db.metadata import moment_out
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.usecases import Search
from foliot.features.insights.model.timeline import TimelineGrouping
from foliot.features.insights.sql import plans
from foliot.features.insights.usecases import calendar, timeline
from foliot.features.insights.usecases.attention import Attention
from foliot.features.insights.usecases.calendar import CalendarCells, CalendarRequest, Calendars
from foliot.features.insights.usecases.timeline import MOST_GROUPS, Timelines, TimelineView
from foliot.features.live.usecases import ChangeMarkers
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.health import ScheduleHealthReader
from foliot.features.schedules.usecases.instants import Instants
from foliot.features.schedules.usecases.schedules import Schedules
from tests.givens import HOUR, MINUTE, NOON, keep, schedule, spec, statements
from tests.world import HOURLY, World

THEM = Caller("other", "eve", Role.ADMIN)
ERROR = {"code": "http_500", "message": "no, says 127.0.0.1"}
EVERYTHING = FilterQuery()


async def history(world: World) -> tuple[Schedule, Schedule]:
    """Two schedules, of whom one fires often: five ran, the last two failed; then nobody was there for three hours."""
    often = await world.schedule(tags=["a", "b"])
    hourly = await world.schedule(HOURLY, catchup={"mode": "none"}, tags=["a"])
    await world.pass_time(5)
    runs = [run.id for run in await world.cases[Runs].list(LOCAL, PageRequest())][::-1]
    for place, run_id in enumerate(runs):
        if place < 3:
            await world.end(run_id, RunState.SUCCESS)
        else:
            await world.end(run_id, RunState.DEAD_LETTER, ERROR)
    world.clock.advance(3 * HOUR)
    await world.tick()
    return often, hourly


async def strip(world: World, query: str = "", **changes: Any) -> TimelineView:
    return await world.cases[Timelines].strip(LOCAL, world.cases[Search].read_schedules(query), **changes)


async def month(world: World, **changes: Any) -> CalendarCells:
    standing = {"start": None, "end": None, "granularity": Granularity.DAY, "zone": None, "schedule_id": None}
    return await world.cases[Calendars].cells(LOCAL, CalendarRequest(**{**standing, **changes}))


async def test_schedules_tell_how_they_fare(world: World) -> None:
    often, hourly = await history(world)

    first, second = await world.cases[ScheduleHealthReader].of(LOCAL, [hourly.id, "sch_nobodys", often.id])

    assert (first.schedule_id, first.outcomes, first.success_ratio) == (hourly.id, (), None)
    assert [one.state.value for one in second.outcomes] == ["success"] * 3 + ["dead_letter"] * 2
    assert (second.success_ratio, second.streak) == (0.6, 2)
    assert await world.cases[ScheduleHealthReader].of(THEM, [often.id]) == []


async def test_a_hundred_schedules_fare_by_two_statements(world: World) -> None:
    made = [schedule(tenant_id=LOCAL.tenant_id) for _ in range(100)]
    await keep(world.store, *made)
    with statements(world.store) as seen:
        await world.cases[ScheduleHealthReader].of(LOCAL, [one.id for one in made])

    assert len([one for one in seen if "FROM schedules" in one or "FROM (SELECT runs" in one]) == 2
    with pytest.raises(Invalid, match="1 to 100"):
        await world.cases[ScheduleHealthReader].of(LOCAL, [f"sch_{at}" for at in range(101)])
    with pytest.raises(Invalid, match="1 to 100"):
        await world.cases[ScheduleHealthReader].of(LOCAL, [])


async def test_a_strip_shows_every_run_and_every_instant_once(world: World) -> None:
    often, hourly = await history(world)

    found = await strip(world)

    groups = {group.schedule_id: group for group in found.groups}
    listed = await world.cases[Runs].list(LOCAL, PageRequest(500))
    assert Counter(run.schedule_id for run in listed) == {one.key: one.runs for one in found.groups if one.runs}
    for one in (often, hourly):
        instants, _ = await world.cases[Instants].list(LOCAL, one.id, found.now, found.end, 2000)
        assert groups[one.id].planned == len([at for at in instants if at.outcome == "planned"])
    missed = [mark for mark in groups[hourly.id].marks if mark.state == "missed"]
    assert [(mark.at, mark.until, mark.count) for mark in missed] == [(NOON + HOUR, NOON + 3 * HOUR, 3)]
    assert (groups[often.id].folded, groups[hourly.id].folded) == (True, False)
    assert (groups[hourly.id].summary, groups[hourly.id].timezone) == ("At the start of every hour (UTC)", "UTC")
    assert (found.dropped, found.marks < 2000) == (0, True)


async def test_a_lone_run_is_a_bar_with_its_own_ends(world: World) -> None:
    hourly = await world.schedule(HOURLY)
    world.clock.advance(HOUR)
    await world.tick()
    (run,) = await world.cases[Runs].list(LOCAL, PageRequest())
    (held,) = await world.claim(run.id)
    world.clock.advance(90)

    (group,) = (await strip(world)).groups
    assert [(mark.at, mark.until, mark.state, mark.run_id) for mark in group.marks if mark.state != "planned"] == [
        (NOON + HOUR, NOON + HOUR + timedelta(seconds=90), "running", run.id)
    ]
    await world.finish(held)
    world.clock.advance(HOUR / 2)
    (group,) = (await strip(world, f"id:{hourly.id}")).groups
    assert group.marks[0].until == NOON + HOUR + timedelta(seconds=90)
    assert group.marks[0].state == "success"


async def test_rows_may_be_tags_or_queues_and_a_filter_narrows_them(world: World) -> None:
    often, hourly = await history(world)
    runs = len(await world.cases[Runs].list(LOCAL, PageRequest(500)))

    tags = {group.key: group for group in (await strip(world, by=TimelineGrouping.TAG)).groups}
    (queue,) = (await strip(world, by=TimelineGrouping.QUEUE)).groups
    (only,) = (await strip(world, "tag:b")).groups

    assert set(tags) == {"a", "b"}
    assert (tags["a"].runs, tags["b"].runs, queue.runs) == (runs, runs, runs)
    assert tags["a"].planned == tags["b"].planned + 24
    assert (queue.key, queue.schedule_id) == ("default", None)
    assert only.schedule_id == often.id
    assert hourly.id not in {group.schedule_id for group in (await strip(world, "-name:Hourly")).groups}


async def test_of_very_many_runs_frequent_states_are_estimated_and_rare_ones_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.schedule(tags=["a"])
    await world.pass_time(200)
    runs = [run.id for run in await world.cases[Runs].list(LOCAL, PageRequest(500))]
    for place, run_id in enumerate(runs):
        await world.end(
            run_id, RunState.DEAD_LETTER if place % 40 == 0 else RunState.SUCCESS, None if place % 40 else ERROR
        )
    whole = await strip(world, by=TimelineGrouping.QUEUE)
    monkeypatch.setattr(timeline, "MOST_DRAWN", 60)
    for by in (TimelineGrouping.QUEUE, TimelineGrouping.TAG):
        found = await strip(world, by=by)
        (group,) = found.groups
        counts = Counter[str]()
        for mark in group.marks:
            counts[mark.state] += mark.count
        assert (whole.sampled, found.sampled) == (False, True)
        assert counts["dead_letter"] == len(runs[::40])
        # 55 of 195 are drawn: half or twice as many would be ten standard deviations away.
        assert len(runs) / 2 < counts["success"] < len(runs) * 2, counts
    assert not (await strip(world, "tag:a", by=TimelineGrouping.QUEUE)).sampled


async def test_plans_of_many_schedules_are_kept_for_seconds_and_edits_are_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "FEW", 1)
    first, _ = await world.schedule(HOURLY), await world.schedule(HOURLY)

    async def due() -> int:
        found = await strip(world, by=TimelineGrouping.QUEUE, end=NOON + 6 * HOUR)
        return found.groups[0].planned if found.groups else 0

    assert await due() == 10
    with statements(world.store) as seen:
        assert await due() == 10
    assert not [one for one in seen if "count(*) AS number" in one]
    world.clock.advance(5)
    await world.cases[Schedules].pause(LOCAL, first.id)
    assert await due() == 5
    world.clock.advance(HOUR)
    await world.tick()
    assert await due() == 4


async def test_many_schedules_make_no_more_marks_and_no_more_statements(world: World) -> None:
    with statements(world.store) as few:
        await strip(world)
    made = [
        schedule(spec(FixedInterval(60 + at, NOON)), tenant_id=LOCAL.tenant_id, name=f"No {at:03}")
        for at in range(MOST_GROUPS + 20)
    ]
    await keep(world.store, *made)
    world.clock.advance(600)
    await world.tick()
    with statements(world.store) as many:
        found = await strip(world)

    assert (len(found.groups), [(one.name, one.schedules) for one in found.rest]) == (MOST_GROUPS, [("probe", 20)])
    assert found.marks <= 2000
    # Those of a second transaction: what the others have planned, and what they ran.
    assert len(many) <= len(few) + 6
    assert len(found.collisions) <= 100


async def test_a_calendar_counts_what_ran_what_did_not_and_what_will(world: World) -> None:
    _, hourly = await history(world)

    found = await month(world)
    one = await month(world, schedule_id=hourly.id, zone="Europe/Stockholm")

    (monday,) = [cell for cell in found.cells if cell.total]
    listed = await world.cases[Runs].list(LOCAL, PageRequest(500))
    assert monday.counts == Counter(run.state.value for run in listed)
    assert (len(found.cells), monday.local, monday.missed) == (31, "2027-01-04T00:00:00+00:00", 3)
    assert found.exact
    # What is left of the day in Stockholm: 17:00 to 23:00.
    assert [(cell.planned, cell.missed) for cell in one.cells[2:6]] == [(0, 0), (7, 3), (24, 0), (24, 0)]
    with pytest.raises(NotFound):
        await month(world, schedule_id="sch_nobodys")
    with pytest.raises(Invalid, match="800 hours"):
        await month(world, granularity=Granularity.HOUR, start=NOON, end=NOON + timedelta(days=40))


async def test_instants_that_were_missed_are_spread_evenly_where_there_are_too_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, hourly = await history(world)
    asked = {"start": NOON, "end": NOON + 3 * HOUR, "granularity": Granularity.HOUR, "schedule_id": hourly.id}
    sure = await month(world, **asked)
    monkeypatch.setattr(calendar, "STEPS", 0)

    about = await month(world, **asked)

    assert (sure.exact, about.exact) == (True, False)
    assert [cell.missed for cell in sure.cells][1:] != [0, 0]
    assert sum(cell.missed for cell in about.cells) == sum(cell.missed for cell in sure.cells)


async def test_a_run_of_a_day_s_last_moment_is_of_that_day(world: World) -> None:
    await world.schedule()
    await world.pass_time(5)
    last = NOON.replace(hour=23, minute=59, second=59, microsecond=999_700)
    await world.sql("UPDATE runs SET created_at = :at", at=moment_out(world.store.dialect.name, last))
    start = NOON.replace(hour=0)

    today = await month(world, start=start, end=start + 24 * HOUR)
    found = await world.cases[Search].series(LOCAL, EVERYTHING, start, start + 24 * HOUR, 3600)

    assert [cell.total for cell in today.cells] == [5]
    assert [bucket.counts.total() for bucket in found.buckets] == [0] * 23 + [5]


async def test_the_hours_of_a_calendar_are_those_of_its_zone(world: World) -> None:
    await history(world)

    hours = await month(world, granularity=Granularity.HOUR, zone="Asia/Kolkata", start=NOON, end=NOON + 2 * HOUR)

    runs = [(cell.local[11:16], cell.total) for cell in hours.cells]
    assert runs == [("17:00", 5), ("18:00", 0), ("19:00", 0)]


async def test_a_day_on_which_the_clock_changes_has_its_own_hours(world: World) -> None:
    world.clock.set(NOON.replace(month=3, day=27))
    hourly = await world.schedule(HOURLY)

    found = await month(world, zone="Europe/Stockholm", schedule_id=hourly.id)

    assert [cell.planned for cell in found.cells[26:30]] == [10, 23, 24, 24]
    assert sum(cell.planned for cell in found.cells) == 10 + 23 + 3 * 24
    # Half past midnight on the 29th, in Stockholm; a day of 24 hours would not have ended yet.
    world.clock.set(NOON.replace(month=3, day=28, hour=22, minute=30))
    await world.cases[Schedules].run_now(LOCAL, hourly.id)
    later = await month(world, zone="Europe/Stockholm")
    assert [cell.total for cell in later.cells[26:30]] == [0, 0, 1, 0]


async def test_pictures_show_nothing_of_another_tenant(world: World) -> None:
    often, _ = await history(world)

    assert (await world.cases[Timelines].strip(THEM, EVERYTHING)).groups == []
    assert (await world.cases[Attention].check(THEM)).items == []
    cells = await world.cases[Calendars].cells(THEM, CalendarRequest(None, None, Granularity.DAY, None, None))
    assert sum(cell.total + cell.planned + cell.missed for cell in cells.cells) == 0
    with pytest.raises(NotFound):
        await world.cases[Calendars].cells(THEM, CalendarRequest(None, None, Granularity.DAY, None, often.id))
    narrow = Caller("default", "key", Role.VIEWER, scopes=frozenset({"run:read"}))
    with pytest.raises(Forbidden):
        await world.cases[Timelines].strip(narrow, EVERYTHING)


async def test_a_glimpse_differs_when_and_only_when_something_happened(world: World) -> None:
    glimpses, seen = world.cases[ChangeMarkers], []
    hourly = await world.schedule(HOURLY)
    seen.append(await glimpses.runs(LOCAL))
    world.clock.advance(HOUR)
    await world.tick()
    seen.append(await glimpses.runs(LOCAL))
    (run,) = await world.cases[Runs].list(LOCAL, PageRequest())
    (held,) = await world.claim(run.id)
    seen.append(await glimpses.runs(LOCAL))
    await world.finish(held)
    seen.append(await glimpses.runs(LOCAL))

    assert len({str(one) for one in seen}) == 4
    assert [dict(one.by_state) for one in seen] == [{}, {"queued": 1}, {"running": 1}, {}]
    assert await glimpses.runs(LOCAL) == seen[-1]
    before = await glimpses.schedules(LOCAL)
    assert await glimpses.schedules(LOCAL) == before
    world.clock.advance(MINUTE)
    await world.cases[Schedules].pause(LOCAL, hourly.id, None)
    assert await glimpses.schedules(LOCAL) != before
