"""Checks parked runs that are due: whether their effect, which continues elsewhere, has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.core.errors import Unavailable
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.engine.attempts.conclusion import announce, conclude
from foliot.engine.attempts.unanswered import hopeless
from foliot.engine.broker.ports import Monitor
from foliot.engine.counters import EngineCounters
from foliot.engine.executor import MARGIN, park
from foliot.engine.group_writer import GroupWriter
from foliot.engine.model.event import EventLine, EventType
from foliot.engine.model.outcome import given_up
from foliot.engine.model.parked import ParkedUpdate
from foliot.engine.model.run import Fence, Parked, RunState
from foliot.engine.model.views import AttemptEnding, ClaimedRun, EndingsResult
from foliot.engine.pace import backoff, rest_until
from foliot.engine.parked.check import ParkedCheck, ParkedCheckRunner
from foliot.engine.ports import WatchedAction
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.recorder import Entry, ending_writer, joined
from foliot.engine.sql.parked import SqlParked
from foliot.wakeups.feed import PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

BATCH = 500
CROWDED = 0.05
"""Pause when other watchers claimed all runs that we saw."""
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 60.0
MOST_FAILING = 10_000
"""Runs whose failed checks are counted, at most."""


@dataclass(frozen=True, slots=True)
class ParkedRunsChecked:
    """How many runs one round checked, and how many of the checks failed."""

    looked: int
    failed: int
    rest: float


@dataclass(slots=True, kw_only=True)
class ParkedRunWatcher:
    """One for each action whose effects continue elsewhere; safe on every node, for rows are claimed.

    A check is bounded by the lease. Its outcome is written before anything else is checked, also when the database
    was unreachable meanwhile: handle, lines and items of a run are written together, or the run is checked again.
    """

    clock: Clock
    store: Database
    feed: Feed
    alarm: ReadyTimes
    meter: EngineCounters
    action: WatchedAction
    worker: str
    lease: timedelta
    longest_rest: float
    scale: float = 1.0
    queues: Collection[str] | None = None
    monitor: Monitor | None = None
    topics: Sequence[str] = (PARKED_TOPIC,)
    secrets: Redactor = field(default_factory=Redactor, repr=False)
    """Redacts the secrets of the process itself in everything that is written."""
    _batch: int = BATCH
    """The size of a group: smaller after a check that took too long."""
    _unwritten: list[tuple[ClaimedRun, Entry]] = field(default_factory=list)
    _gone: list[Fence] = field(default_factory=list)
    """Runs that were ended from outside and whose effects are released."""
    _failing: dict[str, int] = field(default_factory=dict)
    _visitor: ParkedCheckRunner = field(init=False)
    _writer: GroupWriter[Entry, EndingsResult] = field(init=False)

    def __post_init__(self) -> None:
        self._visitor = ParkedCheckRunner(self.clock, self.store, self.action, self.secrets)
        self._writer = ending_writer(self.clock, self.store)

    @property
    def name(self) -> str:
        return f"watcher:{self.action.kind}"

    def close(self) -> None:
        """Start no more checks: runs that are being checked are parked again as they were."""
        self._visitor.leaving.set()

    async def run_once(self) -> ParkedRunsChecked:
        await self._write()
        now = self.clock.now()
        async with self.store.glance() as tx:
            coming = await SqlParked(tx).coming(self.action.kind, self.queues, now, self._batch)
        if not coming.due or self._visitor.leaving.is_set():
            return ParkedRunsChecked(0, 0, rest_until(coming.next_at, now, self.longest_rest))
        asked_at = asyncio.get_running_loop().time()
        claimed = await self._claim(coming.due, now)
        if not claimed:
            return ParkedRunsChecked(0, 0, CROWDED)
        visits = await self._look(claimed, asked_at + self.lease.total_seconds() * (1 - MARGIN))
        failed = self._take_in(visits)
        await self._write()
        # A run parked just now may be due before all that we saw.
        return ParkedRunsChecked(len(claimed), failed, 0.0)

    async def _claim(self, run_ids: Sequence[str], now: datetime) -> Sequence[ClaimedRun]:
        token = new_id("tok")
        try:
            async with self.store.begin() as tx:
                return await SqlParked(tx).claim(run_ids, self.worker, self.lease, now, token)
        except Unavailable:
            # The claim may have been committed although the answer was lost: runs with our token are ours to check.
            async with self.store.begin() as tx:
                claimed = await SqlParked(tx).held(run_ids, token)
            if not claimed:
                raise
            return claimed

    async def _look(self, claimed: Sequence[ClaimedRun], until: float) -> Sequence[ParkedCheck]:
        """Check all of them, except those whose row is damaged."""
        hopeful = [one for one in claimed if one.fault is None]
        broken = [
            ParkedCheck(claimed=one, clock=self.clock, answer=hopeless(one)) for one in claimed if one.fault is not None
        ]
        visits = await self._visitor.look(hopeful, until)
        slow = any(visit.late for visit in visits)
        self._batch = max(self._batch // 2, 1) if slow else min(self._batch * 2, BATCH)
        return [*broken, *visits]

    def _take_in(self, visits: Sequence[ParkedCheck]) -> int:
        """Queue the outcomes to be written; returns how many checks failed."""
        now = self.clock.now()
        failed = 0
        for visit in visits:
            if visit.answer is None:
                failed += not visit.put_back
                self._unwritten.append((visit.claimed, self._again(visit, now)))
                continue
            self._failing.pop(visit.run_id, None)
            answer = visit.redacted(visit.answer)
            if isinstance(answer, Parked):
                self._unwritten.append((visit.claimed, park(visit.claimed, answer, now, lines=visit)))
            elif visit.claimed.ended:
                self._gone.append(visit.claimed.fence)
            else:
                self._unwritten.append((visit.claimed, conclude(visit.claimed, answer, now, lines=visit.take_lines())))
        return failed

    def _again(self, visit: ParkedCheck, now: datetime) -> ParkedUpdate:
        """Parked as it was; the next check is delayed by the number of consecutive failures."""
        delay = 0.0
        lines: list[EventLine] = []
        if not visit.put_back:
            times = self._failures(visit.run_id)
            delay = backoff(times, FIRST_BACKOFF, LONGEST_BACKOFF) * self.scale
            if times == 1:
                message = f"Could not be checked, and will be again: {visit.trouble}"
                lines = [EventLine(now, EventType.LOG, "warning", message)]
        return ParkedUpdate(
            fence=visit.claimed.fence,
            handle=visit.handle,
            poll_at=now + timedelta(seconds=delay),
            at=now,
            lines=lines,
            cancelling=visit.claimed.cancel_requested,
            given_up=given_up(replay=visit.claimed.replay),
        )

    def _failures(self, run_id: str) -> int:
        if len(self._failing) >= MOST_FAILING:
            self._failing.clear()
        self._failing[run_id] = self._failing.get(run_id, 0) + 1
        return self._failing[run_id]

    async def _write(self) -> None:
        """Write everything that waits. Writes are idempotent, so an entry stays until it is acknowledged."""
        while self._unwritten:
            entries = self._writer.group(entry for _, entry in self._unwritten)
            group = self._unwritten[: len(entries)]
            finished = joined(entries, await self._writer.write(entries))
            del self._unwritten[: len(group)]
            self._tell(group, finished.states, finished.released)
        if self._gone:
            async with self.store.begin() as tx:
                await SqlParked(tx).let_go(self._gone)
            self._gone = []

    def _tell(self, group: Sequence[tuple[ClaimedRun, Entry]], states: Mapping[str, RunState], released: int) -> None:
        topics = []
        for claimed, entry in group:
            stored = states.get(entry.fence.run_id)
            if stored is None:
                self.meter.stale_writes += 1
            elif isinstance(entry, AttemptEnding):
                announce(self.meter, self.monitor, claimed, entry, stored)
                self.alarm.set([entry.ready_at] if entry.ready_at is not None else [])
            if isinstance(entry, AttemptEnding) or entry.lines:
                topics.append(run_topic(entry.fence.run_id))
        self.feed.wake(*topics, *([RUNS_TOPIC] if released else []))
