"""An instant with a skip request: one ledger entry that names the user, and every other instant as ever."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from foliot.core.time.trigger import Cron, FixedInterval, OneOff
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.planned_counts import StepBudget, ahead, skipped
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap, ScheduleStatus
from foliot.engine.model.settle import SchedulePlan, settle
from tests.givens import HOUR, MINUTE, NOON, SECOND, catch_up, due, schedule, spec

HOURLY = FixedInterval(3600, NOON)
OPEN = [OpenRun("run_1", RunState.RUNNING)]


def wished(at: datetime) -> LedgerEntry:
    return LedgerEntry(at, at, 1, LedgerKind.SKIPPED, LedgerReason.REQUESTED, "eva")


def instants(plan: SchedulePlan) -> list[datetime]:
    return [run.scheduled_for for run in plan.runs]


def test_the_instant_makes_no_run_and_stands_in_the_ledger_with_a_name() -> None:
    plan = settle(due(spec(HOURLY), skip_at=NOON, skip_by="eva"), NOON)

    assert (plan.runs, plan.ledger) == ([], [wished(NOON)])
    assert (plan.next_at, plan.fired, plan.skip_at, plan.status) == (NOON + HOUR, 0, None, ScheduleStatus.ACTIVE)
    assert plan.ledger[0].told == "skipped by eva"


def test_the_instant_after_it_fires_as_ever() -> None:
    plan = settle(due(spec(FixedInterval(10, NOON)), skip_at=NOON, skip_by="eva"), NOON + 25 * SECOND)

    assert instants(plan) == [NOON + 10 * SECOND, NOON + 20 * SECOND]
    assert plan.ledger == [wished(NOON)]


def test_one_that_lies_ahead_is_remembered() -> None:
    plan = settle(due(spec(HOURLY), skip_at=NOON + 2 * HOUR, skip_by="eva"), NOON)

    assert (instants(plan), plan.ledger, plan.skip_at) == ([NOON], [], NOON + 2 * HOUR)


def test_a_one_off_that_is_skipped_is_over() -> None:
    plan = settle(due(spec(OneOff(NOON)), skip_at=NOON, skip_by="eva"), NOON + HOUR)

    assert (plan.runs, plan.ledger) == ([], [wished(NOON)])
    assert (plan.status, plan.next_at, plan.skip_at) == (ScheduleStatus.COMPLETED, None, None)


def test_it_takes_no_place_of_max_runs() -> None:
    plan = settle(due(spec(FixedInterval(10, NOON), max_runs=2), skip_at=NOON, skip_by="eva"), NOON + 15 * SECOND)

    assert (instants(plan), plan.fired, plan.status) == ([NOON + 10 * SECOND], 1, ScheduleStatus.ACTIVE)


def test_skips_by_overlap_around_it_do_not_swallow_it() -> None:
    one = spec(FixedInterval(10, NOON), overlap=Overlap.SKIP)
    plan = settle(due(one, skip_at=NOON + 10 * SECOND, skip_by="eva"), NOON + 35 * SECOND, OPEN)

    assert plan.ledger == [
        LedgerEntry(NOON, NOON, 1, LedgerKind.SKIPPED, LedgerReason.OVERLAP),
        wished(NOON + 10 * SECOND),
        LedgerEntry(NOON + 20 * SECOND, NOON + 30 * SECOND, 2, LedgerKind.SKIPPED, LedgerReason.OVERLAP),
    ]
    assert plan.gap_first == NOON + 20 * SECOND


def test_of_years_of_planned_runs_it_takes_no_place() -> None:
    yearly = spec(FixedInterval(366 * 24 * 3600, NOON), max_runs=2)
    year = timedelta(days=366)
    one = schedule(yearly, next_at=NOON, skip_at=NOON)

    found = [ahead(one, NOON + years * year, NOON + (years + 1) * year) for years in range(5)]

    assert [plan is not None for plan in found] == [False, True, True, False, False]


def test_it_supersedes_nobody() -> None:
    one = spec(FixedInterval(10, NOON), overlap=Overlap.CANCEL_OTHER)
    plan = settle(due(one, skip_at=NOON + 20 * SECOND, skip_by="eva"), NOON + 25 * SECOND)

    assert instants(plan) == [NOON + 10 * SECOND]
    assert plan.ledger[-1] == wished(NOON + 20 * SECOND)


def test_the_newest_missed_one_that_may_run_runs_late() -> None:
    late = NOON + 2 * HOUR + 30 * MINUTE
    one = spec(HOURLY, catchup=Catchup(CatchupMode.LATEST, window_seconds=86_400))
    plan = settle(due(one, skip_at=NOON + 2 * HOUR, skip_by="eva"), late)

    assert instants(plan) == [NOON + HOUR]
    assert plan.ledger == [
        LedgerEntry(NOON, NOON, 1, LedgerKind.MISSED, LedgerReason.CATCHUP_LATEST),
        wished(NOON + 2 * HOUR),
    ]


def test_an_outage_around_it_is_told_in_two_lines() -> None:
    one = spec(HOURLY, catchup=Catchup(CatchupMode.NONE))
    plan = settle(due(one, skip_at=NOON + HOUR, skip_by="eva"), NOON + 3 * HOUR + 30 * MINUTE)

    assert plan.ledger == [
        LedgerEntry(NOON, NOON, 1, LedgerKind.MISSED, LedgerReason.CATCHUP_NONE),
        wished(NOON + HOUR),
        LedgerEntry(NOON + 2 * HOUR, NOON + 3 * HOUR, 2, LedgerKind.MISSED, LedgerReason.CATCHUP_NONE),
    ]


def test_a_wish_for_what_is_no_instant_harms_nobody() -> None:
    one = spec(HOURLY, catchup=Catchup(CatchupMode.NONE))
    plan = settle(due(one, skip_at=NOON + 7 * MINUTE, skip_by="eva"), NOON + 2 * HOUR + 30 * MINUTE)

    assert plan.ledger == [LedgerEntry(NOON, NOON + 2 * HOUR, 3, LedgerKind.MISSED, LedgerReason.CATCHUP_NONE)]
    assert plan.skip_at is None


@examples(max_examples=300)
@given(
    rule=st.sampled_from(
        [FixedInterval(10, NOON), FixedInterval(60, NOON), HOURLY, Cron("*/7 * * * *", "Europe/Stockholm")]
    ),
    overlap=st.sampled_from(list(Overlap)),
    mode=st.sampled_from(list(CatchupMode)),
    window=st.sampled_from([60, 600, 86_400]),
    most=st.integers(1, 5),
    late=st.integers(0, 8000),
    place=st.integers(0, 60),
    runs=st.sampled_from([None, 1, 3]),
    busy=st.booleans(),
)
def test_every_instant_is_accounted_for_once_whatever_is_skipped(
    *,
    rule: FixedInterval | Cron,
    overlap: Overlap,
    mode: CatchupMode,
    window: int,
    most: int,
    late: int,
    place: int,
    runs: int | None,
    busy: bool,
) -> None:
    """Walks runs and ledger as the audit does: each stands exactly where the next instant is expected."""
    one = spec(rule, overlap=overlap, max_runs=runs, catchup=catch_up(mode, window_seconds=window, max_runs=most))
    first = one.trigger.next_after(NOON - SECOND)
    assert first is not None
    now = first + timedelta(seconds=late)
    named = list(one.trigger.between(first, now + SECOND))
    skip = named[place % len(named)]
    plan = settle(due(one, next_at=first, skip_at=skip, skip_by="eva"), now, OPEN if busy else [])

    assert skip not in instants(plan)
    until = plan.span_end + timedelta(microseconds=1) if plan.span_end is not None else now + SECOND
    told = [(run.scheduled_for, run.scheduled_for, 1) for run in plan.runs]
    told += [(entry.first, entry.last, entry.count) for entry in plan.ledger]
    told.sort()
    expected: datetime | None = first
    for start, last, count in told:
        assert start == expected
        assert one.trigger.count(start, last + SECOND) == count
        expected = one.trigger.next_after(last)
    assert expected is None or expected >= until
    assert all(one.last < other.first for one, other in pairwise(plan.ledger))
    if skip < until:
        assert wished(skip) in plan.ledger


# --- what lies ahead --------------------------------------------------------------------------------------------------


def test_what_is_planned_leaves_it_out_however_it_is_counted() -> None:
    one = schedule(spec(HOURLY), skip_at=NOON + HOUR, skip_by="eva")
    plan = ahead(one, NOON, NOON + 4 * HOUR)
    assert plan is not None

    edges = [NOON + place * HOUR for place in range(5)]
    assert plan.count == 3
    assert list(plan.instants()) == [NOON, NOON + 2 * HOUR, NOON + 3 * HOUR]
    assert plan.spread(edges, StepBudget(1000)) == ({0: 1, 2: 1, 3: 1}, True)
    assert plan._counted(edges, range(4)) == {0: 1, 2: 1, 3: 1}
    assert skipped(one, NOON, NOON + 4 * HOUR) == NOON + HOUR


def test_max_runs_reaches_one_instant_further() -> None:
    one = schedule(spec(HOURLY, max_runs=2), skip_at=NOON, skip_by="eva")
    plan = ahead(one, NOON, NOON + 9 * HOUR)

    assert plan is not None
    assert list(plan.instants()) == [NOON + HOUR, NOON + 2 * HOUR]


def test_a_paused_schedule_plans_to_skip_nothing() -> None:
    one = schedule(spec(HOURLY), next_at=None, status=ScheduleStatus.PAUSED, skip_at=NOON, skip_by="eva")

    assert skipped(one, NOON, NOON + HOUR) is None
    assert one.next_run_at is None
