"""The forecast of a week: `settle` decides about overlaps, and offsets flatten peaks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.core.time.trigger import Trigger, cron
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Overlap, Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.model.settle import DueSchedule, settle
from foliot.features.plans.model.simulation import SimulatedSchedule, Simulation, Simulator, simulate
from foliot.features.plans.model.spread import spread

MONDAY = datetime(2027, 1, 4, tzinfo=UTC)
MINUTES = 7 * 24 * 60


def given(name: str, expression: str, seconds: int, zone: str = "UTC", **spec: Any) -> SimulatedSchedule:
    made = ScheduleSpec(trigger=Trigger(cron(expression, zone, key=name)), kind="webhook", **spec)
    schedule = Schedule(
        id=name,
        tenant_id="default",
        user_id="",
        name=name,
        description="",
        tags=(),
        spec=made,
        action={},
        status=ScheduleStatus.ACTIVE,
        version=1,
        next_at=MONDAY,
        last_run_at=None,
        fired=0,
        paused_reason="",
        fault=None,
        created_at=MONDAY,
        updated_at=MONDAY,
    )
    return SimulatedSchedule(schedule, seconds)


def forecast(*schedules: SimulatedSchedule) -> Simulation:
    return simulate(Simulator(MONDAY), (), schedules, {})


def moved(schedules: Sequence[SimulatedSchedule], offsets: Any) -> list[SimulatedSchedule]:
    return [
        given(one.schedule.id, offsets[one.schedule.id], one.seconds) if one.schedule.id in offsets else one
        for one in schedules
    ]


def test_a_job_of_90_seconds_every_minute_is_forecast_as_half_skipped() -> None:
    (skipped,) = forecast(given("slow", "* * * * *", 90)).skipped

    assert (skipped.name, skipped.instants, skipped.skipped) == ("slow", MINUTES, MINUTES // 2)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.BUFFER_ONE, Overlap.TERMINATE_OTHER])
def test_overlaps_are_forecast_as_settle_would_decide_second_by_second(overlap: Overlap) -> None:
    seconds, one = 150, given("slow", "* * * * *", 150, overlap=overlap)
    played = Simulator(MONDAY).play(one)

    spec, ends, waiting, skipped, starts = one.schedule.spec, list[datetime](), 0, 0, list[datetime]()
    for minute in range(200):
        at = MONDAY + timedelta(minutes=minute)
        ends = [end for end in ends if end > at]
        waiting = sum(end - timedelta(seconds=seconds) > at for end in ends)
        open_runs = [OpenRun(str(n), RunState.RUNNING) for n in range(len(ends) - waiting)]
        open_runs += [OpenRun(f"b{n}", RunState.QUEUED, buffered=True) for n in range(waiting)]
        plan = settle(DueSchedule("slow", "default", "", 1, spec.dump(), spec.anchor, at), at, open_runs)
        skipped += sum(entry.count for entry in plan.ledger)
        for run in plan.runs:
            if plan.terminate:
                ends = []
            begins = max(ends) if run.buffered else run.ready_at
            starts.append(begins)
            ends.append(begins + timedelta(seconds=seconds))

    expected = [int((at - MONDAY).total_seconds()) for at in starts]
    assert list(played.starts[: len(expected)]) == expected


def test_the_peak_of_runs_that_are_open_at_once() -> None:
    schedules = [given(f"s{n}", "0 3 * * *", 60, overlap=Overlap.ALLOW_ALL) for n in range(7)]

    queue = forecast(*schedules, given("later", "1 3 * * *", 60)).queues["default"]

    assert (queue.after.count, queue.after.at) == (7, MONDAY + timedelta(hours=3))
    assert (len(queue.bars_after), queue.bars_after[3], queue.bars_after[4]) == (168, 7, 0)


def test_200_minutely_schedules_of_5_seconds_fit_under_25_when_spread() -> None:
    crowd = [given(f"s{n}", "* * * * *", 5) for n in range(200)]
    others = [given(f"o{n}", f"{n} * * * *", 30) for n in range(20)]
    everything = [*crowd, *others]

    before = forecast(*everything)
    offsets = spread(Simulator(MONDAY), everything, [one.schedule.id for one in everything])
    after = forecast(*moved(everything, offsets))

    assert before.queues["default"].after.count >= 200
    assert after.queues["default"].after.count <= 25
    assert before.crowded[0].starts >= 200
    assert after.crowded[0].starts <= 25


def test_a_daily_schedule_stays_within_its_hour_in_its_zone_and_only_those_that_may_move_do() -> None:
    crowd = [given(f"s{n}", "0 2 * * 1-5", 600, "Asia/Kolkata") for n in range(12)]

    offsets = spread(Simulator(MONDAY), crowd, [one.schedule.id for one in crowd[:11]])

    assert "s11" not in offsets
    assert {text.split()[1:] == ["2", "*", "*", "1-5"] for text in offsets.values()} == {True}
    placed = [given(one.schedule.id, offsets.get(one.schedule.id, "0 2 * * 1-5"), 600, "Asia/Kolkata") for one in crowd]
    assert forecast(*crowd).queues["default"].after.count == 12
    assert forecast(*placed).queues["default"].after.count <= 3


def test_schedules_that_choose_their_place_by_h_are_not_moved_and_a_flat_load_stays() -> None:
    flat = [given(f"s{n}", f"{n} * * * *", 30) for n in range(60)]
    assert spread(Simulator(MONDAY), flat, [one.schedule.id for one in flat]) == {}


def test_nights_of_clock_changes_are_noted() -> None:
    march = datetime(2027, 3, 25, tzinfo=UTC)
    schedules = [given("a", "0 2 * * *", 5, "Europe/Stockholm"), given("b", "0 2 * * *", 5)]

    notes = simulate(Simulator(march), (), schedules, {}).notes

    assert list(notes) == ["Clocks in Europe/Stockholm go forward by 1 h on 2027-03-28: 1 schedule in that zone."]


def test_paused_damaged_and_exhausted_schedules_make_no_load() -> None:
    one = given("s", "* * * * *", 5)
    paused = replace(one, schedule=replace(one.schedule, status=ScheduleStatus.PAUSED))
    limited = given("l", "* * * * *", 5, max_runs=3)

    assert forecast(paused).queues["default"].after.count == 0
    assert len(Simulator(MONDAY).play(limited).starts) == 3


def test_a_thousand_schedules_of_a_week_are_played_in_two_seconds_of_cpu() -> None:
    from time import process_time

    pick = random.Random(1)
    schedules = [
        given(
            f"s{n}",
            pick.choice(["{m} * * * *", "{m} {h} * * *", "*/{q} * * * *", "{m} */2 * * *"]).format(
                m=pick.randrange(60), h=pick.randrange(24), q=pick.choice([15, 20, 30])
            ),
            pick.randrange(1, 1200),
        )
        for n in range(1000)
    ]

    began = process_time()
    after = forecast(*schedules)

    assert process_time() - began <= 2
    assert after.queues["default"].after.count > 0
