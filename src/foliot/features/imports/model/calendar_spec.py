"""Calendar specifications of systemd (`OnCalendar=`) as cron expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from foliot.core.document import rfc3339
from foliot.core.time.zone import zone_info
from foliot.features.imports.model.cron_values import LIMITS, as_field, joined_by_and
from foliot.features.imports.model.imported import UnknownTerm, checked_zone

_SHORT = {
    "minutely": "*-*-* *:*:00",
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
    "quarterly": "*-01,04,07,10-01 00:00:00",
    "semiannually": "*-01,07-01 00:00:00",
    "semi-annually": "*-01,07-01 00:00:00",
    "bi-annually": "*-01,07-01 00:00:00",
    "biannually": "*-01,07-01 00:00:00",
    "yearly": "*-01-01 00:00:00",
    "annually": "*-01-01 00:00:00",
    "anually": "*-01-01 00:00:00",
}
_WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_WEEKDAY_WORD = re.compile(r"[A-Za-z]{3,9}(?:(?:\.\.|-|,)[A-Za-z]{3,9})*,?")
_DATE = re.compile(r"(?:(?P<year>[^-~:]+)-)?(?P<month>[^-~:]+)(?P<sign>[-~])(?P<day>[^-~:]+)")
_TIME = re.compile(r"(?P<hour>[^:]+):(?P<minute>[^:]+)(?::(?P<second>[^:]+))?")
_YEARS = re.compile(r"(\d{4})(?:\.\.(\d{4}))?")
_PART = re.compile(r"(?P<first>\d+)(?:\.\.(?P<last>\d+))?(?:/(?P<step>\d+))?")


def calendar_trigger(text: str, zone: str) -> dict[str, Any]:
    """Weekday, date and time must all match; `zone` is for a specification that names none."""
    words = _SHORT.get(text.strip().lower(), text.strip()).split()
    weekdays, date, time = "*", "*-*-*", "00:00:00"
    if words and _WEEKDAY_WORD.fullmatch(words[0]) and words[0][:3].lower() in {one[:3] for one in _WEEKDAYS}:
        weekdays = _weekdays(words.pop(0))
    if words and _DATE.fullmatch(words[0]):
        date = words.pop(0)
    if words and _TIME.fullmatch(words[0]):
        time = words.pop(0)
    if words:
        zone = words.pop(0)
    if words or text.strip() == "":
        raise UnknownTerm(f"OnCalendar={text!r} cannot be read")
    named = checked_zone(zone)
    return {**_cron(text, weekdays, date, time), "timezone": named, **_bounds(text, date, named)}


def _cron(text: str, weekdays: str, date: str, time: str) -> dict[str, Any]:
    dated, timed = _DATE.fullmatch(date), _TIME.fullmatch(time)
    if dated is None or timed is None:
        raise UnknownTerm(f"OnCalendar={text!r} cannot be read")
    day = "L" if _last_day(text, dated["sign"], dated["day"]) else _field(text, dated["day"], "day")
    month = _field(text, dated["month"], "month")
    minute, hour = _field(text, timed["minute"], "minute"), _field(text, timed["hour"], "hour")
    expression = f"{minute} {hour} {day} {month} {joined_by_and(day, weekdays)}"
    second = _field(text, timed["second"] or "00", "second")
    return {"type": "cron", "cron_expr": expression if second == "0" else f"{second} {expression}"}


def _last_day(text: str, sign: str, day: str) -> bool:
    if sign == "-":
        return False
    if day not in {"1", "01"}:
        raise UnknownTerm(
            f"OnCalendar={text!r}: only the last of the days counted from a month's end has an equivalent"
        )
    return True


def _weekdays(text: str) -> str:
    values: set[int] = set()
    for part in filter(None, text.split(",")):
        first, dots, last = part.replace("..", "-").partition("-")
        start = _weekday(first)
        end = _weekday(last) if dots else start
        # Weeks begin with Monday.
        if (start or 7) > (end or 7):
            raise UnknownTerm(f"{text!r}: a range of weekdays ends at Sunday at the latest")
        values |= {value % 7 for value in range(start or 7, (end or 7) + 1)}
    return as_field(values, "weekday")


def _weekday(name: str) -> int:
    lowered = name.lower()
    for number, whole in enumerate(_WEEKDAYS):
        if lowered in {whole, whole[:3]}:
            return number
    raise UnknownTerm(f"{name!r} is no weekday")


def _field(text: str, field: str, unit: str) -> str:
    if field == "*":
        return "*"
    low, high = LIMITS[unit]
    values = set(_values(text, field, high))
    if not values or not values <= set(range(low, high + 1)):
        raise UnknownTerm(f"OnCalendar={text!r}: {unit} must be within {low}-{high}")
    return as_field(values, unit)


def _values(text: str, field: str, high: int) -> Iterable[int]:
    for part in field.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise UnknownTerm(f"OnCalendar={text!r}: {part!r} has no equivalent")
        first = int(found["first"])
        last = int(found["last"]) if found["last"] else high if found["step"] else first
        step = int(found["step"] or 1)
        if step == 0 or last < first:
            raise UnknownTerm(f"OnCalendar={text!r}: {part!r} names nothing")
        yield from range(first, last + 1, step)


def _bounds(text: str, date: str, zone: str) -> dict[str, Any]:
    """The moments between which a specification with years fires."""
    dated = _DATE.fullmatch(date)
    year = "*" if dated is None else dated["year"] or "*"
    if year == "*":
        return {}
    years = _YEARS.fullmatch(year)
    if years is None:
        raise UnknownTerm(f"OnCalendar={text!r}: give one year, or a range")
    info = zone_info(zone)
    begin, end = (datetime(number, 1, 1, tzinfo=info) for number in (int(years[1]), int(years[2] or years[1]) + 1))
    return {"start_at": rfc3339(begin.astimezone(UTC)), "end_at": rfc3339(end.astimezone(UTC))}
