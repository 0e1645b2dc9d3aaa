"""Times at which a schedule does not run: days, stretches of time and times of day, in the zone of its trigger.

Everything here is resolved: a rule holds dates and moments, never the name of a calendar to look up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from foliot.core.time.zone import zone_info

MOST_REASON = 200
_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
_KEPT = 1000
"""Days whose windows are cached."""
MOST_WINDOWS = 5000
"""Excluded windows that a search for the next run passes over: ten years of days."""


@dataclass(frozen=True, slots=True)
class ExcludedWindow:
    """A stretch of time without runs, [start, end), and why."""

    start: datetime
    end: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class DailyHours:
    """Times of day, from `start` to before `end`, which may be after midnight; on these weekdays (Monday is 0)."""

    start: time
    end: time
    weekdays: frozenset[int] = frozenset(range(7))
    """Of the day on which the hours begin."""


@dataclass(frozen=True, slots=True, eq=False)
class TimeRule:
    """One entry of `exclude` or of `only`, resolved."""

    label: str
    days: Mapping[date, str] = field(default_factory=dict)
    """Whole days, with their names where they have one."""
    stretches: Sequence[tuple[datetime, datetime, str]] = ()
    """[start, end) in UTC, each with a name where it has one."""
    hours: DailyHours | None = None

    def reason(self, name: str) -> str:
        return (f"{self.label}, {name}" if name else self.label)[:MOST_REASON]


@dataclass(frozen=True, slots=True, eq=False)
class Exclusions:
    """What `exclude` and `only` of a schedule say about every moment. Equal only to itself: triggers are cache keys."""

    zone: str
    exclude: tuple[TimeRule, ...] = ()
    only: tuple[TimeRule, ...] = ()
    _marked: tuple[date, ...] | None = field(init=False)
    """The days that may have windows, where not every day does."""
    _days: dict[date, tuple[ExcludedWindow, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        marked: tuple[date, ...] | None = None
        if not self.only and all(rule.hours is None for rule in self.exclude):
            marked = tuple(sorted({day for rule in self.exclude for day in self._touched(rule)}))
        object.__setattr__(self, "_marked", marked)

    def window_at(self, moment: datetime) -> ExcludedWindow | None:
        """The window that holds this moment, as far as its day goes."""
        for window in self._of_day(self._local(moment)):
            if window.start <= moment < window.end:
                return window
        return None

    def reason_at(self, moment: datetime) -> str | None:
        """Why no run begins at this moment."""
        window = self.window_at(moment)
        return None if window is None else window.reason

    def windows(self, start: datetime, end: datetime) -> Iterator[ExcludedWindow]:
        """The excluded time of [start, end), in order and cut to it; neighbours with one reason are one window."""
        if start >= end:
            return
        held: ExcludedWindow | None = None
        for day in self._candidates(self._local(start), self._local(end - _TICK)):
            for window in self._of_day(day):
                low, high = max(window.start, start), min(window.end, end)
                if low >= high:
                    continue
                if held is not None and held.end == low and held.reason == window.reason:
                    held = ExcludedWindow(held.start, high, held.reason)
                    continue
                if held is not None:
                    yield held
                held = ExcludedWindow(low, high, window.reason)
        if held is not None:
            yield held

    def _candidates(self, first: date, last: date) -> Iterator[date]:
        if self._marked is not None:
            place = bisect_left(self._marked, first)
            while place < len(self._marked) and self._marked[place] <= last:
                yield self._marked[place]
                place += 1
            return
        while first <= last:
            yield first
            first += _DAY

    def _of_day(self, day: date) -> tuple[ExcludedWindow, ...]:
        """The windows of one local day, disjoint and in order."""
        known = self._days.get(day)
        if known is None:
            if len(self._days) >= _KEPT:
                self._days.clear()
            known = self._days[day] = tuple(self._computed(day))
        return known

    def _computed(self, day: date) -> list[ExcludedWindow]:
        begin, end = self._midnight(day), self._midnight(day + _DAY)
        found = [window for rule in self.exclude for window in self._windows(rule, day, begin, end)]
        if self.only:
            inside = sorted(
                ((one.start, one.end) for rule in self.only for one in self._windows(rule, day, begin, end)),
            )
            found += self._outside(inside, begin, end)
        return _disjoint(found, begin, end)

    def _outside(
        self, inside: Sequence[tuple[datetime, datetime]], begin: datetime, end: datetime
    ) -> Iterator[ExcludedWindow]:
        reason = ("outside " + " and ".join(rule.label for rule in self.only))[:MOST_REASON]
        at = begin
        for low, high in inside:
            if at < low:
                yield ExcludedWindow(at, low, reason)
            at = max(at, high)
        if at < end:
            yield ExcludedWindow(at, end, reason)

    def _windows(self, rule: TimeRule, day: date, begin: datetime, end: datetime) -> Iterator[ExcludedWindow]:
        """Where a rule applies within a day; a window may begin before the day, or end after it."""
        if day in rule.days:
            yield ExcludedWindow(begin, end, rule.reason(rule.days[day]))
        for low, high, name in rule.stretches:
            if low < end and high > begin:
                yield ExcludedWindow(max(low, begin), min(high, end), rule.reason(name))
        if rule.hours is not None:
            for first in (day - _DAY, day):
                low, high = self._hours(rule.hours, first)
                if first.weekday() in rule.hours.weekdays and low < end and high > begin:
                    yield ExcludedWindow(max(low, begin), min(high, end), rule.reason(""))

    def _hours(self, hours: DailyHours, day: date) -> tuple[datetime, datetime]:
        last = day + _DAY if hours.end <= hours.start else day
        return self._moment(day, hours.start), self._moment(last, hours.end)

    def _touched(self, rule: TimeRule) -> Iterator[date]:
        yield from rule.days
        for low, high, _ in rule.stretches:
            day, last = self._local(low), self._local(high - _TICK)
            while day <= last:
                yield day
                day += _DAY

    def _local(self, moment: datetime) -> date:
        return moment.astimezone(zone_info(self.zone)).date()

    def _midnight(self, day: date) -> datetime:
        return self._moment(day, time())

    def _moment(self, day: date, at: time) -> datetime:
        return datetime.combine(day, at, zone_info(self.zone)).astimezone(UTC)


def _disjoint(found: Sequence[ExcludedWindow], begin: datetime, end: datetime) -> list[ExcludedWindow]:
    """Windows of one day without overlaps, in order: where two meet, the one that is named first keeps its reason."""
    placed: list[ExcludedWindow] = []
    for window in found:
        at, until = max(window.start, begin), min(window.end, end)
        for other in sorted(placed, key=lambda one: one.start):
            if at < min(other.start, until):
                placed.append(ExcludedWindow(at, min(other.start, until), window.reason))
            at = max(at, other.end)
        if at < until:
            placed.append(ExcludedWindow(at, until, window.reason))
    return sorted(placed, key=lambda one: one.start)
