"""Where a cron expression went wrong, and what may have been meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

FIELDS = 5


def pointed(expression: str, field: int, culprit: str, instead: str | None) -> tuple[tuple[int, int], str | None]:
    """Where in the expression the culprit stands, and the expression with something else in its place."""
    start, end = [found.span() for found in re.finditer(r"\S+", expression)][field]
    place = expression[start:end].upper().find(culprit)
    if culprit and place >= 0:
        start, end = start + place, min(start + place + len(culprit), end)
    meant = None if instead is None else f"{expression[:start]}{instead}{expression[end:]}".strip()
    return (start, end), meant


def wrapped(number: int, low: int, high: int) -> str:
    """The value that a clock would show: minute 61 is minute 1."""
    return str(low if number < low else low + (number - low) % (high - low + 1))


def near_name(text: str, names: Collection[str]) -> str | None:
    """MONDAY and MNO are MON."""
    if text[:3] in names:
        return text[:3]
    close = difflib.get_close_matches(text[:20], names, n=1)
    return close[0] if close else None


def near_macro(text: str, macros: Collection[str]) -> str | None:
    close = difflib.get_close_matches(text[:20], macros, n=1)
    return close[0].lower() if close else None


def fitted(expression: str) -> str | None:
    """With as many fields as there must be: what is missing is any, what is too much goes."""
    parts = expression.split()
    return " ".join([*parts, *["*"] * FIELDS][:FIELDS]) if parts else None
