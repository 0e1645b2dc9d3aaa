"""Errors in cron expressions: their position, and a suggestion."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

FIELDS = 5


def pointed(expression: str, field: int, culprit: str, instead: str | None) -> tuple[tuple[int, int], str | None]:
    """The position of the error, and the expression with a correction in its place."""
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
    """With the right number of fields: missing ones become `*`, surplus ones are dropped."""
    parts = expression.split()
    return " ".join([*parts, *["*"] * FIELDS][:FIELDS]) if parts else None
