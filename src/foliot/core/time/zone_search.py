"""Searches time zones by city, abbreviation, offset or IANA name."""

from __future__ import annotations

import re
from functools import lru_cache
from zoneinfo import available_timezones

from foliot.core.time.zone import UNPORTABLE

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

_OFFSET = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?")


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


def search_zones(text: str, limit: int) -> list[tuple[str, str]]:
    """(name, hint): exact names first, then what the abbreviation or offset means, then cities, then any part."""
    query = " ".join(text.lower().split()).replace(" ", "_")
    known = _by_lower()
    found: dict[str, str] = {}
    if query in SPOKEN:
        found[SPOKEN[query]] = f"{text.strip().upper()} as it is spoken of"
    if query in known:
        found.setdefault(known[query], "")
    if offset := _OFFSET.fullmatch(query):
        found |= _fixed(offset[1], int(offset[2]), int(offset[3] or 0))
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


def _begins_city(lower: str, query: str) -> bool:
    return lower.rpartition("/")[2].startswith(query)


def _begins(lower: str, query: str) -> bool:
    return lower.startswith(query)


def _holds(lower: str, query: str) -> bool:
    return query in lower
