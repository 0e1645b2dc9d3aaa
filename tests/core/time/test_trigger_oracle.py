"""Cron triggers against a brute-force oracle that walks the clock minute by minute, as Debian cron does.

The oracle knows nothing of Foliot's cron or of CronSim: an example is generated as pairs of a field's text and its
meaning, so that there is nothing to parse.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from croniter import CroniterBadCronError, croniter
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from foliot.core.errors import Invalid
from foliot.core.time.trigger import Cron, FixedInterval, OneOff, Rule, Trigger, cron

EXAMPLES = int(os.environ.get("FOLIOT_ORACLE_EXAMPLES", "100"))
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)
ZONES = sorted(available_timezones() - {"Factory", "localtime"})
WEIRD = (
    "Australia/Lord_Howe",  # half an hour of daylight saving
    "Pacific/Apia",  # a day that never was: 2011-12-30
    "America/Sao_Paulo",  # midnight skipped, until 2018
    "Antarctica/Troll",  # two hours
    "Africa/Casablanca",  # negative daylight saving, four changes a year
    "Europe/Dublin",  # negative daylight saving
    "Pacific/Kwajalein",  # another lost day: 1993-08-21
    "Asia/Pyongyang",  # half an hour, once each way
    "America/Havana",  # back from 01:00 to 00:00
    "America/Scoresbysund",  # changes at midnight; now at -1:00 and the day before
    "Asia/Gaza",  # two changes within a week
    "Europe/Stockholm",
)


@dataclass(frozen=True)
class Piece:
    """A field: its text, and whether it names a value (a number, or for days a date)."""

    text: str
    names: Callable[[int], bool]
    names_day: Callable[[date], bool] = bool


@dataclass(frozen=True)
class Example:
    second: Piece | None
    minute: Piece
    hour: Piece
    day: Piece
    month: Piece
    weekday: Piece

    @property
    def text(self) -> str:
        pieces = [self.second, self.minute, self.hour, self.day, self.month, self.weekday]
        return " ".join(piece.text for piece in pieces if piece)

    @property
    def fixed(self) -> bool:
        return not self.minute.text.startswith("*") and not self.hour.text.startswith("*")

    def names_minute(self, wall: datetime) -> bool:
        if not (self.minute.names(wall.minute) and self.hour.names(wall.hour) and self.month.names(wall.month)):
            return False
        by_day, by_weekday = self.day.names_day(wall.date()), self.weekday.names_day(wall.date())
        if self.day.text.startswith("*") or self.weekday.text.startswith("*"):
            return by_day and by_weekday
        return by_day or by_weekday

    @property
    def seconds(self) -> list[int]:
        return [second for second in range(60) if self.second.names(second)] if self.second else [0]


def oracle(example: Example, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Live through the span on the wall clock, one real minute after the other."""
    info = ZoneInfo(zone)
    now = start.replace(second=0, microsecond=0) - 2 * DAY
    reached = now.astimezone(info).replace(tzinfo=None) - MINUTE
    fired: set[datetime] = set()
    while now < end:
        wall = now.astimezone(info).replace(tzinfo=None)
        if wall > reached or not example.fixed:
            if now >= start - MINUTE and example.names_minute(wall):
                fired.update(now + timedelta(seconds=second) for second in example.seconds)
            if example.fixed and any(example.names_minute(skipped) for skipped in minutes(reached + MINUTE, wall)):
                fired.add(now)
        reached = max(reached, wall)
        now += MINUTE
    return sorted(instant for instant in fired if start <= instant < end)


def minutes(low: datetime, high: datetime) -> Iterator[datetime]:
    while low < high:
        yield low
        low += MINUTE


def changes(zone: str, year: int) -> list[datetime]:
    """The moments of a year, to the minute, at which the zone's offset changes."""
    info, found = ZoneInfo(zone), []
    low = datetime(year, 1, 1, tzinfo=UTC)
    while low.year == year:
        high = low + DAY
        if low.astimezone(info).utcoffset() != high.astimezone(info).utcoffset():
            offset, moment = low.astimezone(info).utcoffset(), low
            while moment.astimezone(info).utcoffset() == offset:
                moment += MINUTE
            found.append(moment)
        low = high
    return found


# Fields, as text and meaning.


def one_of(values: list[int]) -> st.SearchStrategy[Piece]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(
        lambda chosen: Piece(",".join(map(str, chosen)), lambda value: value in chosen)
    )


def stepped(low: int, high: int) -> st.SearchStrategy[Piece]:
    return st.integers(1, high).map(lambda step: Piece(f"*/{step}", lambda value: (value - low) % step == 0))


def ranged(low: int, high: int) -> st.SearchStrategy[Piece]:
    def piece(bounds: tuple[int, int]) -> Piece:
        first, last = bounds
        inside = range(first, last + 1) if first <= last else [*range(first, high + 1), *range(low, last + 1)]
        return Piece(f"{first}-{last}", lambda value: value in inside)

    return st.tuples(st.integers(low, high), st.integers(low, high)).map(piece)


ANY = st.just(Piece("*", lambda _: True, lambda _: True))


def on_dates(piece: Piece, number: Callable[[date], int]) -> Piece:
    return Piece(piece.text, piece.names, lambda day: piece.names(number(day)))


def is_last(day: date) -> bool:
    return (day + DAY).month != day.month


def is_last_weekday(day: date) -> bool:
    last = day
    while not is_last(last):
        last += DAY
    while last.weekday() >= 5:
        last -= DAY
    return day == last


def is_nearest(day: date, target: int) -> bool:
    first = day.replace(day=1)
    in_month = [first + shift * DAY for shift in range(31) if (first + shift * DAY).month == day.month]
    if target > len(in_month):
        return False
    return day == min((d for d in in_month if d.weekday() < 5), key=lambda other: abs(other.day - target))


def is_nth(day: date, weekday: int, nth: int) -> bool:
    return (
        day.isoweekday() % 7 == weekday
        and sum(1 for number in range(1, day.day + 1) if (day.day - number) % 7 == 0) == nth
    )


def is_last_of(day: date, weekday: int) -> bool:
    return day.isoweekday() % 7 == weekday and (day + 7 * DAY).month != day.month


def days_of_month(near: list[int]) -> st.SearchStrategy[Piece]:
    plain = st.one_of(one_of(near), stepped(1, 31), ranged(1, 31)).map(
        lambda piece: on_dates(piece, lambda day: day.day)
    )
    special = st.one_of(
        st.just(Piece("L", bool, is_last)),
        st.just(Piece("LW", bool, is_last_weekday)),
        st.sampled_from([1, 15, 30, 31]).map(lambda n: Piece(f"{n}W", bool, lambda day: is_nearest(day, n))),
    )
    return st.one_of(plain, special)


def days_of_week() -> st.SearchStrategy[Piece]:
    plain = st.one_of(one_of(list(range(7))), ranged(0, 6)).map(
        lambda piece: on_dates(piece, lambda day: day.isoweekday() % 7)
    )
    special = st.one_of(
        st.tuples(st.integers(0, 6), st.integers(1, 5)).map(
            lambda both: Piece(f"{both[0]}#{both[1]}", bool, lambda day: is_nth(day, *both))
        ),
        st.integers(0, 6).map(lambda weekday: Piece(f"{weekday}L", bool, lambda day: is_last_of(day, weekday))),
    )
    return st.one_of(plain, special)


def examples(before: datetime, after: datetime) -> st.SearchStrategy[Example]:
    """Expressions that tend to name times which a change of the clock from `before` to `after` skips or repeats."""
    low, high = min(before, after), max(before, after, before + MINUTE)
    touched = sorted({wall.hour for wall in minutes(low, high)})
    hours = touched[:2] * 6 + [(low.hour + shift) % 24 for shift in (-1, 1, 2)] + [high.hour, 0, 23, 12]
    around = [low.day, low.day, high.day, (low - DAY).day, (high + DAY).day]
    fixed_hour, fixed_minute = one_of(hours), one_of([0, 0, 1, 15, 29, 30, 30, 45, 59])
    return st.builds(
        Example,
        second=st.one_of(st.none(), st.none(), one_of([0, 1, 30, 59]), stepped(0, 59)),
        minute=st.one_of(fixed_minute, fixed_minute, fixed_minute, stepped(0, 59), ranged(0, 59), ANY),
        hour=st.one_of(fixed_hour, fixed_hour, fixed_hour, stepped(0, 23), ranged(0, 23), ANY),
        day=st.one_of(ANY, ANY, ANY, days_of_month(around)),
        month=st.one_of(ANY, ANY, ANY, one_of([low.month]), stepped(1, 12), ranged(1, 12)),
        weekday=st.one_of(ANY, ANY, ANY, days_of_week()),
    )


@st.composite
def scenes(draw: st.DrawFn, zones: tuple[str, ...] | list[str]) -> tuple[Example, str, datetime, datetime]:
    """An expression, a zone and a span, mostly about a change of that zone's clocks."""
    zone, year = draw(st.sampled_from(zones)), draw(st.integers(1990, 2100))
    moments = changes(zone, year) or [datetime(year, 1, 1, tzinfo=UTC) + draw(st.integers(0, 364)) * DAY]
    moment = draw(st.sampled_from(moments))
    start = moment - timedelta(seconds=draw(st.one_of(st.integers(0, 7200), st.integers(0, 40 * 3600))))
    end = moment + timedelta(seconds=draw(st.one_of(st.integers(0, 7200), st.integers(0, 40 * 3600))))
    if draw(st.booleans()):
        start -= timedelta(microseconds=draw(st.integers(0, 999_999)))
    info = ZoneInfo(zone)
    before = (moment - MINUTE).astimezone(info).replace(tzinfo=None) + MINUTE
    after = moment.astimezone(info).replace(tzinfo=None)
    return draw(examples(before, after)), zone, start, end


def check(example: Example, zone: str, start: datetime, end: datetime) -> None:
    """Every way of asking gives the oracle's answer."""
    try:
        trigger = Trigger(cron(example.text, zone, key="k"))
    except Invalid:
        assert not possible(example)
        return
    expected = oracle(example, zone, start, end)
    assert list(trigger.between(start, end)) == expected
    assert trigger.count(start, end) == len(expected)
    for limit in (0, 1, 3):
        assert trigger.newest(start, end, limit) == expected[len(expected) - min(limit, len(expected)) :]
    assert list(walk(trigger, start, end))[:50] == expected[:50]
    assert list(walk(Trigger(trigger.rule, start, end), start - DAY, end + DAY))[:5] == expected[:5]


def walk(trigger: Trigger, start: datetime, end: datetime) -> Iterator[datetime]:
    moment: datetime | None = start - TICK
    while moment is not None and (moment := trigger.next_after(moment)) is not None and moment < end:
        yield moment


def possible(example: Example) -> bool:
    """Whether the expression names a day within the 28 years after which weekdays repeat."""
    noon = datetime.combine(date(2000, 1, 1), time(12))
    return any(
        Example(None, HERE, HERE, example.day, example.month, example.weekday).names_minute(noon + n * DAY)
        for n in range(28 * 366)
    )


HERE = Piece("x", lambda _: True)

STEADY = settings(suppress_health_check=list(HealthCheck))


@settings(STEADY, max_examples=EXAMPLES)
@given(scenes(ZONES))
def test_in_every_zone_and_year_the_instants_are_those_of_a_clock_watched_minute_by_minute(
    scene: tuple[Example, str, datetime, datetime],
) -> None:
    check(*scene)


@settings(STEADY, max_examples=EXAMPLES)
@given(scenes(WEIRD))
def test_in_the_strangest_zones_too(scene: tuple[Example, str, datetime, datetime]) -> None:
    check(*scene)


def number(*values: int) -> Piece:
    return Piece(",".join(map(str, values)), lambda value: value in values)


STAR = Piece("*", lambda _: True, lambda _: True)
PLAIN = [
    Example(None, number(30), number(2), STAR, STAR, STAR),
    Example(None, number(0, 15, 30, 45), number(0, 1, 2, 23), STAR, STAR, STAR),
    Example(number(0, 30), number(0, 30), number(0, 2), STAR, STAR, STAR),
    Example(None, number(0), number(0, 12), STAR, STAR, STAR),
    Example(None, number(30), STAR, STAR, STAR, STAR),
    Example(None, Piece("*/20", lambda value: value % 20 == 0), number(0, 1, 2, 23), STAR, STAR, STAR),
    Example(None, number(10), Piece("*/2", lambda value: value % 2 == 0), STAR, STAR, STAR),
]
KNOWN = [
    ("Australia/Lord_Howe", 2026),
    ("Pacific/Apia", 2011),
    ("America/Sao_Paulo", 2018),
    ("Antarctica/Troll", 2026),
    ("Africa/Casablanca", 2026),
    ("Europe/Dublin", 2027),
    ("Pacific/Kwajalein", 1993),
    ("America/Havana", 2026),
    ("America/Scoresbysund", 2024),
    ("Asia/Gaza", 2040),
    ("Europe/Stockholm", 2027),
]


@pytest.mark.parametrize(("zone", "year"), KNOWN)
def test_every_change_of_a_known_strange_year_is_right(zone: str, year: int) -> None:
    for moment in changes(zone, year):
        for example in PLAIN:
            check(example, zone, moment - 26 * DAY / 24, moment + 26 * DAY / 24)


def nearest(number: int) -> Piece:
    return Piece(f"{number}W", bool, lambda day: is_nearest(day, number))


@pytest.mark.parametrize("day", [nearest(1), nearest(15), nearest(28), nearest(31), Piece("LW", bool, is_last_weekday)])
def test_the_days_that_depend_on_the_month_are_right_for_ten_years(day: Piece) -> None:
    midnights = Example(None, number(0), number(0), day, STAR, STAR)
    start, end = datetime(2096, 1, 1, tzinfo=UTC), datetime(2106, 1, 1, tzinfo=UTC)
    listed = Trigger(cron(midnights.text, "UTC", key="k")).between(start, end)
    days = (start + shift * DAY for shift in range((end - start).days))
    assert list(listed) == [midnight for midnight in days if midnights.names_minute(midnight)]


# Against croniter, where clocks do not change and the two dialects agree.

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(microsecond=0))


def names(values: str) -> st.SearchStrategy[str]:
    return st.sampled_from(values.split())


def field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    return st.one_of(
        st.just("*"),
        value.map(str),
        st.lists(value, min_size=2, max_size=4, unique=True).map(lambda chosen: ",".join(map(str, chosen))),
        st.integers(1, high).map(lambda step: f"*/{step}"),
        st.tuples(value, value).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.tuples(value, st.integers(1, 9))
        .filter(lambda pair: pair[0] < high)
        .map(lambda pair: f"{pair[0]}-{high}/{pair[1]}"),
    )


DAYS = st.one_of(field(1, 28), names("L 15W 1W L,1 ?"))
MONTHS = st.one_of(st.just("*"), field(1, 12), names("jan JUL,aug Mar-May nov-feb"))
WEEKDAYS = st.one_of(field(0, 6), names("mon FRI-mon sat,sun 7 5-7 mon#1 fri#2 L5 0#4,3#1"))


@st.composite
def croniter_expressions(draw: st.DrawFn) -> str:
    """A union of day and weekday is drawn from plain values only.

    croniter reads `*/2 * 1` as a union, `1 * 0-6` as no restriction and `1 * 5#2` as an intersection; Debian cron, in
    which only a leading star makes an intersection, does not.
    """
    union = (
        ",".join(draw(st.lists(names(several), min_size=1, max_size=2, unique=True)))
        for several in ("1 13 28", "0 mon 5")
    )
    day, weekday = draw(
        st.one_of(DAYS.map(lambda day: (day, "*")), WEEKDAYS.map(lambda day: ("?", day)), st.just(tuple(union)))
    )
    seconds = [draw(field(0, 59))] if draw(st.booleans()) else []
    return " ".join([*seconds, draw(field(0, 59)), draw(field(0, 23)), day, draw(MONTHS), weekday])


@settings(STEADY, max_examples=100)
@given(croniter_expressions(), MOMENTS)
def test_what_croniter_accepts_means_the_same_here(expression: str, moment: datetime) -> None:
    try:
        theirs = croniter(expression, moment, second_at_beginning=True)
    except CroniterBadCronError:
        # It refuses a few that are sound, such as `? * 7` behind seconds.
        reject()
    trigger = Trigger(cron(expression, "UTC", key="k"))
    at: datetime | None = moment.replace(tzinfo=UTC)
    for _ in range(3):
        at = trigger.next_after(at) if at else None
        assert at == theirs.get_next(datetime).replace(tzinfo=UTC)


# The four questions agree with each other, for every rule and over long spans.


@st.composite
def triggers(draw: st.DrawFn) -> tuple[Trigger, datetime, datetime]:
    start = draw(MOMENTS).replace(tzinfo=UTC) + timedelta(microseconds=draw(st.sampled_from([0, 1, 999_999])))
    reach = draw(st.sampled_from([timedelta(hours=3), 40 * DAY, 400 * DAY]))
    rules: st.SearchStrategy[Rule] = st.one_of(
        st.builds(
            FixedInterval, st.sampled_from([3601, 86_400, 1_000_000]), st.just(start + draw(st.integers(-9, 9)) * DAY)
        ),
        st.builds(OneOff, st.just(start + draw(st.integers(-1, 40)) * DAY)),
        st.builds(
            Cron, st.sampled_from(["7 */3 * * *", "30 2 * * *", "0 0 29 2 *", "0 12 L * 1"]), st.sampled_from(ZONES)
        ),
    )
    window = st.one_of(st.none(), st.integers(-50, 500).map(lambda days: start + days * DAY))
    return Trigger(draw(rules), draw(window), draw(window)), start, start + reach


@settings(STEADY, max_examples=EXAMPLES)
@given(triggers(), st.integers(0, 20))
def test_the_four_questions_agree(case: tuple[Trigger, datetime, datetime], limit: int) -> None:
    trigger, start, end = case
    listed = list(trigger.between(start, end))
    assert listed == sorted(set(listed))
    assert listed == list(walk(trigger, start, end))
    assert trigger.count(start, end) == len(listed)
    assert trigger.newest(start, end, limit) == listed[len(listed) - min(limit, len(listed)) :]
