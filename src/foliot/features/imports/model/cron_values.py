"""Sets of numbers as fields of a cron expression, and fields of other crons as sets of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from foliot.features.imports.model.imported import UnknownTerm

LIMITS = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 6)}
"""The lowest and highest value of each field; Sunday is weekday 0."""


def as_field(values: Iterable[int], unit: str, *, star: bool = True) -> str:
    """The shortest field that names exactly these values.

    Without `star` it never begins with `*`, which decides how day and weekday are joined, and whether an expression
    follows real time when clocks change.
    """
    low, high = LIMITS[unit]
    ordered = sorted(set(values))
    if ordered == list(range(low, high + 1)):
        return "*" if star else f"{low}-{high}"
    step = _step(ordered)
    if step > 1 and len(ordered) > 2:
        whole = ordered[0] == low and ordered[-1] + step > high
        return f"*/{step}" if whole and star else f"{ordered[0]}-{ordered[-1]}/{step}"
    return ",".join(_ranges(ordered))


def _step(ordered: list[int]) -> int:
    """The distance between all neighbours; 0 when they differ."""
    steps = {later - earlier for earlier, later in pairwise(ordered)}
    return steps.pop() if len(steps) == 1 else 0


def _ranges(ordered: list[int]) -> Iterable[str]:
    start = previous = ordered[0]
    for value in [*ordered[1:], None]:
        if value is not None and value == previous + 1:
            previous = value
            continue
        if previous - start >= 2:
            yield f"{start}-{previous}"
        else:
            yield from map(str, range(start, previous + 1))
        if value is not None:
            start = previous = value


def joined_by_and(day: str, weekday: str) -> str:
    """The weekday field of an expression whose day and weekday must both match."""
    if day.startswith("*") or weekday.startswith("*"):
        return weekday
    return f"{weekday}&"


UNITS = ("minute", "hour", "day", "month", "weekday")
_PART = re.compile(r"(?P<first>[^-/]+)(?:-(?P<last>[^-/]+))?(?:/(?P<step>\d+))?")
_NAMES = {
    "month": ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "weekday": ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
_STARS = frozenset({"*", "?", "*/1", "?/1"})


def joined_by_or(fields: Sequence[str], *, last_weekday: int = 6) -> str:
    """The expression for five fields whose day and weekday are joined by OR, unless one of them is a star.

    Here, too, a field that begins with a star joins them by AND; but `*/2` is no star there.
    """
    values = {unit: _numbers(field, unit, last_weekday) for unit, field in zip(UNITS, fields, strict=True)}
    starred = {unit for unit, field in zip(UNITS, fields, strict=True) if _STARS & set(field.split(","))}
    either = set() if starred & {"day", "weekday"} else {"day", "weekday"}
    return " ".join("*" if unit in starred else as_field(values[unit], unit, star=unit not in either) for unit in UNITS)


def _numbers(field: str, unit: str, last_weekday: int) -> set[int]:
    low, high = LIMITS[unit]
    high = last_weekday if unit == "weekday" else high
    values: set[int] = set()
    for part in field.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise UnknownTerm(f"{unit}: {part!r} cannot be read")
        if found["first"] in {"*", "?"}:
            start, end = low, LIMITS[unit][1]
        else:
            start = _number(found["first"], unit)
            # `5/15` is 5-59/15.
            end = _number(found["last"], unit) if found["last"] else LIMITS[unit][1] if found["step"] else start
        step = int(found["step"] or 1)
        if step == 0 or not low <= start <= end <= high:
            raise UnknownTerm(f"{unit}: {part!r} must be within {low}-{high}")
        values |= set(range(start, end + 1, step))
    return {value % 7 for value in values} if unit == "weekday" else values


def _number(text: str, unit: str) -> int:
    if text.isdigit():
        return int(text)
    names = _NAMES.get(unit, ())
    if text.lower() in names:
        return names.index(text.lower()) + LIMITS[unit][0]
    raise UnknownTerm(f"{unit}: {text!r} is not known")
