"""Times as people ask for them: on the clock of a schedule."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

CLOCK_TIME = re.compile(r"(?:(\d{4}-\d{2}-\d{2})[ T])?(\d{1,2}:\d{2}(?::\d{2})?)")


def on_clock(text: str, zone: tzinfo, now: datetime) -> datetime | None:
    """A time of day, with or without a date, on this clock; today without one. None for text of another form, and
    `ValueError` for a time that no clock shows."""
    found = CLOCK_TIME.fullmatch(text.strip())
    if found is None:
        return None
    day = found[1] or f"{now.astimezone(zone):%Y-%m-%d}"
    return (
        datetime.fromisoformat(f"{day}T{found[2].zfill(8 if found[2].count(':') == 2 else 5)}")
        .replace(tzinfo=zone)
        .astimezone(UTC)
    )
