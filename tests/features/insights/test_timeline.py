"""Folding a strip of time, and how schedules fare."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.engine.model.run import RunState
from foliot.features.insights.model.timeline import (
    LEAST,
    TimelineLane,
    TimelinePoint,
    chosen,
    collisions,
    fold,
    folds,
    merged,
    width_of,
)
from foliot.features.schedules.model.health import EndedRun, ScheduleOutcomes
from tests.givens import HOUR, MINUTE, NOON

SUCCESS, FAILED = RunState.SUCCESS, RunState.FAILED


def group(key: str, count: int, state: str = "success", step: timedelta = MINUTE) -> TimelineLane:
    marks = [
        TimelinePoint(NOON + place * step, NOON + place * step, state, 1, f"run_{place}") for place in range(count)
    ]
    return TimelineLane(key, key, marks=marks)


def test_what_has_room_is_left_as_it_is() -> None:
    rare = group("rare", 3)

    fold([rare], 1800)

    assert (len(rare.marks), rare.folded) == (3, False)
    assert rare.marks[0].run_id == "run_0"


def test_the_frequent_are_folded_and_the_rare_are_not() -> None:
    rare, frequent = group("rare", 10), group("frequent", 1440)

    fold([frequent, rare], 60, budget=100)

    assert (len(rare.marks), rare.folded) == (10, False)
    assert len(frequent.marks) <= 90
    assert frequent.folded
    assert frequent.runs == 1440
    assert all(mark.run_id is None for mark in frequent.marks if mark.count > 1)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=30), st.sampled_from([60, 300, 1800]))
def test_however_many_marks_there_are_no_run_is_lost_and_there_is_room(counts: list[int], width: int) -> None:
    groups = [group(str(place), count) for place, count in enumerate(counts)]

    fold(groups, width, budget=200)

    assert [one.runs for one in groups] == counts
    assert sum(len(one.marks) for one in groups) <= max(200, LEAST * len(groups))


def test_states_are_never_folded_into_one_another() -> None:
    marks = [
        TimelinePoint(NOON, NOON + MINUTE, "success"),
        TimelinePoint(NOON, NOON, "failed"),
        TimelinePoint(NOON + MINUTE, None, "success"),
    ]

    found = merged(marks, HOUR)

    assert Counter({mark.state: mark.count for mark in found}) == {"success": 2, "failed": 1}
    assert next(mark.until for mark in found if mark.state == "success") == NOON + MINUTE


def test_the_most_urgent_groups_stay_then_those_due_next_and_never_by_alphabet() -> None:
    soon, later = TimelineLane("z", "z soon", due=NOON), TimelineLane("a", "a later", due=NOON + HOUR)
    quiet, failing, empty = group("quiet", 5), group("y failing", 5, "failed"), TimelineLane("empty", "empty")
    failing.place, soon.place, later.place = 0, 1, 2

    assert [one.name for one in chosen([quiet, later, soon, failing, empty], 2)[0]] == ["y failing", "z soon"]
    assert chosen([quiet, later, soon, failing, empty], 2)[1] == 2
    assert [one.name for one in chosen([quiet, later, soon, failing, empty], 9)[0]] == [
        "y failing",
        "z soon",
        "a later",
        "quiet",
    ]


def test_of_a_range_that_is_over_those_that_failed_in_it_come_first() -> None:
    fine, failed = group("fine", 2), group("failed", 2, "failed")
    fine.place, failed.place = 0, 1

    assert [one.name for one in chosen([fine, failed], 2)[0]] == ["fine", "failed"]
    assert [one.name for one in chosen([fine, failed], 2, past=True)[0]] == ["failed", "fine"]


def test_what_has_no_row_is_summed_up_and_nothing_is_lost() -> None:
    lanes = [group(f"tag:{at}", at + 1) for at in range(20)]
    for at, lane in enumerate(lanes):
        lane.schedules = at + 1

    found = folds(lanes, 12)

    assert (len(found), found[0].key, found[-1].key) == (12, "tag:19", "")
    assert sum(one.schedules for one in found) == sum(one.runs for one in found) == sum(range(21))


def test_a_bucket_has_a_width_that_people_can_read() -> None:
    assert width_of(timedelta(hours=48), 96) == 1800
    assert width_of(timedelta(minutes=1), 96) == 1
    assert width_of(timedelta(days=366), 96) == 604_800
    assert width_of(timedelta(days=3660), 96) > 604_800


def test_collisions_are_the_minutes_with_several_schedules() -> None:
    at = {NOON: 3, NOON + MINUTE: 1, NOON + HOUR: 2}

    assert collisions(at, 10) == [(NOON, 3), (NOON + HOUR, 2)]
    assert collisions(at, 1) == [(NOON, 3)]


def ended(*states: RunState, took: float | None = 100.0) -> ScheduleOutcomes:
    return ScheduleOutcomes(
        "sch", [EndedRun(f"run_{at}", state, NOON + at * MINUTE, took) for at, state in enumerate(states)]
    )


@pytest.mark.parametrize(
    ("states", "ratio", "streak", "since"),
    [
        ((), None, 0, None),
        # A run that partly failed is no success, and ends no streak of failures either way.
        ((SUCCESS, RunState.PARTIAL), 0.5, 0, None),
        ((FAILED, SUCCESS), 0.5, 0, None),
        ((SUCCESS, FAILED, RunState.DEAD_LETTER), 0.3333, 2, NOON + MINUTE),
        # A cancelled run neither mends nor fails.
        ((SUCCESS, FAILED, RunState.CANCELLED), 0.5, 1, NOON + MINUTE),
        ((RunState.CANCELLED,), None, 0, None),
    ],
)
def test_how_a_schedule_fares(states: tuple[RunState, ...], ratio: float | None, streak: int, since: object) -> None:
    one = ended(*states)

    assert (one.success_ratio, one.streak, one.failing_since) == (ratio, streak, since)


def test_the_average_is_of_those_that_worked() -> None:
    assert ended(SUCCESS, FAILED).avg_duration_ms == 100.0
    assert ended(FAILED).avg_duration_ms is None
    assert ended(SUCCESS, took=None).avg_duration_ms is None
