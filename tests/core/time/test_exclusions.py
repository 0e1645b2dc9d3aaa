"""Excluded times: days, stretches and times of day of a zone, against minute-by-minute oracles."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import holidays
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.core.time.business_days import BusinessDayShift
from foliot.core.time.exclusions import DailyHours, Exclusions, TimeRule
from foliot.core.time.resolved_calendar import ResolvedCalendar, read_entries, rule_of
from foliot.core.time.trigger import Cron, FixedInterval, Trigger
from foliot.engine.model.restrictions import Restriction
from foliot.features.calendars.model.public_holidays import dates_of, holiday_place

STOCKHOLM = "Europe/Stockholm"
ZONE = ZoneInfo(STOCKHOLM)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
YEARS = range(2027, 2037)


def calendar_of(country: str, subdivision: str | None = None) -> ResolvedCalendar:
    found = dates_of(holiday_place(country, subdivision), YEARS[0], YEARS[-1])
    return ResolvedCalendar(id="cal_1", name=country, revision=1, days=found.days, weekend=found.weekend)


@pytest.mark.parametrize(
    ("country", "subdivision", "zone"),
    [
        ("SE", None, STOCKHOLM),
        ("US", None, "America/New_York"),
        ("US", "CA", "America/Los_Angeles"),
        ("DE", None, "Europe/Berlin"),
        ("DE", "BY", "Europe/Berlin"),
    ],
)
def test_ten_years_of_a_country_are_what_a_loop_over_its_holidays_finds(
    country: str, subdivision: str | None, zone: str
) -> None:
    known = holidays.country_holidays(country, subdiv=subdivision, years=YEARS, language="en_US")
    calendar = calendar_of(country, subdivision)
    trigger = Restriction(exclude=(f"calendar:{country}",), calendars={country: calendar}).applied(
        Trigger(Cron("30 9 * * *", zone))
    )

    ran, skipped = [], {}
    day = date(YEARS[0], 1, 1)
    while day.year < YEARS[-1] + 1:
        at = datetime.combine(day, time(9, 30), ZoneInfo(zone)).astimezone(UTC)
        if day in known:
            skipped[at] = f"calendar {country}, {known.get(day)}"
        else:
            ran.append(at)
        day += DAY
    start, end = datetime(YEARS[0], 1, 1, tzinfo=ZoneInfo(zone)), datetime(YEARS[-1] + 1, 1, 1, tzinfo=ZoneInfo(zone))
    assert list(trigger.runs_between(start, end)) == ran
    assert trigger.count_runs(start, end) == len(ran)
    assert trigger.count(start, end) == len(ran) + len(skipped)
    assert {at: trigger.excluded(at) for at in trigger.between(start, end) if at in skipped} == skipped
    assert all(trigger.excluded(at) is None for at in ran)


@pytest.mark.parametrize("country", ["SE", "US", "DE", "AE"])
def test_moved_instants_are_what_a_loop_over_business_days_finds(country: str) -> None:
    known = holidays.country_holidays(country, years=range(2026, 2038), language="en_US")
    weekend = known.weekend

    def opened(day: date) -> bool:
        return day.weekday() not in weekend and day not in known

    calendar = calendar_of(country)
    restriction = Restriction(exclude=(f"calendar:{country}",), calendars={country: calendar})
    for forward in (True, False):
        shift = BusinessDayShift(STOCKHOLM, frozenset(calendar.days), calendar.weekend, forward=forward)
        trigger = Trigger(Cron("15 7,18 1,6,15,25 * *", STOCKHOLM), shift=shift)
        wanted = set()
        day = date(2026, 12, 1)
        while day < date(2037, 2, 1):
            if day.day in {1, 6, 15, 25}:
                target = day
                while not opened(target):
                    target += DAY if forward else -DAY
                for hour in (7, 18):
                    wanted.add(datetime.combine(target, time(hour, 15), ZONE).astimezone(UTC))
            day += DAY
        start, end = datetime(2027, 1, 15, tzinfo=UTC), datetime(2036, 12, 1, tzinfo=UTC)
        expected = sorted(at for at in wanted if start <= at < end)
        assert list(trigger.between(start, end)) == expected
        assert trigger.count(start, end) == len(expected)
        assert trigger.newest(start, end, 7) == expected[-7:]
        at, walked = start - timedelta(microseconds=1), []
        for _ in range(50):
            found = trigger.next_after(at)
            assert found is not None
            walked.append(at := found)
        assert walked == expected[:50]
        # What is moved is never excluded, and what is excluded is moved.
        assert all(restriction.applied(trigger).excluded(at) is None for at in expected)


_CLOCKS = st.builds(time, st.integers(0, 23), st.sampled_from([0, 15, 30, 59]))
_DAYS = st.dates(date(2027, 3, 20), date(2027, 4, 5))
_WEEKDAYS = st.frozensets(st.integers(0, 6), min_size=1)
_RULES = st.one_of(
    st.builds(lambda days: TimeRule("days", dict.fromkeys(days, "off")), st.sets(_DAYS, max_size=5)),
    st.builds(DailyHours, _CLOCKS, _CLOCKS, _WEEKDAYS).map(lambda hours: TimeRule("hours", hours=hours)),
    st.builds(
        lambda day, hours, length: TimeRule(
            "event",
            stretches=(
                (
                    datetime.combine(day, time(hours), UTC),
                    datetime.combine(day, time(hours), UTC) + timedelta(hours=length),
                    "meeting",
                ),
            ),
        ),
        _DAYS, st.integers(0, 23), st.integers(1, 60),
    ),
)  # fmt: skip


def _named(rule: TimeRule, at: datetime) -> bool:
    """Whether a rule names a moment, by its local time alone."""
    local = at.astimezone(ZONE)
    if local.date() in rule.days or any(start <= at < end for start, end, _ in rule.stretches):
        return True
    hours = rule.hours
    if hours is None:
        return False
    clock, today, yesterday = local.time(), local.weekday(), (local.date() - DAY).weekday()
    if hours.start < hours.end:
        return today in hours.weekdays and hours.start <= clock < hours.end
    return (today in hours.weekdays and clock >= hours.start) or (yesterday in hours.weekdays and clock < hours.end)


@settings(max_examples=60, deadline=None)
@given(st.lists(_RULES, max_size=3), st.lists(_RULES, max_size=2), st.integers(5, 240))
def test_excluded_time_is_what_every_minute_of_its_local_clock_says(
    exclude: list[TimeRule], only: list[TimeRule], minutes: int
) -> None:
    found = Exclusions(STOCKHOLM, tuple(exclude), tuple(only))
    # A week without a clock change, then one with it, in whose night wall times are not compared.
    start, end = datetime(2027, 3, 22, tzinfo=UTC), datetime(2027, 4, 2, tzinfo=UTC)
    trigger = Trigger(FixedInterval(minutes * 60, start), exclusions=found)
    free = []
    for at in trigger.between(start, end):
        if date(2027, 3, 27) <= at.date() <= date(2027, 3, 28):
            continue
        excluded = any(_named(rule, at) for rule in exclude) or bool(
            only and not any(_named(rule, at) for rule in only)
        )
        assert (trigger.excluded(at) is not None) is excluded, at
        if not excluded:
            free.append(at)
    ran = [at for at in trigger.runs_between(start, end) if not date(2027, 3, 27) <= at.date() <= date(2027, 3, 28)]
    assert ran == free


@settings(max_examples=60, deadline=None)
@given(st.lists(_RULES, max_size=3), st.lists(_RULES, max_size=2), st.integers(1, 200), st.integers(0, 3000))
def test_windows_counts_and_the_newest_agree_with_each_other(
    exclude: list[TimeRule], only: list[TimeRule], minutes: int, offset: int
) -> None:
    found = Exclusions(STOCKHOLM, tuple(exclude), tuple(only))
    start = datetime(2027, 3, 24, tzinfo=UTC) + offset * MINUTE
    end = start + timedelta(days=6)
    trigger = Trigger(FixedInterval(minutes * 60, start), exclusions=found)
    windows = list(trigger.excluded_windows(start, end))
    assert all(start <= one.start < one.end <= end for one in windows)
    assert all(before.end <= after.start for before, after in pairwise(windows))
    free = [at for at in trigger.between(start, end) if trigger.excluded(at) is None]
    assert [at for at in trigger.between(start, end) if not any(one.start <= at < one.end for one in windows)] == free
    assert (trigger.count_runs(start, end), trigger.newest_runs(start, end, 9)) == (len(free), free[-9:])
    following = trigger.next_run_after(start - timedelta(microseconds=1))
    if free:
        assert following == free[0]


def test_hours_keep_the_wall_clock_across_both_clock_changes() -> None:
    found = Exclusions(STOCKHOLM, (TimeRule("night", hours=DailyHours(time(22), time(6))),))
    for day, hours in ((date(2027, 3, 27), 7), (date(2027, 10, 30), 9), (date(2027, 6, 1), 8)):
        start = datetime.combine(day, time(20), ZONE).astimezone(UTC)
        (window,) = found.windows(start, start + timedelta(hours=16))
        assert window.end - window.start == timedelta(hours=hours)
        assert window.end.astimezone(ZONE).time() == time(6)


@pytest.mark.parametrize(
    ("entry", "field", "words"),
    [
        ("SE", "exclude[0]", 'must be "calendar:NAME", a date'),
        ("2027-02-30", "exclude[0]", 'must be "calendar:NAME", a date'),
        ("2027-01-06/2027-01-01", "exclude[0]", "must not end before it begins"),
        ("2027-01-01/2029-01-01", "exclude[0]", "at most 366 days"),
        ({"from": "22:00"}, "exclude[0].to", "required"),
        ({"from": "25:00", "to": "06:00"}, "exclude[0].from", "time of day"),
        ({"from": "22:00", "to": "06:00", "days": ["noday"]}, "exclude[0].days[0]", "must be one of mon"),
        ({"form": "22:00"}, "exclude[0].form", "did you mean"),
        (7, "exclude[0]", 'must be "calendar:NAME"'),
    ],
)
def test_an_entry_that_cannot_be_read_names_its_place(entry: object, field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_entries("exclude", [entry])
    assert refused.value.field == field
    assert words in str(refused.value)


def test_entries_say_what_they_are_in_the_ledger() -> None:
    entries: list[object] = [
        "2027-01-01/2027-01-06",
        {"days": ["sat", "sun"]},
        {"from": "22:00", "to": "06:00", "days": ["fri"]},
    ]
    labels = [rule_of(one, {}).label for one in read_entries("exclude", entries)]
    assert labels == ["2027-01-01 to 2027-01-06", "Sat, Sun", "22:00 to 06:00 on Fri"]


def test_a_resolved_calendar_reads_back_as_it_was_written() -> None:
    begin = datetime(2027, 5, 1, 8, tzinfo=UTC)
    calendar = ResolvedCalendar(
        id="cal_1",
        name="SE",
        revision=4,
        days={date(2027, 1, 6): "Epiphany"},
        stretches=((begin, begin + DAY, "Fair"),),
    )
    read = ResolvedCalendar.from_dict("SE", calendar.as_dict())
    kept: Mapping[str, object] = {name: getattr(read, name) for name in ("id", "name", "revision", "days", "stretches")}
    assert kept == {name: getattr(calendar, name) for name in kept}
