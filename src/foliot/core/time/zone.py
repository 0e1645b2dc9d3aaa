"""Time zones: names, spans with one offset, the hours and days of a zone's calendar, and a search by city or offset."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from foliot.core.errors import Invalid

LIMIT = 64

# Offsets are sampled, since zoneinfo does not expose its transitions. No zone of tzdata has changed its offset twice
# within 601,200 s since 1970 (Asia/Gaza in 2040 is the closest), and STRIDE is shorter than that.
STRIDE = 1 << 19
CHUNK = STRIDE << 6

# From 1970 into 3033: more than the moments that Foliot accepts, and an end to searches that find nothing.
EARLIEST, LATEST = 0, 1000 * CHUNK

# Present on some machines only, or counting leap seconds.
UNPORTABLE = ("posix/", "right/", "localtime", "posixrules", "Factory")


class OffsetSpan(NamedTuple):
    """A stretch [start, end) of epoch seconds with one offset; `before` is the offset that ended at `start`."""

    start: int
    end: int
    offset: int
    before: int


def zone_info(name: object) -> ZoneInfo:
    """The zone of that name, or Invalid with the nearest name that exists."""
    if not isinstance(name, str) or not 0 < len(name) <= LIMIT or name.startswith(UNPORTABLE):
        raise Invalid("timezone", "is not a time zone", got=name if len(repr(name)) < 2 * LIMIT else "a long value")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; a path out of the tree; a directory
        raise Invalid("timezone", f"is not a known time zone{_suggestion(name)}", got=name) from None


def spans(name: str, moment: int) -> Iterator[OffsetSpan]:
    """Every span from the one that holds `moment` on."""
    chunk = max(moment, EARLIEST) // CHUNK
    while chunk < LATEST // CHUNK:
        for span in _chunk(name, chunk):
            if span.end > moment:
                yield span
        chunk += 1


@lru_cache(maxsize=8192)
def _chunk(name: str, number: int) -> tuple[OffsetSpan, ...]:
    """The spans of one fixed stretch of time; its edges look like transitions that change nothing."""
    zone = zone_info(name)
    start, end = number * CHUNK, (number + 1) * CHUNK
    found = []
    before = _offset(zone, start - 1)
    offset = _offset(zone, start)
    for low in range(start, end, STRIDE):
        high = low + STRIDE - 1
        later = _offset(zone, high)
        if later != offset:
            change = _change(zone, low - 1, high)
            found.append(OffsetSpan(start, change, offset, before))
            start, before, offset = change, offset, later
    found.append(OffsetSpan(start, end, offset, before))
    return tuple(found)


def _change(zone: ZoneInfo, low: int, high: int) -> int:
    """The second in (low, high] at which the offset becomes what it is at `high`."""
    target = _offset(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == target:
            high = middle
        else:
            low = middle
    return high


def _offset(zone: ZoneInfo, moment: int) -> int:
    offset = datetime.fromtimestamp(moment, zone).utcoffset()
    return offset.days * 86_400 + offset.seconds if offset else 0


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def _suggestion(name: str) -> str:
    names = _names()
    known = name.lower().replace(" ", "_")
    if near := difflib.get_close_matches(known, names, n=1, cutoff=0.8):
        return f"; did you mean {names[near[0]]}?"
    # "Stockholm" is far from "Europe/Stockholm" by letters, yet it is what people type.
    cities = [full for lower, full in names.items() if lower.rpartition("/")[2] == known]
    return f"; did you mean {min(cities)}?" if cities else ""


SPOKEN = {
    "pt": "America/Los_Angeles",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "mt": "America/Denver",
    "mst": "America/Denver",
    "mdt": "America/Denver",
    "ct": "America/Chicago",
    "cst": "America/Chicago",
    "cdt": "America/Chicago",
    "et": "America/New_York",
    "est": "America/New_York",
    "edt": "America/New_York",
    "gmt": "Etc/GMT",
    "bst": "Europe/London",
    "wet": "Europe/Lisbon",
    "cet": "Europe/Berlin",
    "cest": "Europe/Berlin",
    "eet": "Europe/Athens",
    "eest": "Europe/Athens",
    "msk": "Europe/Moscow",
    "ist": "Asia/Kolkata",
    "sgt": "Asia/Singapore",
    "jst": "Asia/Tokyo",
    "kst": "Asia/Seoul",
    "aest": "Australia/Sydney",
    "nzst": "Pacific/Auckland",
    "utc": "UTC",
    "z": "UTC",
}
"""The usual meaning of an abbreviation; the hint of a suggestion says how it was understood."""

_OFFSET = re.compile(r"(?:utc|gmt)?_?([+−-])_?(\d{1,2})(?::?(\d{2}))?", re.ASCII)


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Every portable IANA name, in order."""
    return tuple(sorted(name for name in available_timezones() if not name.startswith(UNPORTABLE)))


@lru_cache(maxsize=1)
def _by_lower() -> dict[str, str]:
    return {name.lower(): name for name in zone_names()}


def find_zone(text: str) -> str | None:
    """The one zone that this names; None when there is none, or when it is ambiguous."""
    found = search_zones(text, 1)
    query = text.strip().lower()
    if not found:
        return None
    name, _ = found[0]
    whole = query in {name.lower(), name.lower().rpartition("/")[2].replace("_", " ")} or query in SPOKEN
    return name if whole or _OFFSET.fullmatch(query) else None


def search_zones(text: str, limit: int, now: datetime | None = None) -> list[tuple[str, str]]:
    """(name, hint): exact names first, then what the abbreviation or offset means, then cities, then any part.

    An offset such as +05:30 finds the zones that have it at `now`; without `now`, only one that always has it.
    """
    query = " ".join(text.lower().split()).replace(" ", "_")
    known = _by_lower()
    found: dict[str, str] = {}
    if query in SPOKEN:
        found[SPOKEN[query]] = f"{text.strip().upper()} as it is spoken of"
    if query in known:
        found.setdefault(known[query], "")
    if offset := _OFFSET.fullmatch(query):
        sign, hours, minutes = "+" if offset[1] == "+" else "-", int(offset[2]), int(offset[3] or 0)
        found |= _fixed(sign, hours, minutes)
        if now is not None:
            found |= _having(timedelta(hours=hours, minutes=minutes) * (1 if sign == "+" else -1), now)
    for hit in (_begins_city, _begins, _holds):
        for lower, name in known.items():
            if len(found) >= limit:
                return list(found.items())[:limit]
            if hit(lower, query):
                found.setdefault(name, "")
    return list(found.items())[:limit]


def _fixed(sign: str, hours: int, minutes: int) -> dict[str, str]:
    """A zone with this fixed offset. The signs of their names are inverted: Etc/GMT-1 is an hour ahead of UTC."""
    if minutes or hours > (14 if sign == "+" else 12):
        return {}
    if hours == 0:
        return {"UTC": "always +00:00"}
    name = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    return {name: f"always {sign}{hours:02}:00, no daylight saving"} if name in zone_names() else {}


def _having(offset: timedelta, now: datetime) -> dict[str, str]:
    """The zones with this offset now, those with an abbreviation of their own first."""
    familiar = set(SPOKEN.values())
    named = [name for name in zone_names() if "/" in name and not name.startswith("Etc/")]
    having = [name for name in named if now.astimezone(zone_info(name)).utcoffset() == offset]
    hours, minutes = divmod(abs(offset) // timedelta(minutes=1), 60)
    hint = f"now {'-' if offset < timedelta(0) else '+'}{hours:02}:{minutes:02}"
    return dict.fromkeys(sorted(having, key=lambda name: (name not in familiar, name)), hint)


def _begins_city(lower: str, query: str) -> bool:
    return lower.rpartition("/")[2].startswith(query)


def _begins(lower: str, query: str) -> bool:
    return lower.startswith(query)


def _holds(lower: str, query: str) -> bool:
    return query in lower


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
