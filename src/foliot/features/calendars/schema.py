"""Answers about calendars."""

from __future__ import annotations

from datetime import date, datetime

from foliot.core.declaration import declared
from foliot.features.calendars.model.calendar import NamedDate, StoredCalendar

MOST_UPCOMING = 50
Day = date


@declared
class CalendarDay:
    """A day, or a stretch of time, that a calendar stands for."""

    date: Day
    name: str
    start_at: datetime | None = None
    """Null for a whole day."""
    end_at: datetime | None = None


@declared
class NamedCalendar:
    """A calendar with its next days."""

    id: str
    name: str
    description: str
    holidays: str | None
    subdivision: str | None
    dates: list[str | NamedDate]
    ics: str | None
    """The text of its iCalendar file; null in lists."""
    revision: int
    """Raised by each change; schedules get a new version then."""
    days: int
    """How many days and events it stands for, past and future."""
    schedules: int
    """How many name it."""
    resolved_until: datetime
    """Up to when public holidays and recurring events are known; it moves on by itself."""
    upcoming: list[CalendarDay]
    """The next of them, at most fifty."""
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, one: StoredCalendar, now: datetime, *, whole: bool = True) -> NamedCalendar:
        settings = one.settings.as_request()
        return cls(
            id=one.id,
            name=one.settings.name,
            description=one.settings.description,
            holidays=settings["holidays"],
            subdivision=settings["subdivision"],
            dates=[each if isinstance(each, str) else NamedDate(**each) for each in settings["dates"]],
            ics=(one.settings.ics or None) if whole else None,
            revision=one.resolved.revision,
            days=len(one.resolved.days) + len(one.resolved.stretches),
            schedules=one.schedules,
            resolved_until=one.until,
            upcoming=_upcoming(one, now),
            created_by=one.created_by,
            created_at=one.created_at,
            updated_at=one.updated_at,
        )


@declared
class NamedCalendarPage:
    """A page of calendars."""

    items: list[NamedCalendar]
    next_cursor: str | None


@declared
class HolidayCountry:
    """A country whose public holidays are known."""

    code: str
    subdivisions: list[str]


@declared
class HolidayCountries:
    """All of them."""

    items: list[HolidayCountry]


def _upcoming(one: StoredCalendar, now: datetime) -> list[CalendarDay]:
    days = [CalendarDay(date=day, name=name) for day, name in one.resolved.days.items() if day >= now.date()]
    days += [
        CalendarDay(date=start.date(), name=name, start_at=start, end_at=end)
        for start, end, name in one.resolved.stretches
        if end > now
    ]
    return sorted(days, key=lambda each: (each.date, each.start_at is not None))[:MOST_UPCOMING]
