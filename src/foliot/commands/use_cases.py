"""The use cases of one process, looked up by their type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from foliot.wakeups.feed import Feed

T = TypeVar("T")


class UseCases:
    """The use cases of one process, for interfaces to call: `cases[Schedules].pause(…)`."""

    __slots__ = ("_by_type", "feed")

    def __init__(self, feed: Feed, cases: Iterable[object]) -> None:
        self.feed = feed
        self._by_type: dict[type[Any], Any] = {type(case): case for case in cases}

    def __getitem__(self, kind: type[T]) -> T:
        case: T = self._by_type[kind]
        return case

    def but(self, *cases: object) -> UseCases:
        """A copy with these instances in place of those of the same type."""
        return UseCases(self.feed, [*self._by_type.values(), *cases])
