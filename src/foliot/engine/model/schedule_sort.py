"""The orders in which schedules can be listed."""

from __future__ import annotations

from enum import StrEnum

from foliot.core import sort
from foliot.core.sort import SortOrder


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


SORTS = sort.both_ways(SortKey, one_way=(SortKey.URGENCY, SortKey.FAILING))
ScheduleSort = SortOrder[SortKey]


def read_sort(text: str) -> ScheduleSort:
    """The order with this name; `Invalid` names those that are known."""
    key, down = sort.read_sort(text, SORTS)
    return ScheduleSort(SortKey(key), down)
