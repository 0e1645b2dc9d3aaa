"""Counts the future instants of schedules per interval, without enumerating all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from foliot.core.time.trigger import Trigger
from foliot.engine.model.schedule import Schedule, ScheduleStatus

YEAR = timedelta(days=366)


@dataclass(slots=True)
class StepBudget:
    """Budget of one answer; a step is an instant found or an interval counted."""

    left: int

    def take(self, steps: int) -> bool:
        if steps > self.left:
            return False
        self.left -= steps
        return True


@dataclass(frozen=True, slots=True)
class PlannedInstants:
    """The planned instants of one schedule within a window: `count` instants of [start, end)."""

    trigger: Trigger
    start: datetime
    end: datetime
    count: int
    skip: datetime | None = None
    """An instant with a skip request; it is not counted."""

    def instants(self) -> Iterator[datetime]:
        named = self.trigger.between(self.start, self.end)
        return islice(named if self.skip is None else (at for at in named if at != self.skip), self.count)

    def spread(self, edges: Sequence[datetime], budget: StepBudget) -> tuple[dict[int, int], bool]:
        """Counts between edges, and whether they are exact; beyond the budget they are spread evenly."""
        first = bisect_right(edges, self.start) - 1
        cells = range(max(first, 0), len(edges) - 1)
        if self.count <= len(cells) and budget.take(self.count):
            counts: dict[int, int] = {}
            for at in self.instants():
                cell = bisect_right(edges, at) - 1
                counts[cell] = counts.get(cell, 0) + 1
            return counts, True
        if budget.take(len(cells)):
            return self._counted(edges, cells), True
        return self._evenly(edges, cells), False

    def _counted(self, edges: Sequence[datetime], cells: range) -> dict[int, int]:
        counts, left = {}, self.count
        for cell in cells:
            low, high = max(edges[cell], self.start), min(edges[cell + 1], self.end)
            number = self.trigger.count(low, high)
            if self.skip is not None and low <= self.skip < high:
                number -= 1
            number = min(number, left)
            if number:
                counts[cell] = number
                left -= number
        return counts

    def _evenly(self, edges: Sequence[datetime], cells: range) -> dict[int, int]:
        """A share for each interval, so that the sum is right."""
        begin = self.start.timestamp()
        whole = max(edges[-1].timestamp() - begin, 1e-6)
        counts, given = {}, 0
        for cell in cells:
            due = round(self.count * (edges[cell + 1].timestamp() - begin) / whole)
            if due > given:
                counts[cell] = due - given
                given = due
        return counts


def ahead(schedule: Schedule, start: datetime, end: datetime) -> PlannedInstants | None:
    """What this schedule has planned in [start, end): from its first unsettled instant on, as `max_runs` allows."""
    first = schedule.next_at
    if schedule.status is not ScheduleStatus.ACTIVE or schedule.fault is not None or first is None:
        return None
    trigger, low = schedule.spec.trigger, max(start, first)
    if low >= end:
        return None
    skip = skipped(schedule, first, end)
    count = trigger.count(low, end) - (skip is not None and skip >= low)
    if schedule.spec.max_runs is not None:
        left = schedule.spec.max_runs - schedule.fired
        # One more than are left: the one that is skipped may be among them.
        before = _upto(trigger, first, low, left + 1) - (skip is not None and skip < low)
        count = min(count, max(left - before, 0))
    inside = skip is not None and skip >= low
    return PlannedInstants(trigger, low, end, count, skip if inside else None) if count else None


@dataclass(frozen=True, slots=True)
class PlannedCounter:
    """What many schedules have planned in [start, end). Those that are due alike are worked out once."""

    start: datetime
    end: datetime
    _known: dict[object, PlannedInstants | None] = field(default_factory=dict)

    def of(self, schedule: Schedule) -> PlannedInstants | None:
        if schedule.status is not ScheduleStatus.ACTIVE or schedule.fault is not None or schedule.next_at is None:
            return None
        spec, most = schedule.spec, schedule.spec.max_runs
        alike = (spec.trigger, schedule.next_at, schedule.skip_at, most, None if most is None else schedule.fired)
        if alike not in self._known:
            self._known[alike] = ahead(schedule, self.start, self.end)
        return self._known[alike]


def skipped(schedule: Schedule, start: datetime, end: datetime) -> datetime | None:
    """The planned instant of [start, end) with a skip request."""
    skip = schedule.skip_at
    if skip is None or schedule.status is not ScheduleStatus.ACTIVE or schedule.next_at is None:
        return None
    return skip if max(start, schedule.next_at) <= skip < end else None


def _upto(trigger: Trigger, first: datetime, low: datetime, most: int) -> int:
    """How many instants there are before `low`, year by year: more than `most` of them need not be counted."""
    count, at = 0, first
    while at < low and count < most:
        following = min(low, at + YEAR)
        count += trigger.count(at, following)
        at = following
    return count
