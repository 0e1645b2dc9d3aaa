"""Previews: the next instants, and remarks on daylight saving."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from foliot.core.time.preview import PlannedFire, preview
from foliot.core.time.trigger import Cron, FixedInterval, OneOff, Trigger, cron, every

AUTUMN = datetime(2026, 10, 20, tzinfo=UTC)
STOCKHOLM = "Europe/Stockholm"


def notes(expression: str, zone: str = STOCKHOLM, moment: datetime = AUTUMN, count: int = 3) -> list[str]:
    return preview(Trigger(cron(expression, zone, key="k")), moment, count).notes


def test_a_preview_names_the_next_instants_on_both_clocks() -> None:
    shown = preview(Trigger(Cron("30 9 * * *", STOCKHOLM)), datetime(2026, 10, 24, tzinfo=UTC), 2)

    assert shown.summary == "At 09:30 every day (Europe/Stockholm)"
    assert shown.fires == [
        PlannedFire(datetime(2026, 10, 24, 7, 30, tzinfo=UTC), "2026-10-24T09:30:00+02:00"),
        PlannedFire(datetime(2026, 10, 25, 8, 30, tzinfo=UTC), "2026-10-25T09:30:00+01:00"),
    ]
    assert shown.notes == []


def test_a_skipped_and_a_repeated_time_are_explained() -> None:
    assert notes("30 2 * * *") == [
        "On 2026-10-25 02:30 occurs twice in Europe/Stockholm; it runs once, at the first",
        "On 2027-03-28 02:30 does not exist in Europe/Stockholm; it runs at 03:00",
    ]


def test_several_times_are_listed_and_many_are_cut_short() -> None:
    assert notes("0,30 2 * * *") == [
        "On 2026-10-25 02:00 and 02:30 occur twice in Europe/Stockholm; each runs once, at its first",
        "On 2027-03-28 02:00 and 02:30 do not exist in Europe/Stockholm; it runs at 03:00",
    ]
    assert "02:00, 02:10, 02:20 and later times do not exist" in notes("0-59/10 2 * * *")[1]


def test_wildcard_hours_follow_real_time() -> None:
    assert notes("30 * * * *") == [
        "On 2026-10-25 02:00 to 03:00 occurs twice in Europe/Stockholm; the schedule follows real time",
        "On 2027-03-28 02:00 to 03:00 is skipped in Europe/Stockholm; the schedule follows real time",
    ]


def test_wildcard_minutes_of_one_hour_say_what_becomes_of_it() -> None:
    repeated, skipped = notes("*/30 2 * * *")

    assert repeated.endswith("; the schedule follows real time and runs both times")
    assert skipped.endswith("; the schedule follows real time and does not run then")


@pytest.mark.parametrize("expression", ["0 9 * * *", "30 2 * * 1", "30 3 * * *", "*/5 9-17 * * *"])
def test_a_change_that_does_not_concern_the_schedule_is_not_mentioned(expression: str) -> None:
    assert notes(expression) == []


def test_a_zone_without_changes_has_no_notes() -> None:
    assert notes("30 2 * * *", "UTC") == notes("30 2 * * *", "Asia/Tokyo") == []


def test_notes_reach_as_far_as_the_instants_shown() -> None:
    moment = datetime(2026, 11, 15, tzinfo=UTC)

    assert notes("30 2 28 3 *", moment=moment, count=1) == [
        "On 2027-03-28 02:30 does not exist in Europe/Stockholm; it runs at 03:00"
    ]
    assert len(notes("30 2 25-31 3 0", moment=moment, count=1)) == 1
    assert len(notes("30 2 * 3 0L", moment=moment, count=5)) == 5


def test_notes_stay_within_the_trigger_s_window() -> None:
    rule = cron("30 2 * * *", STOCKHOLM, key="k")
    spring = Trigger(rule, start_at=AUTUMN + timedelta(days=30))
    autumn = Trigger(rule, end_at=AUTUMN + timedelta(days=30))

    assert [note[3:13] for note in preview(spring, AUTUMN, 1).notes] == ["2027-03-28"]
    assert [note[3:13] for note in preview(autumn, AUTUMN, 1).notes] == ["2026-10-25"]


def test_a_lost_day_is_explained_with_the_day_it_moves_to() -> None:
    moment = datetime(2011, 12, 1, tzinfo=UTC)

    assert notes("0 12 * * *", "Pacific/Apia", moment)[0] == (
        "On 2011-12-30 12:00 does not exist in Pacific/Apia; it runs at 00:00 on 2011-12-31"
    )


def test_a_midnight_that_does_not_exist_is_explained() -> None:
    moment = datetime(2018, 10, 1, tzinfo=UTC)

    assert notes("0 0 * * *", "America/Sao_Paulo", moment) == [
        "On 2018-11-04 00:00 does not exist in America/Sao_Paulo; it runs at 01:00"
    ]


def test_intervals_and_one_offs_need_no_notes() -> None:
    assert preview(Trigger(every(3600, AUTUMN)), AUTUMN, 3).notes == []
    shown = preview(Trigger(OneOff(AUTUMN + timedelta(days=1), STOCKHOLM)), AUTUMN, 3)
    assert shown.fires == [PlannedFire(AUTUMN + timedelta(days=1), "2026-10-21T02:00:00+02:00")]


def test_an_interval_of_days_says_that_it_keeps_real_time() -> None:
    begins = datetime(2026, 10, 20, 7, tzinfo=UTC)
    rule = FixedInterval(14 * 86_400, begins, STOCKHOLM)

    before = begins - timedelta(seconds=1)

    (note,) = preview(Trigger(rule), before, 3).notes
    assert note.startswith("An interval keeps real time: after the clocks change in Europe/Stockholm, it runs at 08:00")
    assert note.endswith("instead of 09:00, from 2026-11-03 on")
    assert preview(Trigger(replace(rule, zone="UTC")), before, 3).notes == []


def test_nothing_left_to_fire_is_an_empty_preview() -> None:
    assert preview(Trigger(OneOff(AUTUMN)), AUTUMN, 3).fires == []
