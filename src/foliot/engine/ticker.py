"""Turns due schedules into runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from foliot.domain.settle import Due, OpenRun, Plan, judges_overlap, settle
from foliot.engine.alarm import Alarm
from foliot.engine.meter import Meter
from foliot.ports import RUNS_TOPIC, SCHEDULES_TOPIC, Clock, Feed, Store

MOST_RUNS = 10_000
"""A batch stops growing here; the schedules left out are settled in the next one."""

SHORTEST = 0.002
"""How long to rest when an instant is due by our clock but not yet by the database's."""


@dataclass(frozen=True, slots=True)
class Ticked:
    """What one tick did."""

    settled: int
    runs: int
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticker:
    """Settles every instant that has come due."""

    clock: Clock
    store: Store
    feed: Feed
    meter: Meter
    alarm: Alarm
    batch: int
    longest_rest: float
    name: str = "ticker"
    topics: Sequence[str] = (SCHEDULES_TOPIC,)

    async def run_once(self) -> Ticked:
        """Settle one batch; safe on every node, for rows are locked and instants unique."""
        now = self.clock.now()
        next_due = None
        async with self.store.begin() as tx:
            due = await tx.firing.lock_due(now, limit=self.batch)
            open_runs = await tx.firing.open_runs([one.id for one in due if judges_overlap(one)])
            plans = self._settle(due, now, open_runs)
            recorded = await tx.firing.record(plans, now)
            more = len(due) == self.batch or len(plans) < len(due)
            if not more:
                next_due = await tx.firing.next_due()
        if recorded.runs:
            self.feed.wake(RUNS_TOPIC)
            self.alarm.set(recorded.later)
            self.meter.fired += recorded.runs
            self.meter.lateness.observe_all(recorded.lateness)
        return Ticked(len(plans), recorded.runs, 0.0 if more else self._rest(next_due))

    def _settle(self, due: list[Due], now: datetime, open_runs: dict[str, list[OpenRun]]) -> list[Plan]:
        made = 0

        def small(plan: Plan) -> bool:
            nonlocal made
            made += len(plan.runs)
            return made <= MOST_RUNS or made == len(plan.runs)

        return list(takewhile(small, (settle(one, now, open_runs.get(one.id, ())) for one in due)))

    def _rest(self, next_due: datetime | None) -> float:
        if next_due is None:
            return self.longest_rest
        wanted = (next_due - self.clock.now()).total_seconds()
        return min(max(wanted, SHORTEST), self.longest_rest)
