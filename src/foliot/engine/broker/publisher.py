"""Publishes ready runs to the broker: few at a time, so that it holds the most urgent ones.

Ports to a message broker: publishing runs, receiving them, and reporting them to the broker's own tools.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Protocol

import structlog

from foliot.cluster.frames import PARCEL, BrokerMessage, MonitoredTask, MonitoredTaskEnd, Receive
from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import Spacing
from foliot.engine.model.node import SEEN, NodeRequest
from foliot.engine.model.queue import OfferedRun, PublishWindow
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.offers import SqlOffers
from foliot.engine.sql.retention import SqlRetention
from foliot.wakeups.feed import RUNS_TOPIC


class Broker(Protocol):
    """Publishes messages to the consumers of their queues."""

    @property
    def shown(self) -> str:
        """Its address without credentials."""
        ...

    async def publish(self, parcels: Sequence[BrokerMessage]) -> None:
        """Publish all of them and wait for confirms; `Unavailable` unless each was confirmed."""
        ...

    async def check(self) -> None:
        """`Unavailable`, with the reason, when it cannot be reached."""
        ...

    async def close(self) -> None: ...


class Monitor(Protocol):
    """Receives events of runs in this process, for tools that monitor a broker's workers."""

    def began(self, run: MonitoredTask) -> None: ...

    def left(self, run_id: str) -> None:
        """It is no longer in this process: it has ended, is parked, or was lost."""
        ...

    def ended(self, run: MonitoredTask, ending: MonitoredTaskEnd) -> None: ...


class Intake(Protocol):
    """The source of a worker's runs, with a broker."""

    async def open(self, receive: Receive) -> None:
        """Start consuming; each message is passed to `receive`, which returns when the next one may come."""
        ...

    async def follow(self, queues: Sequence[str]) -> None:
        """Consume these queues too."""
        ...

    async def close(self) -> None:
        """Stop consuming, and let messages in progress finish."""
        ...

    def report(self) -> Mapping[str, Any]: ...

    @property
    def monitor(self) -> Monitor:
        """Receives events of runs that begin and end here."""
        ...


LEAST_WINDOW = 100
"""Minimum number of runs of a queue that the broker may hold."""
UNCLAIMED = timedelta(seconds=15)
"""A run that is unclaimed for this long is published again: its message may be lost."""
LOOK_AT_WORKERS = 1.0
TOUCH = 5.0
"""After this long without a message, the connection to the broker is tested."""
SHORTEST, LONGEST = 0.01, 0.25
"""Pause when the broker holds all that it may."""
BACKLOG = 0.03
"""Pause when there is more than it may hold: it has work for longer, and large batches are cheap."""
PARTS = 2
"""A batch makes at least so many messages for each worker, so that others find some to take."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class Published:
    """What one round published."""

    runs: int
    parcels: int
    rest: float


@dataclass(frozen=True, slots=True)
class QueueConsumer:
    """A worker, as its last report shows it."""

    queues: frozenset[str] | None
    slots: int
    free: int


@dataclass(frozen=True, slots=True)
class QueueConsumers:
    """Which workers take runs from which queue."""

    all: Sequence[QueueConsumer] = ()

    @classmethod
    def of(cls, nodes: Sequence[Mapping[str, Any]]) -> QueueConsumers:
        """Draining workers take no more runs."""
        return cls([_taker(node["report"]) for node in nodes if node["role"] == "worker" and not _leaving(node)])

    def of_queue(self, queue: str) -> list[QueueConsumer]:
        return [taker for taker in self.all if taker.queues is None or queue in taker.queues]

    def window(self, queue: str) -> PublishWindow:
        """A worker without a free slot gets no second message: the first may still be on its way."""
        free = sum(taker.free for taker in self.of_queue(queue))
        return PublishWindow(max(LEAST_WINDOW, 2 * free), again=free > 0)

    def parcel(self, queue: str, offered: int) -> int:
        """How many runs share a message."""
        takers = self.of_queue(queue)
        widest = max((taker.slots for taker in takers), default=PARCEL)
        return max(1, min(PARCEL, widest, math.ceil(offered / (PARTS * max(1, len(takers))))))


def _leaving(node: Mapping[str, Any]) -> bool:
    return node.get("wish") in {NodeRequest.DRAIN, NodeRequest.RESTART}


def _taker(report: Mapping[str, Any]) -> QueueConsumer:
    queues = report.get("queues")
    slots, free = int(report.get("slots") or 0), int(report.get("free") or 0)
    return QueueConsumer(None if queues is None else frozenset(queues), slots, max(free, 0))


@dataclass(slots=True, kw_only=True)
class Publisher:
    """Marks runs in the database, then publishes them: a mark without a message is cheap, the other way is not."""

    clock: Clock
    store: Database
    broker: Broker
    alarm: ReadyTimes
    batch: int
    longest_rest: float
    scale: float = 1.0
    gather: float = 0.0
    name: str = "publisher"
    topics: Sequence[str] = (RUNS_TOPIC,)
    published: int = 0
    trouble: str | None = None
    """Why the last messages were not sent."""
    _takers: QueueConsumers = field(default_factory=QueueConsumers)
    _seen_at: float = -math.inf
    _touched_at: float = -math.inf
    _spacing: Spacing = field(default_factory=Spacing)
    """Minimum time between two queries, whatever wakes us."""
    _patience: float = SHORTEST

    async def run_once(self) -> Published:
        loop = asyncio.get_running_loop()
        if early := self._spacing.early():
            return Published(0, 0, early)
        now = self.clock.now()
        await self._look_at_workers(loop.time())
        await self._reach(loop.time())
        async with self.store.begin() as tx:
            batch = await SqlOffers(tx).offer(now, now - UNCLAIMED * self.scale, self._takers.window, self.batch)
        self._spacing.mark()
        if not batch.runs:
            self._spacing.gap = self.gather
            return Published(0, 0, self._rest(now, full=batch.full))
        self._spacing.gap = BACKLOG if batch.full else self.gather
        parcels = self._packed(batch.runs, now)
        await self._send(parcels)
        self._patience = SHORTEST
        return Published(len(batch.runs), len(parcels), max(self._spacing.gap, SHORTEST))

    def _rest(self, now: datetime, *, full: bool) -> float:
        """Claims do not notify the publisher: a full window is queried again soon."""
        self._patience = min(self._patience * 2, LONGEST)
        return self.alarm.rest(now, self._patience if full else self.longest_rest)

    async def _look_at_workers(self, at: float) -> None:
        if at - self._seen_at < LOOK_AT_WORKERS * self.scale:
            return
        async with self.store.glance() as tx:
            self._takers = QueueConsumers.of(await SqlRetention(tx).nodes(self.clock.now() - SEEN))
        self._seen_at = at

    async def _reach(self, at: float) -> None:
        """Test the connection before anything is marked, after an outage, or when nothing was sent for a while."""
        if self.trouble is None and at - self._touched_at < TOUCH:
            return
        try:
            await self.broker.check()
        except Unavailable as away:
            self.trouble = str(away)
            raise
        self.trouble, self._touched_at = None, at

    def _packed(self, offered: Sequence[OfferedRun], now: datetime) -> list[BrokerMessage]:
        """Runs next to each other in the order of one queue share a message; queues take turns as their runs do."""
        parcels = []
        for queue, members in groupby(sorted(offered, key=lambda offer: offer.queue), key=lambda offer: offer.queue):
            theirs = list(members)
            size = self._takers.parcel(queue, len(theirs))
            for start in range(0, len(theirs), size):
                part = theirs[start : start + size]
                urgent = min(offer.priority for offer in part)
                parcels.append(BrokerMessage(queue, urgent, [offer.run_id for offer in part], now))
        return parcels

    async def _send(self, parcels: Sequence[BrokerMessage]) -> None:
        try:
            await self.broker.publish(parcels)
        except Unavailable as away:
            self.trouble = str(away)
            await self._take_back(parcels)
            raise
        self._touched_at = asyncio.get_running_loop().time()
        self.published += sum(len(parcel.run_ids) for parcel in parcels)

    async def _take_back(self, parcels: Sequence[BrokerMessage]) -> None:
        """Messages that the broker may have accepted all the same do no harm: runs are claimed once."""
        run_ids = [run_id for parcel in parcels for run_id in parcel.run_ids]
        try:
            async with self.store.begin() as tx:
                await SqlOffers(tx).take_back(run_ids, parcels[0].offered_at)
        except Unavailable as error:
            log.warning(
                "marks were not removed and will expire", action="offers_kept", runs=len(run_ids), error=str(error)
            )

    def takers(self) -> tuple[int, int]:
        """How many workers there are, and how many slots they have free."""
        return len(self._takers.all), sum(taker.free for taker in self._takers.all)

    def report(self) -> Mapping[str, Any]:
        return {
            "broker": self.broker.shown,
            "publishing": self.trouble is None,
            "trouble": self.trouble,
            "published": self.published,
        }
