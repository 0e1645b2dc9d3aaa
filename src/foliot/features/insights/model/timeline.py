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
from foliot.engine.model.schedule_sort import Urgency

MOST_MARKS = 2000
LEAST = 4
"""Marks that every group may have."""
PLANNED = "planned"
UNMADE = frozenset({LedgerKind.MISSED.value, LedgerKind.SKIPPED.value})
"""States of instants that made no run: a range of them is one mark to begin with."""
TROUBLE = frozenset({*(state.value for state in FAILURES), LedgerKind.MISSED.value})
UNRANKED = 1_000_000
"""The place of what is no schedule, or not among the most urgent."""
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


@dataclass(frozen=True, slots=True)
class RunLink:
    """A run that follows another: their ids, the keys of their rows, and from when to when."""

    parent: str
    child: str
    parent_key: str
    child_key: str
    ended_at: datetime
    began_at: datetime


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
    place: int = UNRANKED
    """Its place, or that of its most urgent schedule, in the order of urgency."""
    urgency: Urgency | None = None
    """Why it stands there."""
    q: str | None = None
    """A filter that lists its schedules, where it stands for several."""
    schedules: int = 1
    """How many schedules it stands for, where it is a fold of the rest."""

    @property
    def runs(self) -> int:
        return sum(mark.count for mark in self.marks if mark.state not in {PLANNED, *UNMADE})

    @property
    def planned(self) -> int:
        return sum(mark.count for mark in self.marks if mark.state == PLANNED)

    @property
    def starts(self) -> set[datetime]:
        """The minutes of its single planned instants."""
        there = (mark for mark in self.marks if (mark.state, mark.count, mark.until) == (PLANNED, 1, None))
        return {mark.at.replace(second=0, microsecond=0) for mark in there}

    @property
    def troubled(self) -> bool:
        return any(mark.state in TROUBLE for mark in self.marks)


def width_of(span: timedelta, buckets: int) -> int:
    """A round bucket width in seconds, so that there are at most so many buckets."""
    seconds = span.total_seconds()
    return next((width for width in WIDTHS if seconds / width <= buckets), 0) or int(seconds / buckets) + 1


def chosen(groups: Iterable[TimelineLane], most: int, *, past: bool = False) -> tuple[list[TimelineLane], int]:
    """The groups that are shown, most urgent first, and how many are left out.

    Of a time range that is over, those that failed or missed in it come first, whatever became of them since.
    """
    there = [group for group in groups if group.marks or group.due is not None]
    there.sort(key=lambda group: (past and not group.troubled, *_rank(group)))
    return there[:most], max(len(there) - most, 0)


def _rank(group: TimelineLane) -> tuple[int, bool, float, str, str]:
    due = 0.0 if group.due is None else group.due.timestamp()
    return group.place, group.due is None, due, group.name.casefold(), group.key


def folds(groups: Iterable[TimelineLane], most: int) -> list[TimelineLane]:
    """Density rows of what is not shown by itself, those of most schedules first; beyond `most`, one for all others."""
    there = sorted((group for group in groups if group.marks), key=lambda one: (-one.schedules, one.name, one.key))
    if len(there) <= most:
        return there
    others = TimelineLane("", "other schedules", schedules=sum(one.schedules for one in there[most - 1 :]))
    others.marks = [mark for one in there[most - 1 :] for mark in one.marks]
    return [*there[: most - 1], others]


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
