"""A calendar as schedules use it: dates and stretches of time, computed up to a year; and the entries that name one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from foliot.core.document import Fields, rfc3339
from foliot.core.errors import Invalid
from foliot.core.time.exclusions import DailyHours, TimeRule

CALENDAR_ENTRY = "calendar:"
"""Precedes the name of a calendar in `exclude` and `only`."""
MOST_ENTRIES = 50
"""Entries of `exclude`, and of `only`."""
LONGEST_RANGE = 366
"""Days of one range of dates."""
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKEND = frozenset({5, 6})
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?")
_RULE = (
    'must be "calendar:NAME", a date such as "2027-01-01", a range such as "2027-01-01/2027-01-06", '
    'or {"from": "22:00", "to": "06:00", "days": ["mon", "fri"]}'
)
_DAY = timedelta(days=1)

TimeEntry = str | Mapping[str, Any]
"""An entry of `exclude` or `only`, as requests and documents have it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ResolvedCalendar:
    """One revision of a calendar. It never changes, so that a version of a schedule can hold it."""

    id: str
    name: str
    revision: int
    days: Mapping[date, str] = field(default_factory=dict)
    stretches: Sequence[tuple[datetime, datetime, str]] = ()
    weekend: frozenset[int] = WEEKEND

    def as_dict(self) -> dict[str, Any]:
        """The stored form: days by their names."""
        named: dict[str, list[str]] = {}
        for day, name in sorted(self.days.items()):
            named.setdefault(name, []).append(day.isoformat())
        return {
            "id": self.id,
            "revision": self.revision,
            "days": named,
            "stretches": [[rfc3339(start), rfc3339(end), name] for start, end, name in self.stretches],
            "weekend": sorted(self.weekend),
        }

    @classmethod
    def from_dict(cls, name: str, raw: Mapping[str, Any]) -> ResolvedCalendar:
        """Read what `as_dict` wrote; `Invalid` when the stored form is damaged."""
        try:
            return cls(
                id=str(raw["id"]),
                name=name,
                revision=int(raw["revision"]),
                days={date.fromisoformat(day): called for called, days in raw["days"].items() for day in days},
                stretches=tuple(
                    (datetime.fromisoformat(start).astimezone(UTC), datetime.fromisoformat(end).astimezone(UTC), called)
                    for start, end, called in raw["stretches"]
                ),
                weekend=frozenset(raw["weekend"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Invalid("calendars", f"is damaged ({error})", got=name) from None

    def from_day(self, first: date, before: ResolvedCalendar) -> ResolvedCalendar:
        """Its own days from this day on, and those of an earlier revision until then."""
        earlier = {day: name for day, name in before.days.items() if day < first}
        return replace(self, days={**earlier, **{day: name for day, name in self.days.items() if day >= first}})

    def rule(self) -> TimeRule:
        return TimeRule(f"calendar {self.name}", self.days, self.stretches)


def read_entries(path: str, got: object) -> tuple[TimeEntry, ...]:
    """`exclude` or `only` of a request or of a stored spec: one entry, or a list."""
    listed = [got] if isinstance(got, str | Mapping) else got
    if not isinstance(listed, list | tuple):
        raise Invalid(path, _RULE, got=got)
    if len(listed) > MOST_ENTRIES:
        raise Invalid(path, f"must be at most {MOST_ENTRIES} entries", got=f"{len(listed)} entries")
    return tuple(_entry(f"{path}[{place}]", one) for place, one in enumerate(listed))


def _entry(path: str, got: object) -> TimeEntry:
    if isinstance(got, str):
        text = got.strip()
        if text.lower().startswith(CALENDAR_ENTRY):
            name = text[len(CALENDAR_ENTRY) :].strip()
            if not name:
                raise Invalid(path, "names no calendar", got=got)
            return CALENDAR_ENTRY + name
        first, last = read_range(path, text)
        return first.isoformat() if first == last else f"{first.isoformat()}/{last.isoformat()}"
    if isinstance(got, Mapping):
        return _hours_entry(path, got)
    raise Invalid(path, _RULE, got=got)


def read_range(path: str, text: str) -> tuple[date, date]:
    """The first and the last day of a date or a range."""
    start, _, end = text.partition("/")
    first = _day(start.strip())
    last = _day(end.strip()) if end.strip() else first
    if first is None or last is None:
        raise Invalid(path, _RULE, got=text[:200])
    if last < first:
        raise Invalid(path, "must not end before it begins", got=text)
    if (last - first).days >= LONGEST_RANGE:
        raise Invalid(path, f"must be at most {LONGEST_RANGE} days", got=text)
    return first, last


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _hours_entry(path: str, got: Mapping[str, Any]) -> dict[str, Any]:
    fields = Fields.of(path, got)
    start, end, days = fields.value("from"), fields.value("to"), fields.value("days")
    fields.finish()
    if (start is None) is not (end is None):
        raise Invalid(f"{path}.{'from' if start is None else 'to'}", "is required beside the other end")
    if start is None and days is None:
        raise Invalid(path, _RULE, got=dict(got))
    entry: dict[str, Any] = {}
    if start is not None:
        entry = {"from": _clock(f"{path}.from", start), "to": _clock(f"{path}.to", end)}
    if days is not None:
        entry["days"] = _weekdays(f"{path}.days", days)
    return entry


def _clock(path: str, got: object) -> str:
    if not isinstance(got, str) or not _CLOCK.fullmatch(got):
        raise Invalid(path, "must be a time of day such as 22:00", got=got)
    return got[:5] if got.endswith(":00") and len(got) > 5 else got


def _weekdays(path: str, got: object) -> list[str]:
    if not isinstance(got, list | tuple) or not got:
        raise Invalid(path, f"must be a list of weekdays: {', '.join(WEEKDAYS)}", got=got)
    found = set()
    for place, one in enumerate(got):
        word = one.strip().lower()[:3] if isinstance(one, str) else ""
        if word not in WEEKDAYS:
            raise Invalid(f"{path}[{place}]", f"must be one of {', '.join(WEEKDAYS)}", got=one)
        found.add(word)
    return [word for word in WEEKDAYS if word in found]


def calendar_names(entries: Sequence[TimeEntry]) -> list[str]:
    """The calendars that entries name."""
    found = [one[len(CALENDAR_ENTRY) :] for one in entries if isinstance(one, str) and one.startswith(CALENDAR_ENTRY)]
    return list(dict.fromkeys(found))


def rule_of(entry: TimeEntry, calendars: Mapping[str, ResolvedCalendar]) -> TimeRule:
    """An entry, resolved; a calendar that is not there excludes nothing."""
    if isinstance(entry, str):
        if entry.startswith(CALENDAR_ENTRY):
            name = entry[len(CALENDAR_ENTRY) :]
            return calendars[name].rule() if name in calendars else TimeRule(f"calendar {name}")
        first, last = read_range("", entry)
        days = {first + place * _DAY: "" for place in range((last - first).days + 1)}
        return TimeRule(entry if first == last else f"{first.isoformat()} to {last.isoformat()}", days)
    weekdays = [WEEKDAYS.index(one) for one in entry.get("days", WEEKDAYS)]
    on = "" if len(weekdays) == len(WEEKDAYS) else ", ".join(WEEKDAYS[one].capitalize() for one in weekdays)
    start, end = entry.get("from", "00:00"), entry.get("to", "00:00")
    hours = DailyHours(time.fromisoformat(start), time.fromisoformat(end), frozenset(weekdays))
    times = f"{start} to {end}" if "from" in entry else ""
    return TimeRule(" ".join(filter(None, [times, f"on {on}" if on and times else on])), hours=hours)
