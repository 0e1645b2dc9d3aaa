"""Moves instants that fall on a weekend or an excluded day to a business day, at the same time of day."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Protocol

from foliot.core.time.zone import zone_info

FARTHEST = 31
"""Days that an instant is moved by at most; where all of them are closed, it stays where it is."""
MOST_DAYS = 3660
"""Days without an instant that a search looks through one by one."""
MOST_A_DAY = 24
"""Instants a day of a trigger that can be moved."""
_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)
_KEPT = 1000


class Shift(StrEnum):
    """What becomes of an instant that falls on a weekend or an excluded day."""

    NONE = "none"
    NEXT_BUSINESS_DAY = "next_business_day"
    PREVIOUS_BUSINESS_DAY = "previous_business_day"


class NamedInstants(Protocol):
    """A rule that names instants."""

    def after(self, moment: datetime) -> datetime | None: ...
    def between(self, start: datetime, end: datetime) -> Iterator[datetime]: ...


@dataclass(frozen=True, slots=True, eq=False)
class BusinessDayShift:
    """The instants of a rule after the move: several that meet are one. Equal only to itself."""

    zone: str
    closed: Collection[date]
    """Days that are excluded whole."""
    weekend: frozenset[int] = frozenset({5, 6})
    forward: bool = True
    _days: dict[tuple[NamedInstants, date], tuple[datetime, ...]] = field(default_factory=dict, init=False)

    @property
    def words(self) -> str:
        return f"moved to the {'next' if self.forward else 'previous'} business day"

    def moved(self, at: datetime) -> datetime:
        """Where this instant of the rule runs."""
        local = at.astimezone(zone_info(self.zone))
        day = self._target(local.date())
        return at if day == local.date() else self._moment(day, local.time())

    def after(self, rule: NamedInstants, moment: datetime) -> datetime | None:
        """The first instant strictly later."""
        day = self._local(moment)
        for _ in range(MOST_DAYS):
            for at in self._of_day(rule, day):
                if at > moment:
                    return at
            if not self._open(day):
                day += _DAY
                continue
            following = rule.after(self._midnight(day + _DAY) - _TICK)
            if following is None:
                return None
            # Nothing lands between: an instant is moved by a bounded number of days.
            reach = 0 if self.forward else FARTHEST
            day = max(day + _DAY, self._local(following) - timedelta(days=reach))
        return None

    def between(self, rule: NamedInstants, start: datetime, end: datetime) -> Iterator[datetime]:
        """The instants of [start, end), in order."""
        at = self.after(rule, start - _TICK)
        while at is not None and at < end:
            yield at
            at = self.after(rule, at)

    def kept_until(self, became: BusinessDayShift, today: date) -> date:
        """The last day that stays as it is when other days are closed from now on.

        An instant that has run must not move to a later day, and one that is still to run not to a day that is over.
        """
        if self.forward:
            return today
        for place in range(1, FARTHEST + 1):
            day = today + place * _DAY
            if self._open(day) and became._open(day):
                return day - _DAY
        return today + FARTHEST * _DAY

    def _of_day(self, rule: NamedInstants, day: date) -> tuple[datetime, ...]:
        """The instants that run on this local day."""
        known = self._days.get((rule, day))
        if known is None:
            if len(self._days) >= _KEPT:
                self._days.clear()
            first, last = self._sources(day)
            named = rule.between(self._midnight(first), self._midnight(last + _DAY))
            landed = {at for at in map(self.moved, named) if self._local(at) == day}
            known = self._days[rule, day] = tuple(sorted(landed))
        return known

    def _sources(self, day: date) -> tuple[date, date]:
        """The days whose instants may land on this one: itself, and the closed days before or after it."""
        first = last = day
        if self._open(day):
            for _ in range(FARTHEST):
                if self.forward and not self._open(first - _DAY):
                    first -= _DAY
                elif not self.forward and not self._open(last + _DAY):
                    last += _DAY
                else:
                    break
        return first, last

    def _target(self, day: date) -> date:
        """The nearest open day in the direction of the move."""
        step = _DAY if self.forward else -_DAY
        for place in range(FARTHEST + 1):
            if self._open(day + place * step):
                return day + place * step
        return day

    def _open(self, day: date) -> bool:
        return day.weekday() not in self.weekend and day not in self.closed

    def _local(self, moment: datetime) -> date:
        return moment.astimezone(zone_info(self.zone)).date()

    def _midnight(self, day: date) -> datetime:
        return self._moment(day, time())

    def _moment(self, day: date, at: time) -> datetime:
        return datetime.combine(day, at, zone_info(self.zone)).astimezone(UTC)
