"""Triggers in words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foliot.core.time.trigger import Cron, OneOff, Trigger, cron, every

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("30 2 * * *", "At 02:30 every day"),
        ("0 30 2 * * *", "At 02:30 every day"),
        ("15 30 2 * * *", "At 02:30:15 every day"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("0/15 * * * *", "Every 15 minutes"),
        ("0-59/2 * * * *", "Every 2 minutes"),
        ("*/5 * * * mon-fri", "Every 5 minutes on Monday through Friday"),
        ("*/5 9-17 * * *", "Every 5 minutes from 09:00 through 17:59"),
        ("0 */5 * * * *", "Every 5 minutes"),
        ("*/20 * * * * *", "Every 20 seconds"),
        # Seven do not divide the hour: from the 56th minute to the next hour's first it is four.
        ("*/7 * * * *", "Every seventh minute of every hour"),
        ("3/15 * * * *", "Every 15th minute from 3 through 59 of every hour"),
        ("@hourly", "At the start of every hour"),
        ("0 9 * * mon-fri", "At 09:00 on Monday through Friday"),
        ("0 0 L * *", "At 00:00 on the last day of every month"),
        ("0 0 LW * *", "At 00:00 on the last weekday of every month"),
        ("0 0 * * 5#2,1L", "At 00:00 on the second Friday of the month and the last Monday of the month"),
        ("0 9 21,22,23 * *", "At 09:00 on the 21st, the 22nd, and the 23rd day of month"),
        ("0 9 11,12,31 * *", "At 09:00 on the 11th, the 12th, and the 31st day of month"),
        ("0 0 13 * fri&", "At 00:00 on the 13th day of month if it's on Friday"),
        ("0 0 * * fri&", "At 00:00 on Friday"),
        ("*/23 * * * *", "Every 23rd minute of every hour"),
    ],
)
def test_a_cron_reads_as_a_sentence_with_its_zone(expression: str, words: str) -> None:
    assert Trigger(cron(expression, "Europe/Stockholm", key="k")).summary == f"{words} (Europe/Stockholm)"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 0 1,15 * 5", "At 00:00 on the first and the 15th day of month or on Friday"),
        ("0 0 13 3 5", "At 00:00 on the 13th day of month or on Friday, in March"),
        ("0 0 L * 1", "At 00:00 on the last day of the month or on Monday"),
        ("0 0 15W * 5", "At 00:00 on the weekday nearest the 15th day of month or on Friday"),
    ],
)
def test_a_union_of_day_and_weekday_says_or(expression: str, words: str) -> None:
    assert Trigger(Cron(expression, "UTC")).summary == f"{words} (UTC)"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 0 */2 * 1", "At 00:00 on every second day of month if it's on Monday"),
        ("0 0 13 * */5", "At 00:00 on the 13th day of month if it's on every fifth day of week"),
        ("0 0 15W * */5", "At 00:00 on the weekday nearest the 15th day of month if it's on every fifth day of week"),
    ],
)
def test_a_field_that_starts_with_a_star_says_if(expression: str, words: str) -> None:
    assert Trigger(Cron(expression, "UTC")).summary == f"{words} (UTC)"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 0 15W * *", "At 00:00 on the weekday nearest the 15th day of month"),
        ("0 0 1W 3 *", "At 00:00 on the weekday nearest the first day of month in March"),
        ("0 0 1W,22 * *", "At 00:00 on the weekday nearest the first day of month and the 22nd day of month"),
        ("0 0 1W,L * *", "At 00:00 on the weekday nearest the first day of month and the last day of the month"),
        ("30 0 0 15W * *", "At 00:00:30 on the weekday nearest the 15th day of month"),
    ],
)
def test_the_nearest_weekday_is_said_in_full(expression: str, words: str) -> None:
    assert Trigger(Cron(expression, "UTC")).summary == f"{words} (UTC)"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "Every second"),
        (90, "Every 90 seconds"),
        (60, "Every minute"),
        (5400, "Every 90 minutes"),
        (3600, "Every hour"),
        (14_400, "Every 4 hours"),
        (86_400, "Every day"),
        (1_209_600, "Every 14 days"),
        (8130, "Every 2 h 15 min 30 s"),
        (6000, "Every 1 h 40 min"),
        (90_061, "Every 1 d 1 h 1 min 1 s"),
        (86_400 * 400, "Every 400 days"),
    ],
)
def test_an_interval_is_said_in_its_largest_unit_or_in_several(seconds: int, words: str) -> None:
    assert Trigger(every(seconds, NOON)).summary == words


def test_a_one_off_is_said_on_the_clock_of_its_zone() -> None:
    assert Trigger(OneOff(NOON, "Europe/Stockholm")).summary == "Once, on 2026-11-15 at 13:00 (Europe/Stockholm)"
    assert Trigger(OneOff(NOON.replace(second=5))).summary == "Once, on 2026-11-15 at 12:00:05 (UTC)"
