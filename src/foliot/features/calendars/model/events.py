"""Events of an iCalendar file (RFC 5545): when each takes place, with its recurrences up to a day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.time.zone import zone_info

MOST_ICS = 128 * 1024
"""Bytes of an iCalendar file."""
MOST_EVENTS = 2000
MOST_RULES = 50
"""Events with a recurrence rule."""
MOST_TIMES = 2000
"""Recurrences of one event."""
LONGEST_EVENT = timedelta(days=366)
FREQUENCIES = frozenset({"DAILY", "WEEKLY", "MONTHLY", "YEARLY"})
LONGEST_NAME = 100
EARLIEST = date(1970, 1, 1)
_SLOW = frozenset({"BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS", "BYMONTH", "BYHOUR", "BYMINUTE", "BYSECOND"})
"""Parts that may make a rule of days or weeks name nothing for thousands of years."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """[start, end): days for an event of whole days, else moments in UTC."""

    start: date
    end: date
    name: str


def events_of(text: str, first: date, last: date, zone: str) -> Iterator[CalendarEvent]:
    """The events that touch the days from first to last, recurring ones at each of their times."""
    rules = 0
    for event in _components(text):
        if "RECURRENCE-ID" in event:
            raise Invalid("ics", "changes single recurrences of an event (RECURRENCE-ID), which are not supported")
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        rules += "RRULE" in event
        if rules > MOST_RULES:
            raise Invalid("ics", f"has more than {MOST_RULES} events with a recurrence rule")
        yield from _times(event, first, last, zone)


def _components(text: str) -> Sequence[Any]:
    import icalendar

    try:
        calendars = icalendar.Calendar.from_ical(text, multiple=True)
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise Invalid("ics", f"is not an iCalendar file ({str(error)[:200]})") from None
    events = [event for calendar in calendars for event in calendar.walk("VEVENT")]
    if not events:
        raise Invalid("ics", "contains no event (VEVENT)")
    if len(events) > MOST_EVENTS:
        raise Invalid("ics", f"must contain at most {MOST_EVENTS:,} events", got=f"{len(events):,} events")
    return events


def _times(event: Any, first: date, last: date, zone: str) -> Iterator[CalendarEvent]:
    name = " ".join(str(event.get("SUMMARY", "")).split())[:LONGEST_NAME]
    begin, end = _begin_and_end(event, name)
    begin_day = begin.date() if isinstance(begin, datetime) else begin
    if begin_day < EARLIEST:
        raise Invalid("ics", f"the event {name!r} begins before {EARLIEST.isoformat()}", got=begin_day.isoformat())
    lasts, gone = end - begin, set(map(_moment_key, _listed(event, "EXDATE")))
    for at in _recurrences(event, begin, (first - LONGEST_EVENT, last), name):
        if _moment_key(at) not in gone:
            found = _event(at, lasts, name, zone)
            start, until = (_as_day(found.start), _as_day(found.end))
            if start <= last and until >= first:
                yield found


def _begin_and_end(event: Any, name: str) -> tuple[date, date]:
    begin = getattr(event.get("DTSTART"), "dt", None)
    if not isinstance(begin, date):
        raise Invalid("ics", f"the event {name!r} has no readable beginning (DTSTART)")
    end = getattr(event.get("DTEND"), "dt", None)
    length = getattr(event.get("DURATION"), "dt", None)
    if end is None:
        end = (
            begin + length if isinstance(length, timedelta) else begin if isinstance(begin, datetime) else begin + _DAY
        )
    if isinstance(begin, datetime) is not isinstance(end, datetime):
        raise Invalid("ics", f"the event {name!r} has a time at one end, and a day without time at the other")
    if isinstance(begin, datetime) and isinstance(end, datetime) and (begin.tzinfo is None) is not (end.tzinfo is None):
        raise Invalid("ics", f"the event {name!r} has a time zone at one end only")
    if end < begin or end - begin > LONGEST_EVENT:
        raise Invalid("ics", f"the event {name!r} must last between nothing and {LONGEST_EVENT.days} days")
    return begin, end


def _recurrences(event: Any, begin: date, within: tuple[date, date], name: str) -> Iterator[date]:
    """Its first time, and those that its rule and its further dates name."""
    from dateutil.rrule import rruleset, rrulestr

    extra = _listed(event, "RDATE")
    rule = event.get("RRULE")
    if rule is None:
        yield from dict.fromkeys([begin, *(one for one in extra if isinstance(one, date))])
        return
    if isinstance(rule, list):
        raise Invalid("ics", f"the event {name!r} has several recurrence rules")
    _check_rule(rule, name)
    zone = begin.tzinfo if isinstance(begin, datetime) else None
    # Recurrences keep the local time: they are computed without the zone, which is put back.
    start = begin.replace(tzinfo=None) if isinstance(begin, datetime) else datetime.combine(begin, time())
    rules = rruleset()
    try:
        rules.rrule(rrulestr(_without_zone(rule, zone), dtstart=start))
    except (ValueError, TypeError) as error:
        raise Invalid("ics", f"the rule of the event {name!r} cannot be read ({str(error)[:200]})") from None
    number, (first, last) = 0, within
    for at in rules:
        if at.date() > last:
            break
        if at.date() < first:
            continue
        number += 1
        if number > MOST_TIMES:
            raise Invalid("ics", f"the event {name!r} recurs more than {MOST_TIMES:,} times up to {last.isoformat()}")
        yield at.replace(tzinfo=zone) if isinstance(begin, datetime) else at.date()
    yield from (one for one in extra if isinstance(one, date))


def _check_rule(rule: Any, name: str) -> None:
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    if frequency not in FREQUENCIES:
        known = ", ".join(sorted(FREQUENCIES))
        raise Invalid("ics", f"the rule of the event {name!r} must have a FREQ of {known}", got=frequency)
    odd = _SLOW & {str(part).upper() for part in rule}
    if frequency in {"DAILY", "WEEKLY"} and odd:
        raise Invalid("ics", f"the rule of the event {name!r} combines {frequency} with {', '.join(sorted(odd))}")


def _without_zone(rule: Any, zone: Any) -> str:
    """The rule's text, with an UNTIL in UTC as the local time that it stands for."""
    parts = []
    for part, values in rule.items():
        if str(part).upper() == "UNTIL":
            until = values[0]
            if isinstance(until, datetime):
                local = until.astimezone(zone) if until.tzinfo and zone else until
                parts.append(f"UNTIL={local:%Y%m%dT%H%M%S}")
            else:
                parts.append(f"UNTIL={until:%Y%m%d}")
    text = rule.to_ical().decode()
    kept = [part for part in text.split(";") if not part.upper().startswith("UNTIL=")]
    return ";".join([*kept, *parts])


def _listed(event: Any, name: str) -> list[Any]:
    """The dates of EXDATE or RDATE."""
    found = event.get(name)
    lists = found if isinstance(found, list) else [] if found is None else [found]
    return [one.dt for each in lists for one in getattr(each, "dts", ())]


def _moment_key(at: date) -> object:
    return at.astimezone(UTC) if isinstance(at, datetime) and at.tzinfo is not None else at


def _event(at: date, lasts: timedelta, name: str, zone: str) -> CalendarEvent:
    if not isinstance(at, datetime):
        return CalendarEvent(at, at + lasts, name)
    start = (at if at.tzinfo is not None else at.replace(tzinfo=zone_info(zone))).astimezone(UTC)
    return CalendarEvent(start, start + lasts, name)


def _as_day(at: date) -> date:
    return at.date() if isinstance(at, datetime) else at
