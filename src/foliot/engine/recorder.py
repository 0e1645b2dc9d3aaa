"""Writes endings down in groups: while one group is being written, the next one gathers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import structlog

from foliot.domain.errors import Unavailable
from foliot.domain.run import Problem, RunState
from foliot.engine.alarm import Alarm
from foliot.ports import ENDINGS_TOPIC, RUNS_TOPIC, Clock, Ending, Feed, Finished, Store, run_topic

GROUP = 500
HEAVY = 1024 * 1024
"""A group with this much text in it is full: a database takes only so much in one statement."""

CROWD = 32
"""So many endings are written at once, however long ago the last group was."""

SHORTEST = 0.001
"""Timers are no finer than this: what is nearer is now."""

log = structlog.get_logger("foliot.engine")

Pending = tuple[Ending, asyncio.Future[bool]]


@dataclass(frozen=True, slots=True)
class Wrote:
    """How many endings one round wrote, and how many of them were stale."""

    written: int
    stale: int
    rest: float


@dataclass(slots=True, kw_only=True)
class Recorder:
    """One transaction per group; nothing is forgotten while the database is away."""

    clock: Clock
    store: Store
    feed: Feed
    alarm: Alarm
    longest_rest: float
    gather: float = 0.0
    """A small group waits until this long after the last one: each costs the database the same, however small."""
    name: str = "recorder"
    topics: Sequence[str] = (ENDINGS_TOPIC,)
    _pending: deque[Pending] = field(default_factory=deque)
    _wrote_at: float = -1.0

    async def put(self, ending: Ending) -> bool:
        """Wait until the ending is durable; False when its fence no longer held, so that it changed nothing."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._pending.append((ending, done))
        self.feed.wake(ENDINGS_TOPIC)
        return await done

    async def run_once(self) -> Wrote:
        early = self._wrote_at + self.gather - asyncio.get_running_loop().time()
        if early > SHORTEST and 0 < len(self._pending) < CROWD:
            return Wrote(0, 0, early)
        group = self._gather()
        if not group:
            return Wrote(0, 0, self.longest_rest)
        try:
            finished = await self._write_group(group)
        except BaseException:
            # Written twice is written once, so all of the group may come again.
            self._pending.extendleft(reversed(group))
            raise
        self._wrote_at = asyncio.get_running_loop().time()
        for ending, done in group:
            if not done.done():
                done.set_result(ending.fence.run_id in finished.accepted)
        self.alarm.set(ending.ready_at for ending, _ in group if ending.ready_at is not None)
        self.feed.wake(*(run_topic(ending.fence.run_id) for ending, _ in group))
        if finished.released:
            self.feed.wake(RUNS_TOPIC)
        return Wrote(len(group), len(finished.stale), 0.0 if self._pending else self.longest_rest)

    def _gather(self) -> list[Pending]:
        group: list[Pending] = []
        weight = 0
        while self._pending and len(group) < GROUP and weight < HEAVY:
            group.append(self._pending.popleft())
            weight += _weight(group[-1][0])
        return group

    async def _write_group(self, group: Sequence[Pending]) -> Finished:
        try:
            return await self._write([ending for ending, _ in group])
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 -- whatever it is, it comes from one of them
            return await self._write_singly(group)

    async def _write(self, endings: Sequence[Ending]) -> Finished:
        async with self.store.begin() as tx:
            return await tx.claims.finish(endings, self.clock.now())

    async def _write_singly(self, group: Sequence[Pending]) -> Finished:
        """One ending that cannot be stored must not hold up its neighbours."""
        accepted: set[str] = set()
        released = 0
        for ending, _ in group:
            for version in (ending, _bare(ending)):
                try:
                    finished = await self._write([version])
                except Unavailable:
                    raise
                except Exception:
                    log.exception("an ending could not be stored", action="unrecordable", run_id=ending.fence.run_id)
                else:
                    accepted |= finished.accepted
                    released += finished.released
                    break
        return Finished(frozenset(accepted), frozenset(ending.fence.run_id for ending, _ in group) - accepted, released)


def _weight(ending: Ending) -> int:
    body = (ending.response or {}).get("body")
    return (len(body) if isinstance(body, str) else 0) + sum(len(line.message) for line in ending.lines)


def _bare(ending: Ending) -> Ending:
    """The same end without what could not be stored."""
    problem = Problem("unrecordable", "the attempt ended, but its result could not be stored; the log says why")
    state = RunState.DEAD_LETTER if ending.state.final else ending.state
    return replace(ending, state=state, outcome="failed", result=None, response=None, lines=(), error=problem.as_dict())
