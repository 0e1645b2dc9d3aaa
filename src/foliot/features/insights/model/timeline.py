"""The timeline: past runs and planned instants as marks, of limited number.

Where marks are too dense, they are folded: neighbours of the same state become one, with their count. Groups with
the most marks are folded first, so that frequent schedules never hide rare ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.run import FAILURES

MOST_MARKS = 2000
LEAST = 4
"""Marks that every group may have."""
PLANNED = "planned"
UNMADE = frozenset({LedgerKind.MISSED.value, LedgerKind.SKIPPED.value})
"""States of instants that made no run: a range of them is one mark to begin with."""
TROUBLE = frozenset({*(state.value for state in FAILURES), LedgerKind.MISSED.value})
WIDTHS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)


class TimelineGrouping(StrEnum):
    """What a row of a timeline stands for."""

    SCHEDULE = "schedule"
    TAG = "tag"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """A mark: a run, planned instants, instants that made no run; or `count` of the same."""

    at: datetime
    until: datetime | None
    state: str
    count: int = 1
    run_id: str | None = None


@dataclass(slots=True)
class TimelineLane:
    """One row."""

    key: str
    name: str
    kind: str | None = None
    schedule_id: str | None = None
    summary: str | None = None
    timezone: str | None = None
    marks: list[TimelinePoint] = field(default_factory=list)
    folded: bool = False
    due: datetime | None = None
    """When its first planned instant is due; known before its marks are computed."""

    @property
    def runs(self) -> int:
        return sum(mark.count for mark in self.marks if mark.state not in {PLANNED, *UNMADE})

    @property
    def planned(self) -> int:
        return sum(mark.count for mark in self.marks if mark.state == PLANNED)

    @property
    def troubled(self) -> bool:
        return any(mark.state in TROUBLE for mark in self.marks)


def width_of(span: timedelta, buckets: int) -> int:
    """A round bucket width in seconds, so that there are at most so many buckets."""
    seconds = span.total_seconds()
    return next((width for width in WIDTHS if seconds / width <= buckets), 0) or int(seconds / buckets) + 1


def chosen(groups: Iterable[TimelineLane], most: int) -> tuple[list[TimelineLane], int]:
    """The groups that are shown, by name, and how many are left out: failing ones first, then those due next."""
    there = [group for group in groups if group.marks or group.due is not None]
    if len(there) > most:
        there.sort(key=_rank)
    shown = sorted(there[:most], key=lambda group: (group.name.casefold(), group.key))
    return shown, len(there) - len(shown)


def _rank(group: TimelineLane) -> tuple[bool, bool, datetime]:
    return not group.troubled, group.due is None, group.due or group.marks[-1].at


def fold(groups: Sequence[TimelineLane], width: int, budget: int = MOST_MARKS) -> None:
    """Fold the groups with the most marks until all of them fit."""
    for place, group in enumerate(sorted(groups, key=lambda one: len(one.marks))):
        share = max(budget // (len(groups) - place), LEAST)
        step = width
        while len(group.marks) > share and step < width << 16:
            group.marks = merged(group.marks, timedelta(seconds=step))
            step *= 2
        group.marks.sort(key=lambda mark: (mark.at, mark.state))
        group.folded = any(mark.count > 1 for mark in group.marks if mark.state not in UNMADE)
        budget -= len(group.marks)


def merged(marks: Iterable[TimelinePoint], width: timedelta) -> list[TimelinePoint]:
    """Marks of one state that begin in the same bucket, merged."""
    folded: dict[tuple[str, int], TimelinePoint] = {}
    for mark in marks:
        place = mark.state, int(mark.at.timestamp() // width.total_seconds())
        other = folded.get(place)
        folded[place] = mark if other is None else _joined(other, mark)
    return list(folded.values())


def _joined(one: TimelinePoint, other: TimelinePoint) -> TimelinePoint:
    last = max(one.until or one.at, other.until or other.at)
    return replace(one, at=min(one.at, other.at), until=last, count=one.count + other.count, run_id=None)


def collisions(instants: Mapping[datetime, int] | Counter[datetime], most: int) -> list[tuple[datetime, int]]:
    """The minutes at which several schedules begin, by time; beyond `most`, the fullest."""
    several = [(at, count) for at, count in instants.items() if count > 1]
    several.sort(key=lambda one: (-one[1], one[0]))
    return sorted(several[:most])
