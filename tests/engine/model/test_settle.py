"""What becomes of every instant: decided by equality, without a database."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from foliot.core.time.trigger import Cron, FixedInterval, OneOff
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import BUFFER, Catchup, CatchupMode, Overlap, ScheduleSpec, ScheduleStatus
from foliot.engine.model.settle import DueSchedule, NewRun, SchedulePlan, judges_overlap, settle
from tests.givens import HOUR, MINUTE, NOON, SECOND, catch_up, due, spec

LATEST = Catchup(CatchupMode.LATEST)
TICK = timedelta(microseconds=1)


def hourly(**changes: Any) -> ScheduleSpec:
    return spec(FixedInterval(3600, NOON), **changes)


def instants(plan: SchedulePlan) -> list[datetime]:
    return [run.scheduled_for for run in plan.runs]


def missed(
    first: datetime, last: datetime, count: int, reason: LedgerReason = LedgerReason.CATCHUP_LATEST
) -> LedgerEntry:
    return LedgerEntry(first, last, count, LedgerKind.MISSED, reason)


def skipped(first: datetime, last: datetime, count: int, reason: LedgerReason = LedgerReason.OVERLAP) -> LedgerEntry:
    return LedgerEntry(first, last, count, LedgerKind.SKIPPED, reason)


# --- on time and late -------------------------------------------------------------------------------------------------


def test_an_instant_on_time_makes_one_run_and_moves_the_cursor() -> None:
    one = due(hourly())

    plan = settle(one, NOON)

    assert plan == SchedulePlan(one, hourly(), [NewRun(NOON, NOON)], [], NOON + HOUR, 1, last_run_at=NOON)


def test_late_is_not_missed_while_it_is_within_grace() -> None:
    plan = settle(due(hourly(catchup=Catchup(CatchupMode.NONE))), NOON + 59 * SECOND)

    assert instants(plan) == [NOON]
    assert plan.ledger == []


@pytest.mark.parametrize(("late", "runs"), [(60 * SECOND - TICK, 1), (60 * SECOND, 0)])
def test_grace_ends_exactly_where_it_says(late: timedelta, runs: int) -> None:
    plan = settle(due(hourly(catchup=Catchup(CatchupMode.NONE))), NOON + late)

    assert len(plan.runs) == runs
    assert sum(entry.count for entry in plan.ledger) == 1 - runs


def test_several_instants_within_grace_all_run_in_order() -> None:
    plan = settle(due(spec(FixedInterval(10, NOON))), NOON + 35 * SECOND)

    assert instants(plan) == [NOON, NOON + 10 * SECOND, NOON + 20 * SECOND, NOON + 30 * SECOND]


def test_five_missed_hours_owe_the_newest_run_and_a_line_in_the_ledger() -> None:
    plan = settle(due(hourly(catchup=LATEST)), NOON + 5 * HOUR + 30 * MINUTE)

    assert instants(plan) == [NOON + 5 * HOUR]
    assert plan.ledger == [missed(NOON, NOON + 4 * HOUR, 5)]
    assert plan.next_at == NOON + 6 * HOUR


@pytest.mark.parametrize(
    ("catchup", "runs"),
    [
        (Catchup(CatchupMode.NONE), 0),
        (Catchup(CatchupMode.LATEST), 1),
        (Catchup(CatchupMode.LATEST, window_seconds=1200), 0),
        (Catchup(CatchupMode.ALL), 1),
        (Catchup(CatchupMode.ALL, window_seconds=4 * 3600), 4),
        (Catchup(CatchupMode.ALL, window_seconds=5 * 3600 + 1800), 6),
        (Catchup(CatchupMode.ALL, window_seconds=86_400), 6),
        (Catchup(CatchupMode.ALL, window_seconds=86_400, max_runs=2), 2),
        (Catchup(CatchupMode.NONE, grace_seconds=2000), 1),
    ],
)
def test_each_catch_up_gives_its_declared_number_of_runs_the_newest(catchup: Catchup, runs: int) -> None:
    plan = settle(due(hourly(catchup=catchup)), NOON + 5 * HOUR + 30 * MINUTE)

    assert instants(plan) == [NOON + at * HOUR for at in range(6 - runs, 6)]
    assert sum(entry.count for entry in plan.ledger) == 6 - runs
    assert len(plan.ledger) == (runs < 6)
    assert plan.next_at == NOON + 6 * HOUR


def test_what_is_within_grace_runs_beside_what_is_caught_up() -> None:
    plan = settle(due(spec(catchup=Catchup(CatchupMode.LATEST, grace_seconds=120))), NOON + 10 * MINUTE + 30 * SECOND)

    assert instants(plan) == [NOON + 8 * MINUTE, NOON + 9 * MINUTE, NOON + 10 * MINUTE]
    assert plan.ledger == [missed(NOON, NOON + 7 * MINUTE, 8)]


@pytest.mark.parametrize("mode", CatchupMode)
def test_a_one_off_runs_however_late_and_completes(mode: CatchupMode) -> None:
    plan = settle(due(spec(OneOff(NOON), catchup=Catchup(mode))), NOON + timedelta(days=400))

    assert instants(plan) == [NOON]
    assert (plan.status, plan.next_at, plan.ledger) == (ScheduleStatus.COMPLETED, None, [])


def test_two_weeks_of_a_five_second_schedule_are_settled_at_once() -> None:
    one = due(spec(FixedInterval(5, NOON), catchup=LATEST))
    now = NOON + timedelta(days=14)
    count = 14 * 86_400 // 5 + 1

    began = perf_counter()
    plan = settle(one, now)
    took = perf_counter() - began

    assert sum(entry.count for entry in plan.ledger) + len(plan.runs) == count
    assert plan.ledger == [missed(NOON, plan.runs[0].scheduled_for - 5 * SECOND, count - len(plan.runs))]
    assert took < 0.05


def test_two_weeks_of_a_cron_that_fires_each_minute_are_settled_at_once() -> None:
    one = due(spec(Cron("* * * * *", "Europe/Berlin"), catchup=LATEST))
    settle(one, NOON)

    began = perf_counter()
    plan = settle(one, NOON + timedelta(days=14))
    took = perf_counter() - began

    assert sum(entry.count for entry in plan.ledger) + len(plan.runs) == 14 * 1440 + 1
    assert took < 0.05


# --- the end of a schedule --------------------------------------------------------------------------------------------


def test_max_runs_completes_the_schedule_at_its_last_run() -> None:
    plan = settle(due(spec(FixedInterval(10, NOON), max_runs=5), fired=3), NOON + 45 * SECOND)

    assert instants(plan) == [NOON, NOON + 10 * SECOND]
    assert (plan.fired, plan.status, plan.next_at) == (5, ScheduleStatus.COMPLETED, None)
    assert plan.span_end == NOON + 10 * SECOND


def test_skipped_instants_do_not_count_towards_max_runs() -> None:
    plan = settle(due(spec(overlap=Overlap.SKIP, max_runs=1)), NOON, [OpenRun("run_1", RunState.RUNNING)])

    assert (plan.runs, plan.fired, plan.status) == ([], 0, ScheduleStatus.ACTIVE)


def test_a_schedule_completes_when_its_window_ends() -> None:
    plan = settle(due(hourly(end_at=NOON + HOUR)), NOON + 5 * SECOND)

    assert instants(plan) == [NOON]
    assert (plan.status, plan.next_at, plan.span_end) == (ScheduleStatus.COMPLETED, None, NOON + 5 * SECOND)


def test_an_instant_at_the_end_of_the_window_is_none() -> None:
    plan = settle(due(hourly(end_at=NOON + 2 * HOUR, catchup=catch_up())), NOON + 9 * HOUR)

    assert instants(plan) == [NOON, NOON + HOUR]
    assert plan.ledger == []


# --- overlap ----------------------------------------------------------------------------------------------------------

RUNNING = OpenRun("run_1", RunState.RUNNING)
QUEUED = OpenRun("run_2", RunState.QUEUED)
BUFFERED = OpenRun("run_3", RunState.QUEUED, buffered=True)


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.RETRYING])
def test_skip_makes_no_run_while_one_is_open(state: RunState) -> None:
    plan = settle(due(hourly(overlap=Overlap.SKIP)), NOON, [OpenRun("run_1", state)])

    assert (plan.runs, plan.ledger, plan.next_at) == ([], [skipped(NOON, NOON, 1)], NOON + HOUR)


def test_skip_counts_the_runs_of_the_same_tick() -> None:
    plan = settle(due(spec(FixedInterval(10, NOON), overlap=Overlap.SKIP)), NOON + 25 * SECOND)

    assert instants(plan) == [NOON]
    assert plan.ledger == [skipped(NOON + 10 * SECOND, NOON + 20 * SECOND, 2)]


def test_allow_all_asks_nobody() -> None:
    plan = settle(due(hourly(overlap=Overlap.ALLOW_ALL)), NOON, [RUNNING, QUEUED])

    assert plan.runs == [NewRun(NOON, NOON)]
    assert not judges_overlap(due(hourly(overlap=Overlap.ALLOW_ALL)))
    assert judges_overlap(due(hourly(overlap=Overlap.SKIP)))


def test_buffer_one_lets_one_wait_and_skips_the_rest() -> None:
    one = due(spec(FixedInterval(10, NOON), overlap=Overlap.BUFFER_ONE))

    plan = settle(one, NOON + 25 * SECOND, [RUNNING])

    assert plan.runs == [NewRun(NOON, NOON, buffered=True)]
    assert plan.ledger == [skipped(NOON + 10 * SECOND, NOON + 20 * SECOND, 2)]
    assert settle(one, NOON, [RUNNING, BUFFERED]).ledger == [skipped(NOON, NOON, 1)]


def test_buffer_one_lets_the_first_go_when_nothing_is_open() -> None:
    plan = settle(due(spec(FixedInterval(10, NOON), overlap=Overlap.BUFFER_ONE)), NOON + 25 * SECOND)

    assert [run.buffered for run in plan.runs] == [False, True]


def test_buffer_all_holds_a_hundred_then_says_that_it_is_full() -> None:
    waiting = [OpenRun(f"run_{at}", RunState.QUEUED, buffered=True) for at in range(BUFFER - 1)]

    plan = settle(
        due(spec(FixedInterval(10, NOON), overlap=Overlap.BUFFER_ALL)), NOON + 25 * SECOND, [RUNNING, *waiting]
    )

    assert plan.runs == [NewRun(NOON, NOON, buffered=True)]
    assert plan.ledger == [skipped(NOON + 10 * SECOND, NOON + 20 * SECOND, 2, LedgerReason.BUFFER_FULL)]


def test_cancel_other_asks_all_others_to_stop_and_waits_for_the_running_one() -> None:
    plan = settle(due(hourly(overlap=Overlap.CANCEL_OTHER)), NOON, [RUNNING, QUEUED])

    assert plan.runs == [NewRun(NOON, NOON, buffered=True)]
    assert (plan.cancel, plan.terminate) == (["run_1", "run_2"], [])


def test_cancel_other_waits_for_nobody_when_nothing_runs() -> None:
    plan = settle(due(hourly(overlap=Overlap.CANCEL_OTHER)), NOON, [QUEUED])

    assert plan.runs == [NewRun(NOON, NOON)]
    assert plan.cancel == ["run_2"]


def test_terminate_other_takes_the_place_of_all_others_at_once() -> None:
    plan = settle(due(hourly(overlap=Overlap.TERMINATE_OTHER)), NOON, [RUNNING, QUEUED])

    assert plan.runs == [NewRun(NOON, NOON)]
    assert (plan.cancel, plan.terminate) == ([], ["run_1", "run_2"])


@pytest.mark.parametrize("overlap", [Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER])
def test_of_several_instants_only_the_newest_replaces(overlap: Overlap) -> None:
    plan = settle(due(spec(FixedInterval(10, NOON), overlap=overlap)), NOON + 25 * SECOND)

    assert instants(plan) == [NOON + 20 * SECOND]
    assert plan.ledger == [skipped(NOON, NOON + 10 * SECOND, 2, LedgerReason.SUPERSEDED)]


# --- the ledger across ticks ------------------------------------------------------------------------------------------


def after(plan: SchedulePlan) -> DueSchedule:
    """The row as the store leaves it."""
    assert plan.spec is not None
    assert plan.next_at is not None
    return due(
        plan.spec,
        plan.next_at,
        fired=plan.fired,
        gap_first=plan.gap_first,
        gap_reason=plan.gap_reason,
        last_run_at=plan.last_run_at,
    )


def test_equal_neighbours_keep_their_first_instant_so_that_they_merge() -> None:
    first = settle(due(spec(overlap=Overlap.SKIP)), NOON, [RUNNING])
    second = settle(after(first), NOON + MINUTE, [RUNNING])
    third = settle(after(second), NOON + 2 * MINUTE + 1 * SECOND, [RUNNING])

    assert first.ledger == [skipped(NOON, NOON, 1)]
    assert second.ledger == [skipped(NOON, NOON + MINUTE, 1)]
    assert third.ledger == [skipped(NOON, NOON + 2 * MINUTE, 1)]


def test_a_run_between_two_gaps_keeps_them_apart() -> None:
    first = settle(due(spec(overlap=Overlap.SKIP)), NOON, [RUNNING])
    second = settle(after(first), NOON + MINUTE)
    third = settle(after(second), NOON + 2 * MINUTE, [RUNNING])

    assert second.ledger == []
    assert third.ledger == [skipped(NOON + 2 * MINUTE, NOON + 2 * MINUTE, 1)]


def test_another_reason_begins_another_line() -> None:
    first = settle(due(spec(overlap=Overlap.SKIP, catchup=Catchup(CatchupMode.NONE))), NOON, [RUNNING])
    second = settle(after(first), NOON + 10 * MINUTE + 30 * SECOND, [RUNNING])

    assert second.ledger == [
        missed(NOON + MINUTE, NOON + 9 * MINUTE, 9, LedgerReason.CATCHUP_NONE),
        skipped(NOON + 10 * MINUTE, NOON + 10 * MINUTE, 1),
    ]


# --- damage -----------------------------------------------------------------------------------------------------------


def stored(**changes: Any) -> str:
    raw = json.loads(spec().dump())
    for name, value in changes.items():
        target = raw["trigger"] if name in raw["trigger"] else raw
        target[name] = value
    return json.dumps(raw)


DAMAGES = [
    "",
    "not json",
    "null ",
    "[]",
    "5",
    "[" * 100_000,
    '{"trigger": 5}',
    '{"trigger": {"type": ["cron"]}}',
    stored(timezone="Mars/Olympus"),
    stored(timezone=5),
    stored(interval_seconds="60"),
    stored(interval_seconds=0),
    stored(interval_seconds=1e999),
    stored(end_at="yesterday"),
    stored(overlap="sometimes"),
    stored(overlap={}),
    stored(catchup=[1]),
    stored(retry={"max_retries": -1}),
    stored(priority=11),
    stored(queue=7),
    stored(max_runs=0),
    stored(unheard_of=1),
    stored(type="cron"),
]


@pytest.mark.parametrize("text", DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_spec_makes_a_fault_and_nothing_else(text: str) -> None:
    one = due(fired=4, last_run_at=NOON - HOUR)
    one.spec = text

    plan = settle(one, NOON + HOUR)

    assert plan.fault
    assert plan == SchedulePlan(one, None, fired=4, last_run_at=NOON - HOUR, fault=plan.fault)
    assert not judges_overlap(one)


# --- jitter -----------------------------------------------------------------------------------------------------------


def test_jitter_moves_only_the_readiness_and_is_the_same_on_every_node() -> None:
    one = spec(FixedInterval(1, NOON), jitter_seconds=30)
    here, there = (settle(due(one), NOON + 50 * SECOND) for _ in range(2))
    spread = [run.ready_at - run.scheduled_for for run in here.runs]

    assert here.runs == there.runs
    assert instants(here) == [NOON + at * SECOND for at in range(51)]
    assert all(timedelta(0) <= delay < 30 * SECOND for delay in spread)
    assert len(set(spread)) > 40


# --- every instant is accounted for, whatever happens -----------------------------------------------------------------

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
RULES = st.one_of(
    st.builds(FixedInterval, st.integers(1, 10_000), st.just(NOON - timedelta(days=1))),
    st.builds(
        Cron,
        st.sampled_from(["* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "0 9 * * 1-5", "15 3 1 * *"]),
        st.sampled_from(ZONES),
    ),
    st.builds(OneOff, st.datetimes(datetime(2027, 1, 1), datetime(2027, 12, 1)).map(lambda at: at.astimezone())),
)
CATCHUPS = st.builds(
    Catchup,
    st.sampled_from(CatchupMode),
    window_seconds=st.integers(3600, 10 * 86_400),
    max_runs=st.integers(1, 50),
    grace_seconds=st.integers(1, 3600),
)
OPEN_RUNS = st.lists(
    st.builds(OpenRun, st.uuids().map(str), st.sampled_from([RunState.QUEUED, RunState.RUNNING]), st.booleans()),
    max_size=3,
)
SPECS = st.builds(
    spec,
    RULES,
    overlap=st.sampled_from(Overlap),
    catchup=CATCHUPS,
    max_runs=st.none() | st.integers(1, 30),
    jitter_seconds=st.sampled_from([0, 60]),
    end_at=st.none() | st.integers(0, 90).map(lambda days: NOON + timedelta(days=days)),
)


@examples(max_examples=300)
@given(SPECS, st.integers(0, 200 * 86_400), st.integers(0, 5 * 86_400_000), OPEN_RUNS)
def test_every_instant_up_to_now_is_a_run_or_a_count_in_the_ledger(
    one: ScheduleSpec, start: int, milliseconds: int, open_runs: list[OpenRun]
) -> None:
    cursor = one.trigger.next_after(NOON + timedelta(seconds=start))
    if cursor is None:
        return
    now = cursor + timedelta(milliseconds=milliseconds)

    plan = settle(due(one, cursor), now, open_runs)

    assert plan.fault is None
    made = instants(plan)
    exhausted = one.max_runs is not None and plan.fired >= one.max_runs
    until = made[-1] if exhausted else now
    assert len(made) + sum(entry.count for entry in plan.ledger) == one.trigger.count(cursor, until + TICK)
    assert made == sorted(set(made))
    assert all(entry.count == one.trigger.count(entry.first, entry.last + TICK) for entry in plan.ledger)
    assert not any(entry.first <= at <= entry.last for entry in plan.ledger for at in made)
    assert plan.next_at is None or plan.next_at > now
    assert (plan.next_at is None) == (plan.status is ScheduleStatus.COMPLETED)
    assert one.max_runs is None or plan.fired <= one.max_runs


@examples(max_examples=60)
@given(SPECS, st.lists(st.integers(1, 400_000), min_size=2, max_size=12), st.data())
def test_many_small_ticks_account_for_the_same_instants_as_one_look(
    one: ScheduleSpec, steps: list[int], data: st.DataObject
) -> None:
    cursor = one.trigger.next_after(NOON)
    if cursor is None:
        return
    state, now, runs = due(one, cursor), cursor, list[datetime]()
    ledger: dict[datetime, LedgerEntry] = {}
    for step in steps:
        now += timedelta(seconds=step)
        if now < state.next_at:
            continue
        plan = settle(state, now, data.draw(OPEN_RUNS))
        runs += instants(plan)
        for entry in plan.ledger:
            count = entry.count + (ledger[entry.first].count if entry.first in ledger else 0)
            ledger[entry.first] = LedgerEntry(entry.first, entry.last, count, entry.fate, entry.reason)
        if plan.next_at is None:
            now = plan.span_end or now
            break
        state = after(plan)

    assert len(runs) + sum(entry.count for entry in ledger.values()) == one.trigger.count(cursor, now + TICK)
    assert all(entry.count == one.trigger.count(entry.first, entry.last + TICK) for entry in ledger.values())
