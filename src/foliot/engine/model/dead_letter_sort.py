"""The orders in which groups of dead letters can be listed."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from foliot.core import sort
from foliot.core.sort import SortOrder, written_pair


class DeadLetterSortKey(StrEnum):
    """What groups of dead letters are sorted by."""

    LAST_AT = "last_at"
    FIRST_AT = "first_at"
    COUNT = "count"


DEAD_LETTER_SORTS = sort.both_ways(DeadLetterSortKey)
DeadLetterSort = SortOrder[DeadLetterSortKey]


def read_dead_letter_sort(text: str | None) -> DeadLetterSort | None:
    """The order with this name, None for none; `Invalid` names those that are known."""
    if text is None:
        return None
    key, down = sort.read_sort(text, DEAD_LETTER_SORTS)
    return DeadLetterSort(DeadLetterSortKey(key), down)


def group_place(group: Any, newest: str, sort: DeadLetterSort | None) -> str:
    """The position of what follows this group, which has `count`, `first_at` and `last_at`."""
    return newest if sort is None else written_pair(getattr(group, sort.key.value), newest)
