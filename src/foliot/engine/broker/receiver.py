"""Claims the runs of broker messages as far as there are free slots, and returns the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from foliot.cluster.frames import BrokerMessage
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.broker.publisher import Intake
from foliot.engine.ports import WorkerPool
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.offers import SqlOffers
from foliot.wakeups.feed import RUNS_TOPIC, SLOTS_TOPIC, Feed

HOLD = 1.0
"""How long a worker without a free slot keeps runs that another might take."""


@dataclass(slots=True, kw_only=True)
class Receiver:
    """A message is a hint: the rows say what may be claimed, and what is most urgent."""

    clock: Clock
    store: Database
    feed: Feed
    workers: WorkerPool
    parcels: int = 0
    stale: int = 0
    """Runs of messages that can no longer be claimed."""
    returned: int = 0
    closed: bool = False
    _waiting: list[tuple[BrokerMessage, asyncio.Future[int]]] = field(default_factory=list)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Slots are counted and taken by one message at a time."""

    async def receive(self, parcel: BrokerMessage) -> None:
        self.parcels += 1
        named = await self._take(parcel)
        if rest := parcel.run_ids[named:]:
            if await self._slot():
                await self._most_urgent(parcel.queue)
            await self._return(rest, parcel.offered_at)

    async def _take(self, parcel: BrokerMessage) -> int:
        """Claim as many of its runs as there are slots for; returns how many were claimed."""
        taken: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((parcel, taken))
        async with self._turn:
            if not taken.done():
                await self._take_all()
        return await taken

    async def _take_all(self) -> None:
        """Messages that arrived during a claim are claimed together: a claim costs the same for many."""
        waiting, self._waiting = self._waiting, []
        free = 0 if self.closed else max(self.workers.free(), 0)
        named: list[tuple[BrokerMessage, Sequence[str]]] = []
        for parcel, _ in waiting:
            named.append((parcel, parcel.run_ids[:free]))
            free -= len(named[-1][1])
        try:
            await self._claim(named)
        except Exception as error:  # noqa: BLE001 -- whatever it is, each of those who asked hears of it, and none waits on
            # The mark on the rows expires, and they are offered again.
            for _, future in waiting:
                future.set_exception(error)
            return
        for (_, future), (_, run_ids) in zip(waiting, named, strict=True):
            future.set_result(len(run_ids))

    async def _claim(self, named: Sequence[tuple[BrokerMessage, Sequence[str]]]) -> None:
        run_ids = list(dict.fromkeys(run_id for _, part in named for run_id in part))
        taken = await self.workers.submit(run_ids) if run_ids else 0
        if taken < len(run_ids):
            back = sum([await self._return(part, parcel.offered_at) for parcel, part in named if part])
            self.stale += max(len(run_ids) - taken - back, 0)

    async def _slot(self) -> bool:
        """Wait for a free slot, for a while."""
        loop = asyncio.get_running_loop()
        until = loop.time() + HOLD
        async with self.feed.listen(SLOTS_TOPIC) as waiter:
            while (free := self.workers.free()) <= 0 and not self.closed and (left := until - loop.time()) > 0:
                await waiter.wait(left)
        return free > 0 and not self.closed

    async def _most_urgent(self, queue: str) -> int:
        """After a wait, a more urgent run than those of the message may be ready: it goes first."""
        async with self._turn:
            if (free := self.workers.free()) <= 0:
                return 0
            async with self.store.glance() as tx:
                ready = await SqlClaims(tx).ready(self.clock.now(), {queue}, free)
            return await self.workers.submit(ready) if ready else 0

    async def _return(self, run_ids: Sequence[str], offered_at: datetime) -> int:
        """Runs that neither we nor another worker claimed are offered again."""
        async with self.store.begin() as tx:
            back = await SqlOffers(tx).take_back(run_ids, offered_at)
        self.returned += back
        if back:
            self.feed.wake(RUNS_TOPIC)
        return back

    def close(self) -> None:
        self.closed = True
        self.feed.wake(SLOTS_TOPIC)

    def report(self) -> Mapping[str, Any]:
        return {"parcels": self.parcels, "stale": self.stale, "returned": self.returned}


@dataclass(frozen=True, slots=True)
class QueuesFound:
    """How many queues a round found."""

    queues: int
    rest: float


@dataclass(slots=True, kw_only=True)
class QueueFollower:
    """For a worker that takes every queue: discovers new queues and subscribes to them."""

    store: Database
    intake: Intake
    period: float
    known: frozenset[str] = frozenset()
    name: str = "follower"
    topics: Sequence[str] = ()

    async def run_once(self) -> QueuesFound:
        async with self.store.glance() as tx:
            found = frozenset(await SqlOffers(tx).lanes())
        if new := found - self.known:
            await self.intake.follow(sorted(new))
            self.known |= new
        return QueuesFound(len(new), self.period)
