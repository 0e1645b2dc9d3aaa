"""Events of an iCalendar file (RFC 5545): when each takes place, with its recurrences up to a day."""

from __future__ import annotations

import re
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
_PARTS = {
    "DAILY": frozenset({"BYDAY"}),
    "WEEKLY": frozenset({"BYDAY"}),
    "MONTHLY": frozenset({"BYDAY", "BYMONTHDAY", "BYMONTH"}),
    "YEARLY": frozenset({"BYDAY", "BYMONTHDAY", "BYMONTH"}),
}
_WITH_INTERVAL = {
    "DAILY": frozenset[str](),
    "WEEKLY": frozenset({"BYDAY"}),
    "MONTHLY": frozenset({"BYDAY"}),
    "YEARLY": frozenset({"BYDAY", "BYMONTH"}),
}
"""Parts that leave a rule with times in every few years: others could be searched for through thousands of years."""
_ALWAYS = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"})
_LONGEST_MONTH = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
# Text is unfolded as the library does it, so that no line is hidden from these expressions.
_FOLD = re.compile(r"(?:\r?\n)+[ \t]")
_ZONES = re.compile(r"(?ims)^BEGIN:VTIMEZONE[ \t]*\r?$.*?^END:VTIMEZONE[ \t]*\r?$\n?")
_ZONE_LEFT = re.compile(r"(?im)^\s*BEGIN\b[^\n]*VTIMEZONE")
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

    # The library keeps zones that a file defines for the whole process, and so for every tenant: it sees none.
    text = _ZONES.sub("", _FOLD.sub("", text))
    if _ZONE_LEFT.search(text):
        raise Invalid("ics", "has a definition of a time zone (VTIMEZONE) that cannot be read")
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
    _check_zones(event, name)
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
    given = {str(part).upper() for part in rule} - _ALWAYS
    if odd := given - _PARTS[frequency]:
        raise Invalid("ics", f"the rule of the event {name!r} combines {frequency} with {', '.join(sorted(odd))}")
    interval = max((int(one) for one in rule.get("INTERVAL", ())), default=1)
    if any(int(one) < 1 for one in rule.get("INTERVAL", ())):
        raise Invalid("ics", f"the rule of the event {name!r} must have an INTERVAL of at least 1", got=interval)
    if interval > 1 and (odd := given - _WITH_INTERVAL[frequency]):
        why = f"combines {frequency} and an INTERVAL with {', '.join(sorted(odd))}"
        raise Invalid("ics", f"the rule of the event {name!r} {why}")
    _check_days(rule, frequency, name)


def _check_days(rule: Any, frequency: str, name: str) -> None:
    """Every month of the rule has one of its days, so that it names times."""
    days = {abs(int(one)) for one in rule.get("BYMONTHDAY", ())}
    months = {int(one) for one in rule.get("BYMONTH", ())} or set(range(1, 13))
    longest = max((_LONGEST_MONTH.get(one, 31) for one in months), default=31)
    numbers = [int(found[0]) for one in rule.get("BYDAY", ()) if (found := re.search(r"\d+", str(one)))]
    most = 5 if frequency != "YEARLY" or "BYMONTH" in rule else 53
    strange = not months <= set(range(1, 13)) or any(not 1 <= one <= most for one in numbers)
    if strange or min(days, default=1) > longest:
        raise Invalid("ics", f"the rule of the event {name!r} names days that do not exist")
    if days and numbers:
        raise Invalid("ics", f"the rule of the event {name!r} combines BYMONTHDAY with numbered weekdays")


def _check_zones(event: Any, name: str) -> None:
    """A zone that is not known would silently become the calendar's own."""
    for part in ("DTSTART", "DTEND", "RDATE", "EXDATE"):
        found = event.get(part)
        for one in found if isinstance(found, list) else [] if found is None else [found]:
            zone = one.params.get("TZID")
            moments = [each.dt for each in getattr(one, "dts", ())] or [getattr(one, "dt", None)]
            if zone and any(isinstance(at, datetime) and at.tzinfo is None for at in moments):
                what = f"the event {name!r} names the time zone {str(zone)[:100]!r}: use an IANA or a Windows name"
                raise Invalid("ics", what)


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
