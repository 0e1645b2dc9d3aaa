"""The moments at which waiting runs become ready."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from foliot.engine import ready_times as alarms
from foliot.engine.ready_times import GRAIN, ReadyTimes
from tests.givens import NOON, SECOND


def test_nothing_set_means_the_longest_rest() -> None:
    assert ReadyTimes().rest(NOON, 1.0) == 1.0


def test_it_rings_for_the_earliest_moment_never_before_it() -> None:
    alarm = ReadyTimes()
    alarm.set([NOON + 5 * SECOND, NOON + 2 * SECOND, NOON + 9 * SECOND])

    assert 2.0 <= alarm.rest(NOON, 60.0) <= 2.0 + 1.01 * GRAIN


def test_what_has_rung_is_forgotten() -> None:
    alarm = ReadyTimes()
    alarm.set([NOON + SECOND, NOON + 3 * SECOND])

    assert 1.0 <= alarm.rest(NOON + 2 * SECOND, 60.0) <= 1.0 + 1.01 * GRAIN
    assert alarm.rest(NOON + 4 * SECOND, 60.0) == 60.0


def test_no_rest_is_longer_than_asked_for() -> None:
    alarm = ReadyTimes()
    alarm.set([NOON + 50 * SECOND])

    assert alarm.rest(NOON, 1.0) == 1.0


def test_moments_close_together_ring_once() -> None:
    alarm = ReadyTimes()
    alarm.set([NOON + timedelta(microseconds=at) for at in range(4000)])

    assert len(alarm._heap) <= 2


def test_a_flood_of_moments_is_bounded() -> None:
    alarm = ReadyTimes()
    alarm.set(NOON + at * timedelta(seconds=GRAIN * 2) for at in range(alarms.MOST + 100))

    assert len(alarm._heap) == len(alarm._known) == alarms.MOST


@given(st.lists(st.floats(0, 100), max_size=30), st.lists(st.floats(0, 100), max_size=10).map(sorted))
def test_it_never_sleeps_past_a_moment_by_more_than_a_grain(moments: list[float], looks: list[float]) -> None:
    alarm = ReadyTimes()
    alarm.set(NOON + timedelta(seconds=at) for at in moments)
    for look in looks:
        rest = alarm.rest(NOON + timedelta(seconds=look), 1000.0)
        coming = [at - look for at in moments if at > look]

        assert rest <= min(coming, default=1000.0) + 2 * GRAIN
