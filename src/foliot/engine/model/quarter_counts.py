"""Counts per quarter of an hour: how many runs ended how, how long they took, and how many instants made no run.

Every zone's hours and days begin at a quarter, so that charts and calendars are sums of these and read no run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from foliot.core.time.trigger import Trigger
from foliot.engine.model.ledger import LedgerEntry, LedgerKind
from foliot.engine.model.planned_counts import PlannedInstants, StepBudget
from foliot.engine.model.run import FAILURES, RunState

QUARTER = timedelta(minutes=15)
LATE = timedelta(seconds=60)
"""A run is late when it begins so long after it was ready."""
LATE_RUNS = "late"
TOOK = "took."
"""The prefix of the histogram of durations; after it, the lower bound of a step in milliseconds."""
_E12 = (10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82)
STEPS: tuple[int, ...] = (*range(10), *(digits * 10**power for power in range(8) for digits in _E12))
"""Lower bounds of the histogram's steps in milliseconds: twelve for each power of ten, the E12 series."""
UNMADE_STEPS = 20_000
"""Instants and quarters that one batch of ledger entries may be split into; longer ranges are counted at their end."""
FAILED_ONCE = 100
"""What one failure adds to a schedule's score, of which each run leaves nine tenths: 1000 when every run fails."""
_TICK = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)

Key = tuple[str, str, datetime]
"""Tenant, name of the count, and the quarter's start."""


class EndedRow(Protocol):
    """What is counted of an ended run."""

    @property
    def id(self) -> str: ...
    @property
    def tenant_id(self) -> str: ...
    @property
    def schedule_id(self) -> str | None: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def scheduled_for(self) -> datetime | None: ...
    @property
    def due_at(self) -> datetime | None: ...
    @property
    def started_at(self) -> datetime | None: ...


Ended = tuple[EndedRow, RunState, datetime]
"""A run, the state that it ended in, and when."""


def quarter(moment: datetime) -> datetime:
    """The start of the quarter of an hour that holds this moment."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return utc.replace(minute=utc.minute // 15 * 15, second=0, microsecond=0)


def milliseconds(row: EndedRow, ended_at: datetime) -> int | None:
    """How long it took; None when it never started."""
    return None if row.started_at is None else max((ended_at - row.started_at) // _MILLISECOND, 0)


def step(took_ms: int) -> int:
    """The place of a duration among the histogram's steps."""
    return bisect_right(STEPS, took_ms) - 1


def was_late(row: EndedRow) -> bool:
    return row.started_at is not None and row.started_at - (row.due_at or row.scheduled_for or row.created_at) > LATE


def count_ended(ended: Iterable[Ended], by: int = 1) -> Counter[Key]:
    """What a group of endings adds to the counts of the quarters in which the runs were created."""
    states: dict[tuple[str, RunState, datetime], int] = defaultdict(int)
    steps: dict[tuple[str, int, datetime], int] = defaultdict(int)
    counts: Counter[Key] = Counter()
    # Many runs were created at the same moment.
    quarters: dict[datetime, datetime] = {}
    for row, state, at in ended:
        tenant_id, created_at = row.tenant_id, row.created_at
        created = quarters.get(created_at)
        if created is None:
            created = quarters[created_at] = quarter(created_at)
        states[tenant_id, state, created] += by
        if (took := milliseconds(row, at)) is not None:
            steps[tenant_id, step(took), created] += by
            if was_late(row):
                counts[tenant_id, LATE_RUNS, created] += by
    for (tenant_id, state, created), count in states.items():
        counts[tenant_id, state.value, created] += count
    for (tenant_id, place, created), count in steps.items():
        counts[tenant_id, f"{TOOK}{STEPS[place]}", created] += count
    return counts


def spread(
    trigger: Trigger | None, first: datetime, last: datetime, count: int, budget: StepBudget
) -> Counter[datetime]:
    """In which quarters `count` instants of [first, last] lie; beyond the budget, all of them in the last one."""
    start, end = quarter(first), quarter(last)
    cells = (end - start) // QUARTER + 1
    if cells == 1 or trigger is None or not budget.take(cells):
        return Counter({end: count})
    edges = [start + place * QUARTER for place in range(cells + 1)]
    cut, _ = PlannedInstants(trigger.with_excluded, first, last + _TICK, count).spread(edges, budget)
    return Counter({edges[cell]: number for cell, number in cut.items()})


def count_unmade(
    tenant_id: str, trigger: Trigger | None, entries: Iterable[LedgerEntry], budget: StepBudget, by: int = 1
) -> Counter[Key]:
    """What ledger entries of one schedule add to the counts of the quarters that their instants lie in."""
    counts: Counter[Key] = Counter()
    for entry in entries:
        if entry.fate is not LedgerKind.PRUNED:
            for at, count in spread(trigger, entry.first, entry.last, entry.count, budget).items():
                counts[tenant_id, entry.fate.value, at] += by * count
    return counts


def failed(state: RunState) -> bool:
    return state in FAILURES
