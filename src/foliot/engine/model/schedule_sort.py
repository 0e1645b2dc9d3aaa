"""The orders in which schedules can be listed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum

from foliot.core.errors import Invalid


class SortKey(StrEnum):
    """What schedules are sorted by."""

    URGENCY = "urgency"
    FAILING = "failing"
    NEXT_RUN_AT = "next_run_at"
    LAST_RUN_AT = "last_run_at"
    DURATION = "duration"
    NAME = "name"
    CREATED_AT = "created_at"


class Urgency(StrEnum):
    """Why a schedule stands where it does in the order `urgency`, most urgent first."""

    FAILING = "failing"
    MISSED = "missed"
    LATE = "late"
    RUNNING = "running"
    SOON = "soon"
    IDLE = "idle"


SORTS = tuple(sign + key for key in SortKey for sign in ("", "-") if not sign or key not in {"urgency", "failing"})
"""Every value of `sort`: a key, or `-` and a key; two of them have one direction only."""


@dataclass(frozen=True, slots=True)
class ScheduleSort:
    """A key, ascending or descending. Schedules without a value come last, whatever the direction."""

    key: SortKey
    down: bool = False


def read_sort(text: str) -> ScheduleSort:
    """The order with this name; `Invalid` names those that are known."""
    if text not in SORTS:
        close = next(iter(difflib.get_close_matches(text[:100], SORTS, n=1)), None)
        meant = f"; did you mean {close}?" if close else ""
        raise Invalid("sort", f"must be one of {', '.join(SORTS)}{meant}", got=text, suggestion=close)
    return ScheduleSort(SortKey(text.removeprefix("-")), text.startswith("-"))
