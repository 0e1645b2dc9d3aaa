"""A calendar: public holidays, dates and iCalendar events under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Annotated, Any, cast

from annotated_types import MaxLen

from foliot.core.declaration import OR_NULL, Described, Name, Parsed, Wire, declared, read
from foliot.core.document import Fields, check_label, check_prose, rfc3339
from foliot.core.errors import Invalid
from foliot.core.time.resolved_calendar import WEEKEND, ResolvedCalendar, read_range
from foliot.features.calendars.model.events import MOST_ICS, events_of
from foliot.features.calendars.model.public_holidays import HolidayPlace, dates_of, holiday_place

CALENDAR = "cal"
MOST_CALENDARS = 100
"""Calendars of a tenant."""
MOST_DATES = 1000
"""Dates and ranges of one calendar."""
MOST_DAYS = 2000
"""Resolved days of one calendar: every version of a schedule that names it holds them."""
YEARS_BEHIND, YEARS_AHEAD = 1, 10
"""Years that a calendar is resolved for, from the present one."""
YEARS_LEFT = 5
"""A calendar is resolved further when fewer years than these are left."""
REFRESHED = timedelta(days=1)
"""How often public holidays are looked up again: a new version of Foliot may know others."""
LONGEST_LABEL = 100
_DAY = timedelta(days=1)


@declared
class NamedDate:
    """A day or a range of days, with a name."""

    date: Annotated[str, MaxLen(21), Described({"examples": ["2027-01-01", "2027-07-01/2027-07-31"]})]
    name: Annotated[str, MaxLen(LONGEST_LABEL)] = ""


Dates = tuple[tuple[date, date, str], ...]
"""First and last day of each, and its name."""


def _dates(path: str, got: object) -> Dates:
    if not isinstance(got, list | tuple):
        raise Invalid(path, "must be a list of dates", got=got)
    if len(got) > MOST_DATES:
        raise Invalid(path, f"must be at most {MOST_DATES:,}", got=f"{len(got):,} dates")
    return tuple(_date(f"{path}[{place}]", one) for place, one in enumerate(got))


def _date(path: str, got: object) -> tuple[date, date, str]:
    name = ""
    if isinstance(got, Mapping):
        fields = Fields.of(path, got)
        text, name = fields.value("date"), fields.text("name", "", most=LONGEST_LABEL).strip()
        fields.finish()
        if name:
            check_label(f"{path}.name", name)
        path = f"{path}.date"
    else:
        text = got
    if not isinstance(text, str):
        raise Invalid(path, 'must be a date such as "2027-01-01", or a range such as "2027-07-01/2027-07-31"', got=text)
    return *read_range(path, text), name


def _ics(path: str, got: object) -> str:
    if not isinstance(got, str):
        raise Invalid(path, "must be the text of an iCalendar file", got=got)
    if len(got.encode()) > MOST_ICS:
        raise Invalid(path, f"must be at most {MOST_ICS // 1024} KiB", got=f"{len(got.encode()) // 1024} KiB")
    if "\x00" in got:
        raise Invalid(path, "must not contain the character U+0000")
    return got


@declared(
    frozen=True,
    example={"name": "SE", "holidays": "SE", "dates": [{"date": "2027-06-24/2027-06-25", "name": "Midsummer break"}]},
)
class NamedCalendarRequest:
    """A calendar. Schedules name it as `calendar:NAME` in `exclude` and `only`."""

    name: Name
    description: Annotated[str, MaxLen(1000), OR_NULL] = ""
    holidays: Annotated[str | None, MaxLen(20), Described({"examples": ["SE", "US", "DE"]})] = None
    """The public holidays of a country, by its ISO 3166 code."""
    subdivision: Annotated[str | None, MaxLen(20), Described({"examples": ["BY"]})] = None
    """A state or region of the country, which adds holidays of its own."""
    dates: Annotated[Dates, Wire(Annotated[list[str | NamedDate], MaxLen(MOST_DATES)]), Parsed(_dates), OR_NULL] = ()
    """Days and ranges of days: `2027-01-01`, `2027-07-01/2027-07-31`, or with a name."""
    ics: Annotated[
        str | None, Described({"description": f"The text of an iCalendar file, at most {MOST_ICS // 1024} KiB."}),
        Parsed(_ics),
    ] = None  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarSettings:
    """What a calendar is made of."""

    name: str
    description: str = ""
    place: HolidayPlace | None = None
    dates: Dates = ()
    ics: str = ""

    @classmethod
    def of(cls, raw: object) -> CalendarSettings:
        """From a request; `Invalid` names the field."""
        asked = read(NamedCalendarRequest, raw)
        if "/" in asked.name:
            raise Invalid("name", "must not contain a slash", got=asked.name)
        check_prose("description", asked.description)
        if asked.subdivision and not asked.holidays:
            raise Invalid("subdivision", "needs 'holidays': the country it belongs to")
        place = holiday_place(asked.holidays, asked.subdivision) if asked.holidays else None
        ics = asked.ics or ""
        if place is None and not asked.dates and not ics:
            raise Invalid("holidays", "is required, or 'dates', or 'ics': the calendar would be empty")
        return cls(name=asked.name, description=asked.description, place=place, dates=asked.dates, ics=ics)

    def as_request(self) -> dict[str, Any]:
        """The request that would create it, without the text of the iCalendar file."""
        return {
            "name": self.name,
            "description": self.description,
            "holidays": None if self.place is None else self.place.country,
            "subdivision": None if self.place is None else self.place.subdivision,
            "dates": [_date_text(*one) for one in self.dates],
        }

    @property
    def moves(self) -> bool:
        """Whether time adds days to it."""
        return self.place is not None or "RRULE" in self.ics.upper()


def _date_text(first: date, last: date, name: str) -> str | dict[str, str]:
    text = first.isoformat() if first == last else f"{first.isoformat()}/{last.isoformat()}"
    return {"date": text, "name": name} if name else text


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCalendar:
    """A calendar with the days that it stands for now."""

    id: str
    tenant_id: str
    settings: CalendarSettings
    resolved: ResolvedCalendar
    until: datetime
    """Up to when it is resolved."""
    refresh_at: datetime | None
    created_by: str
    created_at: datetime
    updated_at: datetime
    schedules: int = field(default=0, compare=False)
    """How many name it."""

    def audited(self) -> dict[str, Any]:
        """As the audit log records it."""
        return {
            **self.settings.as_request(),
            "ics_bytes": len(self.settings.ics.encode()),
            "revision": self.resolved.revision,
            "days": len(self.resolved.days) + len(self.resolved.stretches),
            "until": rfc3339(self.until),
        }


def covered(now: datetime) -> tuple[date, date]:
    """The first and the last day that a calendar is resolved for."""
    return date(now.year - YEARS_BEHIND, 1, 1), date(now.year + YEARS_AHEAD, 12, 31)


def resolve(settings: CalendarSettings, known: tuple[str, int], now: datetime, zone: str) -> ResolvedCalendar:
    """The days that the settings stand for. `known` is the id and the revision; `zone` that of floating events."""
    first, last = covered(now)
    days: dict[date, str] = {}
    weekend = WEEKEND
    if settings.place is not None:
        found = dates_of(settings.place, first.year, last.year)
        days, weekend = dict(found.days), found.weekend
    for start, end, name in settings.dates:
        for place in range((end - start).days + 1):
            days[start + place * _DAY] = name or days.get(start + place * _DAY, "")
    stretches: list[tuple[datetime, datetime, str]] = []
    if settings.ics:
        for event in events_of(settings.ics, first, last, zone):
            if isinstance(event.start, datetime):
                stretches.append((event.start, cast("datetime", event.end), event.name))
                continue
            for place in range((event.end - event.start).days):
                days.setdefault(event.start + place * _DAY, event.name)
    if len(days) + len(stretches) > MOST_DAYS:
        raise Invalid(
            "ics" if settings.ics else "dates",
            f"stands for {len(days) + len(stretches):,} days and events up to {last.isoformat()}; "
            f"a calendar has at most {MOST_DAYS:,}",
        )
    return ResolvedCalendar(
        id=known[0], name=settings.name, revision=known[1], days=days, stretches=tuple(sorted(stretches)),
        weekend=weekend,
    )  # fmt: skip


def differs(before: ResolvedCalendar, after: ResolvedCalendar, since: date, until: date) -> bool:
    """Whether the two stand for other days of [since, until)."""

    def part(one: ResolvedCalendar) -> tuple[object, ...]:
        days = {day: name for day, name in one.days.items() if since <= day < until}
        stretches = [each for each in one.stretches if since <= each[1].date() and each[0].date() < until]
        return days, stretches, one.weekend

    return part(before) != part(after)
