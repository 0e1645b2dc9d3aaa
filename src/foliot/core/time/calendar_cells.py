"""Divides a period into the hours or days of a zone's calendar, also across clock changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from foliot.core.time.zone import zone_info

MOST = 10_000
"""Limit on the number of cells."""


class Granularity(StrEnum):
    """The length of a cell."""

    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class CalendarTile:
    """One hour or day: [start, end) in UTC, and how its beginning reads in the zone."""

    start: datetime
    end: datetime
    local: str

    @property
    def length(self) -> timedelta:
        return self.end - self.start


def tiles(start: datetime, end: datetime, granularity: Granularity, zone: str) -> list[CalendarTile]:
    """The cells that overlap [start, end), as wholes: the first begins at or before `start`."""
    info = zone_info(zone)
    found: list[CalendarTile] = []
    local = start.astimezone(info).replace(minute=0, second=0, microsecond=0)
    if granularity is Granularity.DAY:
        local = local.replace(hour=0, fold=0)
    at = local.astimezone(UTC)
    while at < end and len(found) < MOST:
        if granularity is Granularity.DAY:
            # By the calendar: a day has 23 or 25 hours where the clock changes.
            day = at.astimezone(info).date() + timedelta(days=1)
            following = datetime(day.year, day.month, day.day, tzinfo=info).astimezone(UTC)
        else:
            following = _next_hour(at, zone)
        found.append(CalendarTile(at, following, at.astimezone(info).isoformat()))
        at = following
    return found


def _next_hour(at: datetime, zone: str) -> datetime:
    """An hour later, or sooner where the clock jumps in between by less than that."""
    info = zone_info(zone)
    local = (at + timedelta(hours=1)).astimezone(info)
    past = timedelta(minutes=local.minute, seconds=local.second)
    following = at + timedelta(hours=1) - past
    return following if following > at else at + timedelta(hours=1)
