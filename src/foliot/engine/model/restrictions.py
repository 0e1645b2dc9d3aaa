"""What `exclude`, `only` and `shift` of a schedule make of its trigger."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from foliot.core.errors import Invalid
from foliot.core.time.business_days import MOST_A_DAY, BusinessDayShift, Shift
from foliot.core.time.exclusions import Exclusions
from foliot.core.time.resolved_calendar import (
    CALENDAR_ENTRY,
    WEEKEND,
    ResolvedCalendar,
    TimeEntry,
    calendar_names,
    rule_of,
)
from foliot.core.time.trigger import Trigger

MOST_LISTED = 10
"""Calendars that the refusal of an unknown one names."""
SAMPLED_DAYS = 14
"""Days of which a trigger that is to be moved must name few instants each."""
MOST_CALENDAR_TEXT = 48 * 1024
"""Characters of the resolved calendars of one schedule: each of its versions holds them."""


@dataclass(frozen=True, slots=True)
class CalendarBook:
    """The calendars that a request may name, by name."""

    calendars: Mapping[str, ResolvedCalendar] = field(default_factory=dict)
    names: Sequence[str] = ()
    """All of the tenant, to suggest one of them."""

    def beside(self, before: Mapping[str, ResolvedCalendar]) -> CalendarBook:
        """With those that a schedule holds already, where no other revision is known.

        Those may differ from the calendar of that revision in days that are past: they decided about its instants.
        """
        found = dict(self.calendars)
        for name, held in before.items():
            known = found.get(name, held)
            if (known.id, known.revision) == (held.id, held.revision):
                found[name] = held
        return replace(self, calendars=found) if before else self


NO_CALENDARS = CalendarBook()


@dataclass(frozen=True, slots=True)
class Restriction:
    """The entries of a schedule, and the calendars that they name."""

    exclude: tuple[TimeEntry, ...] = ()
    only: tuple[TimeEntry, ...] = ()
    shift: Shift = Shift.NONE
    calendars: Mapping[str, ResolvedCalendar] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self.exclude and not self.only and self.shift is Shift.NONE

    def names(self) -> list[str]:
        """The calendars that it names."""
        return calendar_names([*self.exclude, *self.only])

    def applied(self, trigger: Trigger) -> Trigger:
        """The trigger as the schedule fires."""
        if self.empty:
            return trigger
        zone = trigger.rule.zone
        exclude = tuple(rule_of(one, self.calendars) for one in self.exclude)
        only = tuple(rule_of(one, self.calendars) for one in self.only)
        shift = None
        if self.shift is not Shift.NONE:
            shift = BusinessDayShift(
                zone,
                frozenset(day for rule in exclude for day in rule.days),
                self._weekend(),
                forward=self.shift is Shift.NEXT_BUSINESS_DAY,
            )
        return replace(trigger, exclusions=Exclusions(zone, exclude, only) if exclude or only else None, shift=shift)

    def _weekend(self) -> frozenset[int]:
        """Of the first calendar: countries differ."""
        for name in calendar_names(self.exclude):
            if name in self.calendars:
                return self.calendars[name].weekend
        return WEEKEND


def resolved(asked: Restriction, book: CalendarBook) -> Restriction:
    """With the calendars that it names; `Invalid` names one that does not exist."""
    for where, entries in (("exclude", asked.exclude), ("only", asked.only)):
        for place, entry in enumerate(entries):
            for name in calendar_names([entry]):
                if name not in book.calendars:
                    close = difflib.get_close_matches(name[:100], book.names, n=1)
                    known = ", ".join(book.names[:MOST_LISTED]) or "none yet"
                    hint = f"; did you mean {CALENDAR_ENTRY}{close[0]}?" if close else f"; there are: {known}"
                    raise Invalid(f"{where}[{place}]", f"is not a calendar{hint}", got=entry)
    return replace(asked, calendars={name: book.calendars[name] for name in asked.names()})


def too_large(calendars: Mapping[str, ResolvedCalendar]) -> str | None:
    """What is wrong with calendars that do not fit a schedule."""
    size = sum(len(str(one.as_dict())) for one in calendars.values())
    if size <= MOST_CALENDAR_TEXT:
        return None
    return f"calendars of {size:,} characters; at most {MOST_CALENDAR_TEXT:,} fit a schedule"


def check_restriction(asked: Restriction, trigger: Trigger, now: datetime, before: Trigger | None) -> None:
    """`Invalid` for what no schedule of this trigger can have. `trigger` is the restricted one."""
    if asked.empty:
        return
    where = "exclude" if asked.exclude else "only" if asked.only else "shift"
    if trigger.follows is not None:
        raise Invalid(where, "needs times of its own: a schedule that follows others has none")
    if asked.shift is not Shift.NONE:
        day = timedelta(days=1)
        most = max(trigger.rule.count(now + place * day, now + (place + 1) * day) for place in range(SAMPLED_DAYS))
        if most > MOST_A_DAY:
            raise Invalid("shift", f"is for schedules of at most {MOST_A_DAY} times a day", got=asked.shift.value)
    if oversize := too_large(asked.calendars):
        raise Invalid(where, f"names {oversize}")
    silent_before = before is not None and before.next_run_after(now) is None
    if not silent_before and trigger.next_after(now) is not None and trigger.next_run_after(now) is None:
        where = "only" if asked.only else where
        raise Invalid(where, "leaves no scheduled time: the schedule would never run")
