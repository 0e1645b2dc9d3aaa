"""Sets of numbers as fields of a cron expression."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

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
