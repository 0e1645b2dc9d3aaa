"""Checks parked runs that are due: whether their effect, which continues elsewhere, has ended.

Checks a group of parked runs within a deadline; a run that makes the check fail is isolated by bisection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, get_args

import structlog

from foliot.core.errors import Unavailable
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.engine.attempts.attempt_log import AttemptLog, HandleWriter
from foliot.engine.attempts.conclusion import announce, conclude
from foliot.engine.attempts.unanswered import hopeless
from foliot.engine.broker.publisher import Monitor
from foliot.engine.executor import MARGIN, park
from foliot.engine.group_writer import GroupWriter
from foliot.engine.loop import backoff, rest_until
from foliot.engine.model.outcome import given_up
from foliot.engine.model.run import EventLine, EventType, Fence, Outcome, Parked, ParkedUpdate, RunState
from foliot.engine.model.views import AttemptEnding, ClaimedRun, EndingsResult
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ports import ParkedRun, WatchedAction
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.recorder import Entry, ending_writer, joined
from foliot.engine.sql.parked import SqlParked
from foliot.wakeups.feed import PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

LOOK_LINES = 100_000
"""Log lines per check; an action that has more says so and is called again at once."""

MISSING = "the action gave no reason"
LATE = "the check took longer than its lease"
CLOSING = "the watcher is shutting down"

log = structlog.get_logger("foliot.engine")


@dataclass(slots=True, eq=False, kw_only=True)
class ParkedCheck(AttemptLog):
    """One check of one run, and its outcome."""

    most: int = LOOK_LINES
    answer: Outcome | None = None
    trouble: str = MISSING
    """Why there is no outcome."""
    late: bool = False
    put_back: bool = False
    """The check was interrupted because the watcher stopped; it counts as no failure."""

    async def room(self) -> None:
        """No back-pressure: lines are written after the check, which is bounded."""

    @property
    def handle(self) -> Mapping[str, Any]:
        """Parked as on its row."""
        return self.noted or self.claimed.handle or {}

    def look(self, left: float, store: Database) -> ParkedRun:
        claimed = self.claimed
        return ParkedRun(
            ctx=self.context(timedelta(seconds=max(left, 0.0)), HandleWriter(store, self)),
            handle=claimed.handle or {},
            started_at=claimed.started_at,
            cancel=claimed.cancel_requested,
            ended=claimed.ended,
        )


@dataclass(slots=True)
class ParkedCheckRunner:
    """Calls the action's `look`, and turns every exception into an outcome."""

    clock: Clock
    store: Database
    action: WatchedAction
    secrets: Redactor = field(default_factory=Redactor, repr=False)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no more checks are to be made."""

    async def look(self, claimed: Sequence[ClaimedRun], until: float) -> list[ParkedCheck]:
        """A check of each run, exactly once. A group that fails is split in halves."""
        if not claimed:
            return []
        visits = [ParkedCheck(claimed=one, clock=self.clock, base=self.secrets) for one in claimed]
        left = until - asyncio.get_running_loop().time()
        asking = asyncio.create_task(self._ask(visits, left))
        # Retrieve what it raises after we stopped waiting, so that asyncio does not warn.
        asking.add_done_callback(_answered)
        try:
            await self._wait(asking, left)
        finally:
            asking.cancel()
        if self.leaving.is_set() and not _answered(asking):
            return _without_answer(visits, CLOSING, put_back=True)
        if not asking.done():
            # It may ignore the cancellation; it cannot write any more.
            return _without_answer(visits, LATE, late=True)
        error = asyncio.CancelledError() if asking.cancelled() else asking.exception()
        if error is not None:
            return await self._failed(visits, error, until)
        answers = asking.result()
        for visit in visits:
            answer = answers.get(visit.run_id)
            visit.answer = answer if isinstance(answer, get_args(Outcome)) else None
        return visits

    async def _ask(self, visits: Sequence[ParkedCheck], left: float) -> Mapping[str, Outcome]:
        answers = await self.action.look([visit.look(left, self.store) for visit in visits])
        return dict(answers)

    async def _wait(self, asking: asyncio.Task[Mapping[str, Outcome]], left: float) -> None:
        leaving = asyncio.create_task(self.leaving.wait())
        try:
            await asyncio.wait({asking, leaving}, timeout=max(left, 0.0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()

    async def _failed(self, visits: Sequence[ParkedCheck], error: BaseException, until: float) -> list[ParkedCheck]:
        if len(visits) > 1:
            half = len(visits) // 2
            claimed = [replace(visit.claimed, handle=visit.handle) for visit in visits]
            return [*await self.look(claimed[:half], until), *await self.look(claimed[half:], until)]
        (visit,) = visits
        visit.trouble = visit.redactor.text(f"{type(error).__name__}: {error}")[:1000]
        named = {"run_id": visit.run_id, "kind": visit.claimed.kind}
        log.warning("a check failed", action="look_failed", **named, error=visit.trouble)
        return [visit]


def _answered(asking: asyncio.Task[Mapping[str, Outcome]]) -> bool:
    return asking.done() and not asking.cancelled() and asking.exception() is None


def _without_answer(
    visits: list[ParkedCheck], trouble: str, *, late: bool = False, put_back: bool = False
) -> list[ParkedCheck]:
    for visit in visits:
        visit.trouble, visit.late, visit.put_back = trouble, late, put_back
    return visits


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
                message = f"The check failed and will be repeated: {visit.trouble}"
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
