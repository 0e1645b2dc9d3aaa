"""The orders in which runs can be listed."""

from __future__ import annotations

from enum import StrEnum

from foliot.core import sort
from foliot.core.sort import SortOrder


class RunSortKey(StrEnum):
    """What runs are sorted by."""

    CREATED_AT = "created_at"
    SCHEDULED_FOR = "scheduled_for"
    STARTED_AT = "started_at"
    DURATION = "duration"
    STATE = "state"


RUN_SORTS = sort.both_ways(RunSortKey)
RunSort = SortOrder[RunSortKey]


def read_run_sort(text: str) -> RunSort:
    """The order with this name; `Invalid` names those that are known."""
    key, down = sort.read_sort(text, RUN_SORTS)
    return RunSort(RunSortKey(key), down)
