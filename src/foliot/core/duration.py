"""Durations in requests: `90s`, `15m`, `4h`, `7d`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from foliot.core.errors import Invalid

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d{1,6})([smhdw])")


def duration_between(least: timedelta, most: timedelta) -> Callable[[str, Any], timedelta]:
    """Reads `90s`, `15m`, `4h`, `7d` within these bounds."""

    def parse(path: str, raw: object) -> timedelta:
        found = _DURATION.fullmatch(raw.strip()) if isinstance(raw, str) else None
        if found is None:
            raise Invalid(path, "must be a duration such as 15m, 4h or 7d", got=raw)
        duration = timedelta(seconds=int(found[1]) * _UNITS[found[2]])
        if not least <= duration <= most:
            bounds = f"{shown_duration(least)} to {shown_duration(most)}"
            raise Invalid(path, f"must be a duration from {bounds}", got=raw)
        return duration

    return parse


def shown_duration(duration: timedelta) -> str:
    """The shortest form that reads as the same duration: `90s`, `4h`, `7d`."""
    seconds = int(duration.total_seconds())
    unit = next(unit for unit in reversed(_UNITS) if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"
