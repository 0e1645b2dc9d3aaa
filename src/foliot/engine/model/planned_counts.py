"""Counts the future instants of schedules per interval, without enumerating all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from foliot.core.time.preview import ExcludedFires, excluded_fires
from foliot.core.time.trigger import Trigger
from foliot.engine.model.schedule import Schedule, ScheduleStatus

YEAR = timedelta(days=366)
MOST_EXCLUDED = 1000
"""Excluded stretches of one schedule that an answer lists."""


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
        named = self.trigger.runs_between(self.start, self.end)
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
            number = self.trigger.count_runs(low, high)
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


@dataclass(frozen=True, slots=True)
class FiringState:
    """What decides which instants an active schedule has planned; many schedules may share one."""

    trigger: Trigger
    next_at: datetime
    """Its first unsettled instant."""
    skip_at: datetime | None = None
    most: int | None = None
    """How many instants it fires in all (`max_runs`)."""
    fired: int = 0

    @classmethod
    def of(cls, schedule: Schedule) -> FiringState | None:
        """None for one that fires no more."""
        if schedule.status is not ScheduleStatus.ACTIVE or schedule.fault is not None or schedule.next_at is None:
            return None
        most = schedule.spec.max_runs
        fired = 0 if most is None else schedule.fired
        return cls(schedule.spec.trigger, schedule.next_at, schedule.skip_at, most, fired)

    def skipped(self, start: datetime, end: datetime) -> datetime | None:
        """The planned instant of [start, end) with a skip request."""
        skip = self.skip_at
        if skip is None or not max(start, self.next_at) <= skip < end:
            return None
        return skip if self.trigger.excluded(skip) is None else None

    def excluded(self, start: datetime, end: datetime) -> Iterator[ExcludedFires]:
        """The instants of [start, end) that are still to come and that a calendar excludes."""
        return excluded_fires(self.trigger, max(start, self.next_at), end)

    def ahead(self, start: datetime, end: datetime) -> PlannedInstants | None:
        """What is planned in [start, end): from the first unsettled instant on, as `max_runs` allows."""
        first, trigger = self.next_at, self.trigger
        low = max(start, first)
        if low >= end:
            return None
        skip = self.skipped(first, end)
        count = trigger.count_runs(low, end) - (skip is not None and skip >= low)
        if self.most is not None:
            left = self.most - self.fired
            # One more than are left: the one that is skipped may be among them.
            before = _upto(trigger, first, low, left + 1) - (skip is not None and skip < low)
            count = min(count, max(left - before, 0))
        inside = skip is not None and skip >= low
        return PlannedInstants(trigger, low, end, count, skip if inside else None) if count else None


def ahead(schedule: Schedule, start: datetime, end: datetime) -> PlannedInstants | None:
    """What this schedule has planned in [start, end)."""
    state = FiringState.of(schedule)
    return None if state is None else state.ahead(start, end)


@dataclass(frozen=True, slots=True)
class PlannedCounter:
    """What many schedules have planned in [start, end). Those that are due alike are worked out once."""

    start: datetime
    end: datetime
    _known: dict[FiringState, PlannedInstants | None] = field(default_factory=dict)

    def of(self, schedule: Schedule) -> PlannedInstants | None:
        state = FiringState.of(schedule)
        return None if state is None else self.of_state(state)

    def of_state(self, state: FiringState) -> PlannedInstants | None:
        if state not in self._known:
            self._known[state] = state.ahead(self.start, self.end)
        return self._known[state]


def skipped(schedule: Schedule, start: datetime, end: datetime) -> datetime | None:
    """The planned instant of [start, end) with a skip request."""
    state = FiringState.of(schedule)
    return None if state is None else state.skipped(start, end)


def _upto(trigger: Trigger, first: datetime, low: datetime, most: int) -> int:
    """How many instants there are before `low`, year by year: more than `most` of them need not be counted."""
    count, at = 0, first
    while at < low and count < most:
        following = min(low, at + YEAR)
        count += trigger.count_runs(at, following)
        at = following
    return count
