"""Writes endings and parkings down in groups: while one group is being written, the next one gathers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.group_writer import HEAVY, Entry, Writer, weight
from foliot.engine.model.parked import Parking
from foliot.engine.model.run import RunState
from foliot.engine.model.views import Ending
from foliot.engine.pace import Spacing
from foliot.engine.ready_times import Alarm
from foliot.wakeups.feed import ENDINGS_TOPIC, PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

GROUP = 500

CROWD = 32
"""So many endings are written at once, however long ago the last group was."""

Pending = tuple[Entry, asyncio.Future[RunState | None]]


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
    store: Database
    feed: Feed
    alarm: Alarm
    longest_rest: float
    gather: float = 0.0
    """A small group waits until this long after the last one: each costs the database the same, however small."""
    name: str = "recorder"
    topics: Sequence[str] = (ENDINGS_TOPIC,)
    _pending: deque[Pending] = field(default_factory=deque)
    _spacing: Spacing = field(default_factory=Spacing)

    async def put(self, entry: Entry) -> RunState | None:
        """The state in which the run was stored; None when the fence no longer held, so that nothing changed."""
        done: asyncio.Future[RunState | None] = asyncio.get_running_loop().create_future()
        self._pending.append((entry, done))
        self.feed.wake(ENDINGS_TOPIC)
        return await done

    async def run_once(self) -> Wrote:
        early = self._spacing.early(self.gather)
        if early and 0 < len(self._pending) < CROWD:
            return Wrote(0, 0, early)
        group = self._gather()
        if not group:
            return Wrote(0, 0, self.longest_rest)
        try:
            finished = await Writer(self.clock, self.store).write([entry for entry, _ in group])
        except BaseException:
            # Written twice is written once, so all of the group may come again.
            self._pending.extendleft(reversed(group))
            raise
        self._spacing.mark()
        for entry, done in group:
            if not done.done():
                done.set_result(finished.states.get(entry.fence.run_id))
        self._tell([entry for entry, _ in group], finished.released)
        return Wrote(len(group), len(finished.stale), 0.0 if self._pending else self.longest_rest)

    def _tell(self, entries: Sequence[Entry], released: int) -> None:
        self.alarm.set(entry.ready_at for entry in entries if isinstance(entry, Ending) and entry.ready_at is not None)
        self.feed.wake(*(run_topic(entry.fence.run_id) for entry in entries))
        if released:
            self.feed.wake(RUNS_TOPIC)
        # Whatever is due later is found by the regular look.
        soon = self.clock.now() + timedelta(seconds=self.longest_rest)
        if any(isinstance(entry, Parking) and entry.poll_at < soon for entry in entries):
            self.feed.wake(PARKED_TOPIC)

    def _gather(self) -> list[Pending]:
        group: list[Pending] = []
        heavy = 0
        while self._pending and len(group) < GROUP and heavy < HEAVY:
            group.append(self._pending.popleft())
            heavy += weight(group[-1][0])
        return group
