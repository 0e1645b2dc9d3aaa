"""Times as people read them: local, in UTC, or relative to now."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from itertools import pairwise

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_FAR = 7 * 86_400
"""From here on a date says more than a number of days."""


def moment(text: object, *, utc: bool | None) -> str:
    """A time of the API, to the second: in UTC, or local with its offset."""
    at = _read(text)
    if at is None:
        return text if isinstance(text, str) else ""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z" if utc else f"{at.astimezone():%Y-%m-%d %H:%M:%S %z}"


def when(text: object, *, utc: bool | None, brief: bool) -> str:
    """A time for a table (`brief`) or a property: on a terminal with its distance from now, unless a flag says else."""
    at = _read(text)
    if at is None or utc is not None or not sys.stdout.isatty():
        return moment(text, utc=utc)
    distance = relative(at, now())
    if brief:
        return distance or f"{at.astimezone():%Y-%m-%d %H:%M}"
    return moment(text, utc=utc) + (f" ({distance})" if distance else "")


def relative(at: datetime, now: datetime) -> str:
    """`in 12 min`, `3 h 5 min ago`; empty for more than a week."""
    seconds = round((at - now).total_seconds())
    if abs(seconds) >= _FAR:
        return ""
    if not seconds:
        return "now"
    span = _span(abs(seconds))
    return f"in {span}" if seconds > 0 else f"{span} ago"


def _span(seconds: int) -> str:
    """The two largest units, the second only below a large first one: `3 h 5 min`, but `45 min`."""
    for (size, name), (smaller, below) in pairwise(_UNITS):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {name}" + (f" {rest} {below}" if rest and size > 60 else "")
    return f"{seconds} s"


def now() -> datetime:
    """The clock of this machine: it decides only how a time is worded."""
    return datetime.now(UTC)  # noqa: TID251 -- no decision depends on it, and commands have no injected clock


def _read(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
