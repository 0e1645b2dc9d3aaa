"""Ended runs of the last minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from foliot.core.histogram import MOST_QUEUES, MinuteCounter

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)


def test_what_ended_within_a_minute_is_counted_by_queue() -> None:
    pulse = MinuteCounter()
    for second in range(0, 120, 2):
        pulse.beat("default", NOON + timedelta(seconds=second))
    pulse.beat("manual", NOON + timedelta(seconds=119))

    assert pulse.per_minute(NOON + timedelta(seconds=119)) == {"default": 30, "manual": 1}
    assert pulse.per_minute(NOON + timedelta(seconds=300)) == {}


def test_a_clock_that_goes_back_does_no_harm() -> None:
    pulse = MinuteCounter()
    pulse.beat("default", NOON)
    pulse.beat("default", NOON - timedelta(seconds=30))

    assert pulse.per_minute(NOON) == {"default": 2}


def test_however_many_queues_there_are_a_report_stays_small() -> None:
    pulse = MinuteCounter()
    for number in range(10 * MOST_QUEUES):
        pulse.beat(f"q{number}", NOON + timedelta(seconds=number % 50))

    assert len(pulse.per_minute(NOON + timedelta(seconds=50))) == MOST_QUEUES
