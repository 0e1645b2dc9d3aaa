"""Triggers: rules within a window, as asked by the engine and as stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest

from foliot.core.errors import Invalid
from foliot.core.time.fire_times import Fires, fires
from foliot.core.time.trigger import LONGEST, Cron, FixedInterval, OneOff, Trigger, cron, every, once
from foliot.core.time.zone import spans

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
STOCKHOLM = "Europe/Stockholm"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def following(trigger: Trigger, moment: datetime) -> Iterator[datetime]:
    at: datetime | None = moment
    while at is not None and (at := trigger.next_after(at)) is not None:
        yield at


# Daylight saving in Stockholm: 02:00 to 03:00 is skipped on 2027-03-28 and repeated on 2026-10-25.


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *"])
def test_a_fixed_time_in_a_gap_fires_at_the_first_valid_instant(expression: str) -> None:
    trigger = Trigger(Cron(expression, STOCKHOLM))

    assert list(islice(following(trigger, utc(2027, 3, 27)), 3)) == [
        utc(2027, 3, 27, 1, 30),
        utc(2027, 3, 28, 1, 0),
        utc(2027, 3, 29, 0, 30),
    ]
    assert trigger.count(utc(2027, 3, 27), utc(2027, 3, 30)) == 3


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *"])
def test_a_repeated_fixed_time_fires_once_at_the_first(expression: str) -> None:
    trigger = Trigger(Cron(expression, STOCKHOLM))

    assert list(islice(following(trigger, utc(2026, 10, 25)), 2)) == [
        utc(2026, 10, 25, 0, 30),
        utc(2026, 10, 26, 1, 30),
    ]


def test_several_fixed_times_in_one_gap_are_one_instant() -> None:
    trigger = Trigger(Cron("0,20,40 2,3 * * *", STOCKHOLM))

    assert list(trigger.between(utc(2027, 3, 28), utc(2027, 3, 28, 2))) == [
        utc(2027, 3, 28, 1, 0),
        utc(2027, 3, 28, 1, 20),
        utc(2027, 3, 28, 1, 40),
    ]


def test_asked_inside_the_repeated_hour_it_never_answers_with_the_past() -> None:
    trigger = Trigger(Cron("30 2 * * *", STOCKHOLM))

    assert trigger.next_after(utc(2026, 10, 25, 1, 15)) == utc(2026, 10, 26, 1, 30)


def test_wildcard_hours_follow_real_time() -> None:
    hourly = Trigger(Cron("30 * * * *", STOCKHOLM))

    for start in (utc(2026, 10, 24, 22), utc(2027, 3, 27, 22)):
        assert list(hourly.between(start, start + 6 * HOUR)) == [start + n * HOUR + HOUR / 2 for n in range(6)]


def test_wildcard_minutes_of_a_skipped_hour_do_not_fire_and_of_a_repeated_one_fire_twice() -> None:
    trigger = Trigger(Cron("*/30 2 * * *", STOCKHOLM))

    assert trigger.count(utc(2027, 3, 28), utc(2027, 3, 29)) == 0
    assert trigger.count(utc(2026, 10, 25), utc(2026, 10, 26)) == 4


def test_a_day_that_never_was_fires_as_the_next_begins() -> None:
    trigger = Trigger(Cron("0 12 * * *", "Pacific/Apia"))

    assert list(trigger.between(utc(2011, 12, 29), utc(2012, 1, 1))) == [
        utc(2011, 12, 29, 22),
        utc(2011, 12, 30, 10),
        utc(2011, 12, 30, 22),
        utc(2011, 12, 31, 22),
    ]


# Intervals and one-offs.


def test_an_interval_never_drifts_and_starts_after_its_creation() -> None:
    trigger = Trigger(every(90, NOON))

    assert list(islice(following(trigger, NOON), 2)) == [NOON + timedelta(seconds=90), NOON + timedelta(seconds=180)]
    assert trigger.next_after(NOON + timedelta(seconds=179.5)) == NOON + timedelta(seconds=180)
    assert trigger.next_after(NOON + timedelta(seconds=180)) == NOON + timedelta(seconds=270)


def test_an_interval_with_a_start_begins_exactly_there() -> None:
    start = NOON + DAY + TICK
    trigger = Trigger(every(3600, start), start_at=start)

    assert list(islice(following(trigger, NOON), 2)) == [start, start + HOUR]
    assert trigger.count(NOON, start + TICK) == 1


def test_an_interval_lists_its_instants() -> None:
    assert list(Trigger(every(3600, NOON)).between(NOON - DAY, NOON + 2 * HOUR)) == [NOON, NOON + HOUR]


def test_an_interval_counts_years_of_seconds_by_arithmetic() -> None:
    trigger = Trigger(every(1, NOON))

    assert trigger.count(NOON, NOON + 3650 * DAY) == 3650 * 86_400
    assert trigger.newest(NOON, NOON + 3650 * DAY, 2) == [NOON + 3650 * DAY - timedelta(seconds=n) for n in (2, 1)]


def test_an_interval_ends_with_the_calendar() -> None:
    assert Trigger(FixedInterval(LONGEST, NOON)).next_after(datetime.max.replace(tzinfo=UTC)) is None


def test_a_one_off_fires_once() -> None:
    trigger = Trigger(once(NOON))

    assert trigger.next_after(NOON - TICK) == NOON
    assert trigger.next_after(NOON) is None
    assert list(trigger.between(NOON, NOON + TICK)) == [NOON]
    assert trigger.count(NOON - DAY, NOON) == 0
    assert trigger.newest(NOON, NOON + DAY, 0) == []


# Windows.


def test_a_window_includes_its_start_and_excludes_its_end() -> None:
    trigger = Trigger(Cron("0 * * * *", "UTC"), start_at=NOON, end_at=NOON + 2 * HOUR)

    assert list(following(trigger, NOON - DAY)) == [NOON, NOON + HOUR]
    assert list(trigger.between(NOON - DAY, NOON + DAY)) == [NOON, NOON + HOUR]
    assert trigger.count(NOON - DAY, NOON + DAY) == 2
    assert trigger.newest(NOON - DAY, NOON + DAY, 1) == [NOON + HOUR]


@pytest.mark.parametrize("rule", [Cron("* * * * *", "UTC"), FixedInterval(60, NOON - DAY), OneOff(NOON)])
def test_a_window_that_ends_before_it_starts_holds_nothing(rule: Cron | FixedInterval | OneOff) -> None:
    trigger = Trigger(rule, start_at=NOON, end_at=NOON - HOUR)

    assert trigger.next_after(NOON - DAY) is None
    assert list(trigger.between(NOON - DAY, NOON + DAY)) == []
    assert trigger.count(NOON - DAY, NOON + DAY) == 0
    assert trigger.newest(NOON - DAY, NOON + DAY, 5) == []


# Long spans, odd moments, and the memory.


def test_a_cron_counts_years_of_seconds_without_visiting_them() -> None:
    trigger = Trigger(Cron("* * * * * *", STOCKHOLM))
    start, end = utc(1990, 1, 1), utc(2090, 1, 1)

    assert trigger.count(start, end) == (end - start).total_seconds()
    assert trigger.newest(start, end, 2) == [end - timedelta(seconds=2), end - timedelta(seconds=1)]


def test_the_ends_of_the_calendar_are_answered_too() -> None:
    trigger = Trigger(Cron("0 0 29 2 *", STOCKHOLM))

    assert trigger.next_after(datetime.min.replace(tzinfo=UTC)) == utc(1972, 2, 28, 23)
    assert trigger.next_after(datetime.max.replace(tzinfo=UTC)) is None
    assert trigger.next_after(utc(3100, 1, 1)) is None
    assert trigger.count(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)) == 258


def test_the_year_2100_has_no_leap_day() -> None:
    trigger = Trigger(Cron("0 0 29 2 *", "UTC"))

    assert trigger.next_after(utc(2096, 3, 1)) == utc(2104, 2, 29)
    assert trigger.count(utc(2096, 3, 1), utc(2104, 3, 1)) == 1
    assert Trigger(Cron("0 0 * * *", "UTC")).count(utc(2100, 1, 1), utc(2101, 1, 1)) == 365


def test_a_cron_ends_with_the_years_it_is_computed_for() -> None:
    trigger = Trigger(Cron("0 0 1 * *", "UTC"))

    last = list(following(trigger, utc(3033, 1, 1)))

    assert 1 <= len(last) < 12
    assert trigger.next_after(last[-1]) is None
    assert trigger.next_after(last[-1] + DAY) is None


def test_memory_changes_no_answer_whatever_the_order_of_questions() -> None:
    asked = [NOON + n * timedelta(minutes=7) for n in [*range(300), *range(200, 0, -3), 5000, 4000, *range(100)]]
    shared = Fires("*/10 * * * *", STOCKHOLM)

    for moment in asked:
        assert shared.after(moment) == Fires("*/10 * * * *", STOCKHOLM).after(moment)


def test_memory_is_bounded() -> None:
    shared = Fires("* * * * * *", "UTC")
    moment: datetime | None = NOON
    for _ in range(5000):
        assert moment is not None
        moment = shared.after(moment)

    assert moment == NOON + timedelta(seconds=5000)
    assert len(shared._memory) < 200


def test_schedules_with_the_same_expression_and_zone_share_their_fires() -> None:
    assert fires("5 4 * * *", STOCKHOLM) is fires("5 4 * * *", STOCKHOLM)


def test_threads_may_share_the_memory() -> None:
    trigger = Trigger(Cron("* * * * * *", "UTC"))
    wrong: list[int] = []

    def ask(start: datetime) -> None:
        wrong.extend(
            n
            for n in range(2000)
            if trigger.next_after(start + n * timedelta(seconds=1)) != start + (n + 1) * timedelta(seconds=1)
        )

    threads = [threading.Thread(target=ask, args=(NOON + n * HOUR,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_the_spans_of_every_zone_hold_the_offset_that_zoneinfo_names() -> None:
    start = int(utc(2026, 11, 1).timestamp())

    for name in available_timezones() - {"Factory", "localtime"}:
        span, coming, zone = None, spans(name, start), ZoneInfo(name)
        for moment in range(start, start + 2 * 366 * 86_400, 2 * 86_400):
            while span is None or span.end <= moment:
                span = next(coming)
            assert timedelta(seconds=span.offset) == datetime.fromtimestamp(moment, zone).utcoffset(), (name, moment)


# What users may write.


def test_a_cron_from_a_user_is_stored_resolved() -> None:
    rule = cron("H 2 * * mon-fri", STOCKHOLM, key="schedule-1")

    assert rule == cron("h 2 * * MON-FRI", STOCKHOLM, key="schedule-1")
    assert "H" not in rule.expression


@pytest.mark.parametrize("seconds", [0, -1, 1.5, True, None, "60", LONGEST + 1, float("nan")])
def test_an_interval_is_whole_seconds_from_one_to_ten_years(seconds: object) -> None:
    with pytest.raises(Invalid) as caught:
        every(seconds, NOON)
    assert caught.value.field == "interval_seconds"


def test_a_one_off_must_say_its_offset() -> None:
    with pytest.raises(Invalid) as caught:
        once(NOON.replace(tzinfo=None))
    assert caught.value.field == "run_at"


@pytest.mark.parametrize(
    ("zone", "says"),
    [
        ("Europe/Stokholm", "did you mean Europe/Stockholm?"),
        ("europe/stockholm", "did you mean Europe/Stockholm?"),
        ("Stockholm", "did you mean Europe/Stockholm?"),
        ("new york", "did you mean America/New_York?"),
        ("utc", "did you mean UTC?"),
        ("Europe", "not a known time zone"),
        ("../etc", "not a known time zone"),
        ("../../etc/passwd", "not a known time zone"),
        ("/etc/localtime", "not a known time zone"),
        ("Europe/\x00", "not a known time zone"),
        ("\ud800", "not a known time zone"),
        ("ÅÄÖ", "not a known time zone"),
        ("x" * 5000, "not a time zone"),
        ("", "not a time zone"),
        ("right/Europe/Stockholm", "not a time zone"),
        ("localtime", "not a time zone"),
        (None, "not a time zone"),
        (["UTC"], "not a time zone"),
    ],
)
def test_an_unknown_zone_is_refused_with_a_suggestion(zone: str, says: str) -> None:
    with pytest.raises(Invalid) as caught:
        cron("0 0 * * *", zone, key="k")
    assert caught.value.field == "timezone"
    assert says in caught.value.message


# The stored form.

STORED = [
    Trigger(Cron("30 2 * * *", STOCKHOLM)),
    Trigger(Cron("0 0 15W * *", "UTC"), start_at=NOON, end_at=NOON + DAY),
    Trigger(FixedInterval(90, NOON + TICK, STOCKHOLM), start_at=NOON),
    Trigger(OneOff(NOON, STOCKHOLM)),
]


@pytest.mark.parametrize("trigger", STORED)
def test_a_trigger_survives_being_stored(trigger: Trigger) -> None:
    assert Trigger.from_dict(json.loads(json.dumps(trigger.as_dict()))) == trigger


def test_the_stored_form_uses_the_words_of_the_http_door() -> None:
    assert STORED[0].as_dict() == {
        "type": "cron",
        "cron_expr": "30 2 * * *",
        "timezone": STOCKHOLM,
        "start_at": None,
        "end_at": None,
    }


DAMAGE: list[Any] = [
    None,
    [],
    "cron",
    {},
    {"type": "never"},
    {"type": ["cron"]},
    {"type": "cron"},
    {"type": "cron", "cron_expr": 5},
    {"type": "cron", "cron_expr": "H * * * *"},
    {"type": "cron", "cron_expr": "* * * *"},
    {"type": "cron", "cron_expr": "* * * * *", "timezone": "../etc"},
    {"type": "cron", "cron_expr": "* * * * *", "timezone": 7},
    {"type": "cron", "cron_expr": "* * * * *", "timezone": ["UTC"]},
    {"type": "cron", "cron_expr": "* * * * *", "start_at": "soon"},
    {"type": "cron", "cron_expr": "* * * * *", "start_at": "2026-01-01T00:00:00"},
    {"type": "cron", "cron_expr": "* * * * *", "anchor": None},
    {"type": "interval", "interval_seconds": 5},
    {"type": "interval", "interval_seconds": "5", "anchor": "2026-01-01T00:00:00Z"},
    {"type": "interval", "interval_seconds": 0, "anchor": "2026-01-01T00:00:00Z"},
    {"type": "interval", "interval_seconds": [], "anchor": "2026-01-01T00:00:00Z"},
    {"type": "interval", "anchor": "2026-01-01T00:00:00Z"},
    {"type": "interval", "interval_seconds": 5, "anchor": 5},
    {"type": "oneoff"},
    {"type": "oneoff", "run_at": "2026-13-01T00:00:00Z"},
    {"type": "oneoff", "run_at": "2026-01-01T00:00:00Z", "cron_expr": "* * * * *"},
]


@pytest.mark.parametrize("raw", DAMAGE)
def test_a_damaged_trigger_is_refused_and_nothing_worse(raw: object) -> None:
    with pytest.raises(Invalid):
        Trigger.from_dict(raw)
