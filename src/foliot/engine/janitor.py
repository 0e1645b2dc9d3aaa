"""Reclaims runs of dead workers, releases forgotten buffered runs, and prunes old rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.extension import Upkeep
from foliot.engine.model.quarter_counts import QUARTER
from foliot.engine.model.run import AttemptError, Failed, Lost
from foliot.engine.model.views import AttemptEnding, ClaimedRun, EndingsResult
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.follows import SqlFollowUps
from foliot.engine.sql.leases import longest
from foliot.engine.sql.parked import SqlParked
from foliot.engine.sql.retention import SqlRetention
from foliot.wakeups.feed import PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

BATCH = 200
PRUNE_BATCH = 500
BUSY = 0.1
"""Pause between two batches of pruning, so that it does not slow other work down."""

THIN_BATCH = 20
COUNTED_EACH = 3600.0
"""Seconds between two recounts of stored bytes."""
NODES_KEPT = timedelta(hours=24)
BEGUN = timedelta(minutes=1)
"""Longer than a transaction can take: what began to follow before that is seen by all that end runs."""
LINKS_KEPT = timedelta(hours=1)

MOST_LOST = 5
"""How often in a row the holder of a parked run may disappear before the run is given up."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class JanitorRound:
    """What one round did."""

    lost: int
    released: int
    pruned: int
    rest: float


@dataclass(slots=True, kw_only=True)
class Janitor:
    """Safe on every node: rows are locked, and locked rows are skipped."""

    clock: Clock
    store: Database
    feed: Feed
    alarm: ReadyTimes
    period: float
    retention: timedelta | None
    lease: timedelta = timedelta(seconds=30)
    steady_for: Callable[[], float] = lambda: float("inf")
    """For how many seconds no step has moved the clock."""
    upkeep: Sequence[Upkeep] = ()
    name: str = "janitor"
    topics: Sequence[str] = ()
    _place: str = ""
    """Position of the pass through old runs; it restarts at the end."""
    _thinned: str = ""
    _counted: str | None = None
    """The last tenant whose stored bytes were recounted; None between two passes."""
    _counted_at: float = float("-inf")

    async def run_once(self) -> JanitorRound:
        lost = await self._reclaim()
        released = await self._release() + await self._follow()
        pruned = await self._prune()
        await self._thin()
        if released:
            self.feed.wake(RUNS_TOPIC)
        more = lost == BATCH or bool(self._place)
        return JanitorRound(lost, released, pruned, BUSY if more else self.period)

    async def _reclaim(self) -> int:
        now = self.clock.now()
        if self.steady_for() < self.lease.total_seconds():
            # Leases were given before the step: living workers renew theirs by the new time first.
            return 0
        async with self.store.begin() as tx:
            expired = await SqlClaims(tx).lock_expired(now, BATCH, longest(self.lease))
            # An effect that continues elsewhere did not end with the process that checked it.
            parked = [claimed for claimed in expired if goes_on(claimed)]
            endings = [lost(claimed, now) for claimed in expired if not goes_on(claimed)]
            finished = await SqlClaims(tx).finish(endings, now) if endings else EndingsResult({}, frozenset())
            if parked:
                await SqlParked(tx).take_back(parked, now)
        for ending in endings:
            state = finished.states.get(ending.fence.run_id, ending.state)
            log.warning(
                "reclaimed a run from a lost worker", action="run_lost", run_id=ending.fence.run_id, state=state
            )
            self.feed.wake(run_topic(ending.fence.run_id))
        self.alarm.set(ending.ready_at for ending in endings if ending.ready_at is not None)
        if finished.released:
            self.feed.wake(RUNS_TOPIC)
        if parked:
            log.warning("parked runs again whose watcher was lost", action="looks_lost", runs=len(parked))
            self.feed.wake(PARKED_TOPIC)
        return len(expired)

    async def _release(self) -> int:
        async with self.store.begin() as tx:
            return await SqlClaims(tx).release(self.clock.now())

    async def _follow(self) -> int:
        """Ends of runs that a schedule could not follow yet: they were being written as it began to."""
        now = self.clock.now()
        async with self.store.begin() as tx:
            return await SqlFollowUps(tx).sweep(now - BEGUN, now, BATCH)

    async def _thin(self) -> None:
        """Versions in every round, a few schedules at a time; sums each hour, a tenant at a time."""
        async with self.store.begin() as tx:
            _, place = await SqlRetention(tx).thin_versions(self._thinned, THIN_BATCH)
            self._thinned = place or ""
        if self._counted is None and self.clock.monotonic() - self._counted_at < COUNTED_EACH:
            return
        async with self.store.begin() as tx:
            self._counted = await SqlRetention(tx).recount(self._counted or "", 1)
        self._counted_at = self.clock.monotonic()

    async def _prune(self) -> int:
        now = self.clock.now()
        async with self.store.begin() as tx:
            await SqlRetention(tx).forget_nodes(now - NODES_KEPT)
            await SqlFollowUps(tx).forget(now - LINKS_KEPT, PRUNE_BATCH)
            for upkeep in self.upkeep:
                await upkeep(tx, now, self.retention)
        if self.retention is None:
            return 0
        async with self.store.begin() as tx:
            pruned, place = await SqlRetention(tx).prune(now - self.retention, PRUNE_BATCH, self._place)
            await SqlRetention(tx).forget_counts(now - self.retention - QUARTER, PRUNE_BATCH)
        self._place = place or ""
        return pruned


def goes_on(claimed: ClaimedRun) -> bool:
    """Whether its effect continues without the process that held the run."""
    return claimed.handle is not None and claimed.lost_looks < MOST_LOST - 1


def lost(claimed: ClaimedRun, now: datetime) -> AttemptEnding:
    """An attempt is lost with its worker. A parked run that costs one process after the other is given up."""
    if claimed.handle is None:
        return conclude(claimed, Lost(), now)
    times = claimed.lost_looks + 1
    message = f"the process that checked it was lost, {times} times in a row; what it started may still be running"
    return replace(conclude(claimed, Failed(AttemptError("watcher_lost", message), permanent=True), now), lost=True)
