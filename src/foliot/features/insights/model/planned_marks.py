"""Marks of planned instants on a timeline: each of a few, and counts by bucket of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.planned_counts import MOST_EXCLUDED, FiringState, PlannedInstants, StepBudget, skipped
from foliot.engine.model.schedule import Schedule
from foliot.features.insights.model.history import HistoryWindow
from foliot.features.insights.model.timeline import PLANNED, TimelinePoint

SINGLE = 48
"""Up to so many instants of one schedule have a mark each; more are counted by bucket."""
STEPS = 200_000
"""Instants computed and buckets counted for one answer; beyond that, planned instants are spread evenly."""


@dataclass(frozen=True, slots=True)
class PlannedMarks:
    """Computes marks of planned instants, within a budget of steps."""

    edges: Sequence[datetime]
    budget: StepBudget

    @classmethod
    def on(cls, stretch: HistoryWindow) -> PlannedMarks:
        step = timedelta(seconds=stretch.width)
        count = -((stretch.start - stretch.end) // step)
        return cls([*(stretch.start + place * step for place in range(count)), stretch.end], StepBudget(STEPS))

    def planned(self, plans: Mapping[PlannedInstants, int]) -> list[TimelinePoint]:
        """Each instant of a few; of many, counts per bucket."""
        if sum(plan.count for plan in plans) <= SINGLE and self.budget.take(SINGLE):
            return [
                TimelinePoint(at, None, PLANNED, number) for plan, number in plans.items() for at in plan.instants()
            ]
        return self.counted(plans)

    def counted(self, plans: Mapping[PlannedInstants, int]) -> list[TimelinePoint]:
        """Counts per bucket."""
        counts, first = Counter[int](), min((plan.start for plan in plans), default=self.edges[0])
        for plan, number in plans.items():
            for cell, count in plan.spread(self.edges, self.budget)[0].items():
                counts[cell] += count * number
        return [
            TimelinePoint(max(self.edges[cell], first), self.edges[cell + 1], PLANNED, count)
            for cell, count in sorted(counts.items())
            if count > 0
        ]


def skipped_ahead(schedules: Sequence[Schedule], stretch: HistoryWindow) -> Iterator[tuple[str, LedgerEntry]]:
    """Instants ahead that are to be skipped or are excluded, as the ledger will record them."""
    for one in schedules:
        if (skip := skipped(one, stretch.start, stretch.end)) is not None:
            yield one.id, LedgerEntry(skip, skip, 1, LedgerKind.SKIPPED, LedgerReason.REQUESTED, one.skip_by)
        state = None if one.spec.trigger.exclusions is None else FiringState.of(one)
        if state is not None:
            for line in islice(state.excluded(stretch.start, stretch.end), MOST_EXCLUDED):
                where = (line.first, line.last, line.count)
                yield one.id, LedgerEntry(*where, LedgerKind.SKIPPED, LedgerReason.CALENDAR, note=line.reason)
