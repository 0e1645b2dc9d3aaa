"""The wall-clock times that a cron expression names, without time zones.

A wall-clock time is a number of seconds since 1970-01-01 00:00 local time.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

DAY_SECONDS = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
MONTH_DAYS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# A 29 February on a given weekday comes back within 40 years, also over 2100; nothing in cron is rarer.
RAREST = 12 * 41
EVERY_WEEK = sum(1 << 7 * week for week in range(5))
IN_EVERY_MONTH = (2 << 28) - 2


class MonthDependentDay(NamedTuple):
    """A day that depends on the month: `L`, `LW`, `W` (near a day), `#` and `L` with a weekday."""

    kind: str
    day: int = 0
    nth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WallTimes:
    """The fields of a cron expression, as numbers; days, months and weekdays (Sunday is 0) are a bit each."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: int
    months: int
    weekdays: int
    day_specials: tuple[MonthDependentDay, ...]
    weekday_specials: tuple[MonthDependentDay, ...]
    both_days: bool
    fixed: bool
    _masks: dict[tuple[int, int], int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def per_day(self) -> int:
        return len(self.hours) * len(self.minutes) * len(self.seconds)

    @property
    def has_a_day(self) -> bool:
        """Whether any day that exists is named."""
        if self.days & IN_EVERY_MONTH and self.weekdays:  # each such day falls on each weekday some year
            return True
        try:
            self._first_day_from(2000, 1)
        except LookupError:
            return False
        return True

    def at_or_after(self, wall: int) -> int:
        """The first time named at or after `wall`."""
        day, time = divmod(wall, DAY_SECONDS)
        on = date.fromordinal(day + EPOCH_ORDINAL)
        mask = self._mask(on.year, on.month, day - on.day + 1) >> on.day
        if mask & 1 and (rank := self._rank(time)) < self.per_day:
            return day * DAY_SECONDS + self._time(rank)
        mask &= ~1
        if mask:
            found = day + (mask & -mask).bit_length() - 1
        else:
            months = on.year * 12 + on.month
            found = self._first_day_from(months // 12, months % 12 + 1)
        return found * DAY_SECONDS + self._time(0)

    def count(self, low: int, high: int) -> int:
        """How many times are named in [low, high)."""
        if high <= low:
            return 0
        return self._count_before(high, low // DAY_SECONDS) - self._count_before(low, low // DAY_SECONDS)

    def _count_before(self, wall: int, since: int) -> int:
        """How many times are named from the start of day `since` until `wall`."""
        day, time = divmod(wall, DAY_SECONDS)
        total = 0
        mask, first, following = self._rest_of_month(since)
        while following <= day:
            total += mask.bit_count() * self.per_day
            mask, first, following = self._rest_of_month(following)
        mask, today = mask & ((1 << (day - first)) - 1), mask >> (day - first) & 1
        return total + mask.bit_count() * self.per_day + (self._rank(time) if today else 0)

    def _rest_of_month(self, first: int) -> tuple[int, int, int]:
        """The named days of a month from day `first` on, that day, and the first day of the next month."""
        on = date.fromordinal(first + EPOCH_ORDINAL)
        start = first - on.day + 1
        return self._mask(on.year, on.month, start) >> on.day, first, start + _length(on.year, on.month)

    def _first_day_from(self, year: int, month: int) -> int:
        """The first named day at or after the first of a month, in days since 1970."""
        start = date(year, month, 1).toordinal() - EPOCH_ORDINAL
        for _ in range(RAREST):
            if mask := self._mask(year, month, start):
                return start + (mask & -mask).bit_length() - 2
            start += _length(year, month)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        raise LookupError("no day that exists is named")

    def _rank(self, time: int) -> int:
        """How many times of day are named before this one."""
        minute_of_day, second = divmod(time, 60)
        hour, minute = divmod(minute_of_day, 60)
        place = bisect_left(self.hours, hour)
        exact = place < len(self.hours) and self.hours[place] == hour
        rank = place * len(self.minutes)
        if exact:
            place = bisect_left(self.minutes, minute)
            exact = place < len(self.minutes) and self.minutes[place] == minute
            rank += place
        rank *= len(self.seconds)
        return rank + bisect_left(self.seconds, second) if exact else rank

    def _time(self, rank: int) -> int:
        """The time of day with that rank."""
        rest, second = divmod(rank, len(self.seconds))
        hour, minute = divmod(rest, len(self.minutes))
        return self.hours[hour] * 3600 + self.minutes[minute] * 60 + self.seconds[second]

    def _mask(self, year: int, month: int, start: int) -> int:
        """The named days of a month, a bit each; `start` is its first day, in days since 1970."""
        if not self.months >> month & 1:
            return 0
        key = (_length(year, month), (start + 4) % 7)  # 1970 began on a Thursday; Sunday is 0
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = self._named_days(*key)
        return mask

    def _named_days(self, length: int, first: int) -> int:
        whole = (2 << length) - 2
        days, weekdays = self.days, 0
        for special in self.day_specials:
            days |= _special_day(special, length, first)
        for weekday in range(7):
            if self.weekdays >> weekday & 1:
                weekdays |= EVERY_WEEK << _first(weekday, first)
        for special in self.weekday_specials:
            weekdays |= _special_weekday(special, length, first)
        return (days & weekdays if self.both_days else days | weekdays) & whole


def _first(weekday: int, first: int) -> int:
    """The first such weekday of a month that begins on weekday `first`."""
    return (weekday - first) % 7 + 1


def _special_day(special: MonthDependentDay, length: int, first: int) -> int:
    if special.kind == "W":
        return 1 << _nearest(special.day, length, first) if special.day <= length else 0
    return 1 << (length if special.kind == "L" else _nearest(length, length, first))


def _special_weekday(special: MonthDependentDay, length: int, first: int) -> int:
    day = _first(special.day, first)
    return 1 << day + 7 * ((length - day) // 7 if special.kind == "L" else special.nth - 1)


def _nearest(day: int, length: int, first: int) -> int:
    """The Monday to Friday nearest to a day, within its month."""
    weekday = (first + day - 1) % 7
    if weekday == 6:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


def _length(year: int, month: int) -> int:
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return MONTH_DAYS[month]
