"""Reads the parameter `sort`: a key, or `-` and a key for descending."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from foliot.core.errors import Invalid

K = TypeVar("K", bound=str)


@dataclass(frozen=True)
class SortOrder(Generic[K]):
    """A key, ascending or descending. What has no value comes last, whatever the direction."""

    key: K
    down: bool = False


def both_ways(keys: Iterable[K], one_way: Collection[K] = ()) -> tuple[str, ...]:
    """Every value of `sort`: each key, and, unless it has one direction only, `-` and the key."""
    return tuple(sign + key for key in keys for sign in ("", "-") if not sign or key not in one_way)


def written(value: object) -> str:
    """A value as part of a cursor."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def written_pair(value: object, row_id: str) -> str:
    """A position in a list of one segment: a value and an id."""
    return f"{written(value)}~{row_id}"


def read_sort(text: str, names: Collection[str]) -> tuple[str, bool]:
    """The key, and whether descending; `Invalid` lists the known values, and the closest one."""
    if text not in names:
        close = next(iter(difflib.get_close_matches(text[:100], names, n=1)), None)
        meant = f"; did you mean {close}?" if close else ""
        raise Invalid("sort", f"must be one of {', '.join(names)}{meant}", got=text, suggestion=close)
    return text.removeprefix("-"), text.startswith("-")
