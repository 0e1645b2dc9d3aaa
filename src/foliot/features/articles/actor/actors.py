"""The actors of articles in one process that executes: fetcher, recorder, and opener of batches."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.broker import Monitor
from foliot.engine.meter import Meter
from foliot.engine.pace import Pace
from foliot.engine.slots import Slots
from foliot.features.articles.actor.batches import BatchOpener
from foliot.features.articles.actor.fetcher import Gatherer, Gathering
from foliot.features.articles.actor.recorder import Filer
from foliot.wakeups.feed import Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleActors:
    """Builds them from what the engine of the process has."""

    clock: Clock
    store: Database
    feed: Feed
    meter: Meter
    worker: str
    pace: Pace
    queues: Collection[str] | None
    monitor: Monitor | None

    def fetcher(self, how: Gathering, slots: Slots) -> Gatherer:
        return Gatherer(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            how=how,
            worker=self.worker,
            lease=timedelta(seconds=self.pace.lease * self.pace.scale),
            longest_rest=self.pace.tick,
            queues=self.queues,
            places=Slots(failures=slots.failures, wait=slots.wait),
        )

    def recorder(self, fetcher: Gatherer, steady_for: Callable[[], float]) -> Filer:
        return Filer(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            gatherer=fetcher,
            heartbeat=self.pace.heartbeat * self.pace.scale,
            sweep=self.pace.sweep * self.pace.scale,
            meter=self.meter,
            monitor=self.monitor,
            steady_for=steady_for,
        )

    def opener(self) -> BatchOpener:
        return BatchOpener(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            meter=self.meter,
            longest_rest=self.pace.tick,
            queues=self.queues,
            monitor=self.monitor,
        )
