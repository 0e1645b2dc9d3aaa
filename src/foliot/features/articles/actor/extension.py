"""Adds the actors that fetch articles to the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from foliot.engine.extension import EngineContext, EngineExtension, Extend
from foliot.engine.loop import Actor
from foliot.engine.model.breaker import OpenBreakerReport
from foliot.engine.slots import Slots
from foliot.features.articles.actor.batches import BatchOpener
from foliot.features.articles.actor.fetcher import ArticleFetcher, FetcherSettings
from foliot.features.articles.actor.recorder import ArticleRecorder


class ArticleFetching(EngineExtension):
    """The batch opener, the fetcher and the recorder of a process that executes runs."""

    def __init__(self, engine: EngineContext, how: FetcherSettings) -> None:
        pace = engine.pace
        self._engine = engine
        self.gatherer = ArticleFetcher(
            clock=engine.clock,
            store=engine.store,
            feed=engine.feed,
            how=how,
            worker=engine.node_id,
            lease=engine.lease,
            longest_rest=pace.tick,
            queues=engine.queues,
            places=Slots(failures=engine.slots.failures, wait=engine.slots.wait),
        )
        self._filer = ArticleRecorder(
            clock=engine.clock,
            store=engine.store,
            feed=engine.feed,
            gatherer=self.gatherer,
            heartbeat=pace.heartbeat * pace.scale,
            sweep=pace.sweep * pace.scale,
            meter=engine.meter,
            monitor=engine.monitor,
            steady_for=engine.steady_for,
        )

    def sources(self) -> Sequence[Actor]:
        engine = self._engine
        opener = BatchOpener(
            clock=engine.clock,
            store=engine.store,
            feed=engine.feed,
            meter=engine.meter,
            longest_rest=engine.pace.tick,
            queues=engine.queues,
            monitor=engine.monitor,
        )
        return [self.gatherer, opener]

    def finishers(self) -> Sequence[Actor]:
        return [self._filer]

    async def drain(self, grace: float | None) -> int:
        return await self.gatherer.drain(grace)

    async def flush(self) -> None:
        await self._filer.flush()

    def open_breakers(self, now: datetime) -> Sequence[OpenBreakerReport]:
        return self.gatherer.places.open_breakers(now)

    def report(self) -> Mapping[str, Any]:
        return {"fetching": len(self.gatherer.fetches)}


def article_fetching(how: FetcherSettings) -> Extend:
    """An extension without actors in a process that executes no runs."""

    def extend(engine: EngineContext) -> EngineExtension:
        return ArticleFetching(engine, how) if engine.executes else EngineExtension()

    return extend
