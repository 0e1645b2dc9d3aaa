"""Time zones: their names, and the spans over which their offset stays the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import datetime
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
