"""Groups of schedules that are due alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foliot.engine.model.planned_counts import FiringState


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """So many schedules with the same trigger, next instant and labels."""

    state: FiringState
    number: int
    kind: str = ""
    tags: tuple[str, ...] = ()
    queue: str = ""


@dataclass(frozen=True, slots=True)
class PlannedGroups:
    """Every group, or, with `more`, as many as one answer can hold."""

    items: Sequence[PlannedGroup]
    more: bool

    @property
    def number(self) -> int:
        return sum(one.number for one in self.items)
