"""Writes endings and parkings by group commit: while one group is being written, the next one accumulates."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.group_writer import HEAVY, GroupWriter
from foliot.engine.loop import Spacing
from foliot.engine.model.run import AttemptError, EventLine, EventType, ParkedUpdate, RunState
from foliot.engine.model.views import AttemptEnding, EndingsResult
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.parked import SqlParked
from foliot.wakeups.feed import ENDINGS_TOPIC, PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

CROWD = 250
"""So many endings are written at once, however long ago the last group was."""

Entry = AttemptEnding | ParkedUpdate
Pending = tuple[Entry, asyncio.Future[RunState | None]]


@dataclass(frozen=True, slots=True)
class EndingsWritten:
    """How many endings one round wrote, and how many of them were stale."""

    written: int
    stale: int
    rest: float


@dataclass(slots=True, kw_only=True)
class Recorder:
    """One transaction per group; entries stay in memory while the database is unreachable."""

    clock: Clock
    store: Database
    feed: Feed
    alarm: ReadyTimes
    longest_rest: float
    gather: float = 0.0
    """A small group waits until this long after the last one: each costs the database the same, however small."""
    name: str = "recorder"
    topics: Sequence[str] = (ENDINGS_TOPIC,)
    _pending: deque[Pending] = field(default_factory=deque)
    _spacing: Spacing = field(default_factory=Spacing)
    _writer: GroupWriter[Entry, EndingsResult] = field(init=False)

    def __post_init__(self) -> None:
        self._writer = ending_writer(self.clock, self.store)

    async def put(self, entry: Entry) -> RunState | None:
        """The state in which the run was stored; None when the fence no longer held, so that nothing changed."""
        done: asyncio.Future[RunState | None] = asyncio.get_running_loop().create_future()
        self._pending.append((entry, done))
        self.feed.wake(ENDINGS_TOPIC)
        return await done

    async def run_once(self) -> EndingsWritten:
        early = self._spacing.early(self.gather)
        if early and 0 < len(self._pending) < CROWD:
            return EndingsWritten(0, 0, early)
        group = self._gather()
        if not group:
            return EndingsWritten(0, 0, self.longest_rest)
        try:
            entries = [entry for entry, _ in group]
            finished = joined(entries, await self._writer.write(entries))
        except BaseException:
            # Writes are idempotent, so the whole group can be retried.
            self._pending.extendleft(reversed(group))
            raise
        self._spacing.mark()
        for entry, done in group:
            if not done.done():
                done.set_result(finished.states.get(entry.fence.run_id))
        self._tell(entries, finished)
        return EndingsWritten(len(group), len(finished.stale), 0.0 if self._pending else self.longest_rest)

    def _tell(self, entries: Sequence[Entry], finished: EndingsResult) -> None:
        self.alarm.set(
            entry.ready_at for entry in entries if isinstance(entry, AttemptEnding) and entry.ready_at is not None
        )
        self.feed.wake(*(run_topic(entry.fence.run_id) for entry in entries), *finished.topics)
        if finished.released:
            self.feed.wake(RUNS_TOPIC)
        # What is due later is found by the regular poll.
        soon = self.clock.now() + timedelta(seconds=self.longest_rest)
        if any(isinstance(entry, ParkedUpdate) and entry.poll_at < soon for entry in entries):
            self.feed.wake(PARKED_TOPIC)

    def _gather(self) -> list[Pending]:
        count = len(self._writer.group(entry for entry, _ in self._pending))
        return [self._pending.popleft() for _ in range(count)]


def ending_writer(clock: Clock, store: Database) -> GroupWriter[Entry, EndingsResult]:
    """Writes endings and parkings of runs."""

    async def transaction(entries: Sequence[Entry]) -> EndingsResult:
        async with store.begin() as tx:
            return await _written(tx, entries, clock.now())

    return GroupWriter(transaction=transaction, weight=weight, lesser=_lesser, key=lambda entry: entry.fence.run_id)


def joined(entries: Sequence[Entry], parts: Sequence[EndingsResult]) -> EndingsResult:
    """The result of all of them; those that could not be stored count as stale."""
    states = {run_id: state for part in parts for run_id, state in part.states.items()}
    stale = frozenset(entry.fence.run_id for entry in entries) - states.keys()
    topics = frozenset(topic for part in parts for topic in part.topics)
    return EndingsResult(states, stale, sum(part.released for part in parts), topics=topics)


async def _written(tx: Transaction, entries: Sequence[Entry], now: datetime) -> EndingsResult:
    parkings = [entry for entry in entries if isinstance(entry, ParkedUpdate)]
    if not parkings:
        return await SqlClaims(tx).finish([entry for entry in entries if isinstance(entry, AttemptEnding)], now)
    parked = await SqlParked(tx).park(parkings, now)
    endings = [entry for entry in entries if isinstance(entry, AttemptEnding)]
    finished = await SqlClaims(tx).finish(endings, now) if endings else EndingsResult({}, frozenset())
    stale = {parking.fence.run_id for parking in parkings} - parked
    states = {**finished.states, **dict.fromkeys(parked, RunState.RUNNING)}
    return EndingsResult(states, finished.stale | stale, finished.released, topics=finished.topics)


def weight(entry: Entry) -> int:
    """About how much text it is."""
    lines = sum(len(line.message) for line in entry.lines)
    if isinstance(entry, ParkedUpdate):
        return lines + (_size(entry.items) if entry.items else 0)
    body = (entry.response or {}).get("body")
    return lines + (len(body) if isinstance(body, str) else 0)


def _size(items: Sequence[Any]) -> int:
    try:
        return len(orjson.dumps(list(items)))
    except TypeError:
        # It cannot be stored either; that error is reported then.
        return HEAVY


def _lesser(entry: Entry) -> Iterator[Entry]:
    """The same with less and less of what could not be stored."""
    if isinstance(entry, ParkedUpdate):
        text = f"{len(entry.lines)} lines and {len(entry.items)} items could not be stored; the server's log says why"
        yield replace(entry, lines=[EventLine(entry.at, EventType.LOG, "error", text)], items=())
        given_up = entry.given_up
        yield _bare(AttemptEnding(fence=entry.fence, state=given_up, outcome="failed", at=entry.at, given_up=given_up))
    else:
        yield _bare(entry)


def _bare(ending: AttemptEnding) -> AttemptEnding:
    """The same end without what could not be stored."""
    problem = AttemptError("unrecordable", "the attempt ended, but its result could not be stored; the log says why")
    state = ending.given_up if ending.state.final else ending.state
    return replace(ending, state=state, outcome="failed", result=None, response=None, lines=(), error=problem.as_dict())
