"""Turns due schedules into runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

import structlog

from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import rest_until
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.settle import DueSchedule, SchedulePlan, judges_overlap, settle
from foliot.engine.model.views import PlansRecorded
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.wakeups.feed import RUNS_TOPIC, SCHEDULES_TOPIC, Feed

MOST_RUNS = 10_000
"""A batch stops growing here; the schedules left out are settled in the next one."""

SIDE_BY_SIDE = 2
"""How many batches are settled at once when there is more than one to settle."""

SHORTEST = 0.002
"""Pause when an instant is due by our clock but not yet by the database's."""

UNKNOWN = datetime.min.replace(tzinfo=UTC)
"""Something may be due: query the rows."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class Ticked:
    """What one tick did."""

    settled: int
    runs: int
    rest: float

    @classmethod
    def joined(cls, batches: Sequence[Ticked]) -> Ticked:
        return cls(
            sum(batch.settled for batch in batches),
            sum(batch.runs for batch in batches),
            min(batch.rest for batch in batches),
        )


@dataclass(slots=True, kw_only=True)
class Ticker:
    """Settles every instant that has come due."""

    clock: Clock
    store: Database
    feed: Feed
    meter: EngineCounters
    alarm: ReadyTimes
    batch: int
    longest_rest: float
    own_clock: Callable[[], bool] = lambda: False
    """Whether a step of the database's clock is unconfirmed."""
    name: str = "ticker"
    topics: Sequence[str] = (SCHEDULES_TOPIC,)
    _backlog: bool = False
    _next: datetime | None = UNKNOWN
    """When the next schedule is due, as far as we know; None when none is."""

    async def run_once(self) -> Ticked:
        """Settle one batch; safe on every node, for rows are locked and instants unique."""
        if self._backlog:
            # While one batch is being written, the next is being settled: they skip each other's rows.
            ticked = Ticked.joined(await asyncio.gather(*(self._batch() for _ in range(SIDE_BY_SIDE))))
        else:
            ticked = await self._batch()
        self._backlog = ticked.rest == 0.0
        return ticked

    async def _batch(self) -> Ticked:
        now = self.clock.now()
        try:
            return await self._tick(now)
        except Unavailable:
            raise
        except Exception:
            log.exception("a batch could not be settled; settling its schedules one by one", action="tick_failed")
            return await self._tick_singly(now)

    async def _tick(self, now: datetime) -> Ticked:
        if self._next is None or now < self._next:
            # Nothing is due as far as we know: one query tells whether an edit made something due in the meantime.
            await self._look()
            if self._next is None or now < self._next:
                return Ticked(0, 0, self._rest())
        async with self.store.begin() as tx:
            due, following = await SqlFiring(tx).lock_due(now, self.batch, own_clock=self.own_clock())
            open_runs = await SqlFiring(tx).open_runs([one.id for one in due if judges_overlap(one)])
            plans = self._settle(due, now, open_runs)
            recorded = await SqlFiring(tx).record(plans, now)
        self._tell(recorded)
        if len(due) == self.batch or len(plans) < len(due):
            return Ticked(len(plans), recorded.runs, 0.0)
        if due:
            cursors = [plan.next_at for plan in plans if plan.next_at is not None]
            self._next = min([*cursors, *([following] if following else [])], default=None)
        else:
            await self._look()
        return Ticked(len(plans), recorded.runs, self._rest())

    async def _look(self) -> None:
        async with self.store.glance() as tx:
            self._next = await SqlFiring(tx).next_due()

    async def _tick_singly(self, now: datetime) -> Ticked:
        """A row that cannot be settled, for example because its cursor was moved back by hand, affects no other."""
        runs = settled = 0
        async with self.store.read() as tx:
            due, _ = await SqlFiring(tx).lock_due(now, self.batch, own_clock=self.own_clock())
        self._next = UNKNOWN
        for one in due:
            try:
                created = await self._settle_one(one.id, now)
            except Unavailable:
                raise
            except Exception as error:
                log.exception("a schedule cannot be settled", action="schedule_faulty", schedule_id=one.id)
                await self._silence(one.id, f"could not be settled: {type(error).__name__}: {error}")
            else:
                settled, runs = settled + 1, runs + created
        return Ticked(settled, runs, self.longest_rest)

    async def _settle_one(self, schedule_id: str, now: datetime) -> int:
        async with self.store.begin() as tx:
            due = await SqlFiring(tx).lock_one(schedule_id)
            if due is None or due.next_at > now:
                return 0
            open_runs = await SqlFiring(tx).open_runs([schedule_id])
            plan = settle(due, now, open_runs.get(schedule_id, ()))
            recorded = await SqlFiring(tx).record([plan], now)
        self._tell(recorded)
        return recorded.runs

    async def _silence(self, schedule_id: str, fault: str) -> None:
        try:
            async with self.store.begin() as tx:
                due = await SqlFiring(tx).lock_one(schedule_id)
                if due is not None:
                    fault = fault.splitlines()[0][:500]
                    plan = SchedulePlan(due, None, fired=due.fired, last_run_at=due.last_run_at, fault=fault)
                    await SqlFiring(tx).record([plan], self.clock.now())
        except Unavailable:
            raise
        except Exception:
            # The other schedules of the batch fire all the same, one by one, until it is repaired.
            log.exception("the fault could not be recorded", action="schedule_faulty", schedule_id=schedule_id)

    def _tell(self, recorded: PlansRecorded) -> None:
        if recorded.runs:
            self.feed.wake(RUNS_TOPIC)
            self.alarm.set(recorded.later)
            self.meter.fired += recorded.runs
            self.meter.lateness.observe_all(recorded.lateness)

    def _settle(self, due: list[DueSchedule], now: datetime, open_runs: dict[str, list[OpenRun]]) -> list[SchedulePlan]:
        created = 0

        def small(plan: SchedulePlan) -> bool:
            nonlocal created
            created += len(plan.runs)
            return created <= MOST_RUNS or created == len(plan.runs)

        return list(takewhile(small, (settle(one, now, open_runs.get(one.id, ())) for one in due)))

    def _rest(self) -> float:
        return rest_until(self._next, self.clock.now(), self.longest_rest, SHORTEST)
