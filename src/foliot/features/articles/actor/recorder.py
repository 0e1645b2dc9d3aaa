"""Writes the results of articles in groups, renews their leases, and reclaims those of dead processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.broker.publisher import Monitor
from foliot.engine.group_writer import GroupWriter
from foliot.engine.loop import Spacing
from foliot.engine.model.outcome import NoRetry
from foliot.engine.model.run import AttemptError, Fence, Lost
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.sql.leases import longest
from foliot.features.articles.actor.batches import count_ended
from foliot.features.articles.actor.fetcher import ArticleFetch, ArticleFetcher
from foliot.features.articles.model import EndingsEffect, FetchEnding
from foliot.features.articles.sql.articles import SqlArticles
from foliot.wakeups.feed import ARTICLES_TOPIC, PAGES_TOPIC, RUNS_TOPIC, Feed, run_topic

GROUP = 200
HEAVY = 4 * 1024 * 1024
"""Characters of text in one group."""
ORPHANS = 20
CROWD = 50
"""From this many endings on, a group is written at once."""
SWEEP = 200
FLUSHES = 20
"""Maximum number of groups that a stopping process tries to write."""

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class ArticlesRecorded:
    """How many endings one round wrote, and how many leases it reclaimed."""

    written: int
    lost: int
    rest: float


@dataclass(slots=True, kw_only=True)
class ArticleRecorder:
    """Group commit of endings; they are kept in memory while the database is unavailable."""

    clock: Clock
    store: Database
    feed: Feed
    gatherer: ArticleFetcher
    heartbeat: float
    sweep: float
    meter: EngineCounters = field(default_factory=EngineCounters)
    monitor: Monitor | None = None
    steady_for: Callable[[], float] = lambda: float("inf")
    """For how many seconds no step has moved the clock."""
    gather: float = 0.25
    """Seconds that a small group waits after the last one while fetches are under way."""
    name: str = "filer"
    topics: Sequence[str] = (PAGES_TOPIC,)
    _spacing: Spacing = field(default_factory=Spacing)
    _sweeps: Spacing = field(default_factory=Spacing)
    _writer: GroupWriter[FetchEnding, EndingsEffect] = field(init=False)

    def __post_init__(self) -> None:
        self._writer = GroupWriter(
            transaction=self._record,
            weight=_weight,
            lesser=_lesser,
            key=lambda ending: ending.fence.run_id,
            most=GROUP,
            heavy=HEAVY,
        )

    async def run_once(self) -> ArticlesRecorded:
        # Leases first: an ending that cannot be written must not cost the fetches under way their leases.
        await self._renew()
        lost = await self._reclaim()
        early = self._early()
        written = 0 if early else await self._write()
        rest = early or (0.0 if self.gatherer.endings else min(self.heartbeat, self.sweep) / 2)
        return ArticlesRecorded(written, lost, rest)

    def _early(self) -> float:
        """Seconds until a small group of endings is written."""
        if not self.gatherer.fetches or len(self.gatherer.endings) >= CROWD:
            return 0.0
        return self._spacing.early(self.gather) if self.gatherer.endings else 0.0

    async def _write(self) -> int:
        """Writing is idempotent (the fence decides), so endings are kept until the commit is acknowledged."""
        group = self._writer.group(self.gatherer.endings)
        if not group:
            return 0
        await self._writer.write(group)
        self._spacing.mark()
        del self.gatherer.endings[: len(group)]
        return len(group)

    async def _record(self, group: Sequence[FetchEnding]) -> EndingsEffect:
        async with self.store.begin() as tx:
            effect = await SqlArticles(tx).finish(group, self.clock.now(), self.gatherer.how.manners)
        # At once: a group that is written in parts may fail at a later part, and this part is not reported again.
        self._publish(effect)
        return effect

    async def flush(self) -> None:
        """Writes the last endings of a stopping process; the others are reclaimed when their leases expire."""
        for _ in range(FLUSHES):
            if not self.gatherer.endings:
                return
            with suppress(Unavailable):
                await self._write()

    def _lost(self, fence: Fence, host: str, attempt: int, now: datetime) -> FetchEnding:
        how = self.gatherer.how
        verdict = how.policy.decide(fence.run_id, attempt, how.attempts, Lost(), now)
        retry_at = None if isinstance(verdict, NoRetry) else verdict.moment
        return FetchEnding(fence=fence, host=host, at=now, problem=Lost().problem, retry_at=retry_at, lost=True)

    def _publish(self, effect: EndingsEffect) -> None:
        count_ended(self.meter, self.monitor, effect.ended)
        topics = [run_topic(run_id) for run_id in effect.jobs]
        if effect.ended.released:
            topics.append(RUNS_TOPIC)
        # Articles that were handed back or will be retried can be claimed by any process.
        self.feed.wake(*topics, ARTICLES_TOPIC)

    async def _renew(self) -> None:
        now = asyncio.get_running_loop().time()
        due: list[ArticleFetch] = [
            fetch for fetch in self.gatherer.fetches.values() if fetch.leased_at + self.heartbeat <= now
        ]
        if not due:
            return
        async with self.store.begin() as tx:
            fences = [fetch.taken.fence for fetch in due]
            held = await SqlArticles(tx).extend(fences, self.gatherer.lease, self.clock.now())
        for fetch in due:
            if fetch.article_id in held:
                self.gatherer.renew(fetch, now)
            else:
                fetch.lose()

    async def _reclaim(self) -> int:
        """Reclaims expired leases; a row that cannot be reclaimed does not keep endings from being written."""
        try:
            return await self._take_back()
        except Unavailable:
            raise
        except Exception:
            log.exception("articles could not be reclaimed", action="articles_kept")
            return 0

    async def _take_back(self) -> int:
        if self._sweeps.early(self.sweep):
            return 0
        self._sweeps.mark()
        if self.steady_for() < self.gatherer.lease.total_seconds():
            # After a step of the clock, live processes get the time to renew their leases first.
            return 0
        now = self.clock.now()
        async with self.store.begin() as tx:
            expired = await SqlArticles(tx).lock_expired(now, SWEEP, longest(self.gatherer.lease))
            endings = [self._lost(*lease, now) for lease in expired]
            effect = await SqlArticles(tx).finish(endings, now, self.gatherer.how.manners) if endings else None
            # A job that another transaction ended releases its articles.
            if orphans := await SqlArticles(tx).orphans(ORPHANS):
                await SqlArticles(tx).release(orphans, now)
        if effect is not None:
            log.warning("reclaimed articles from a lost worker", action="articles_lost", count=len(endings))
            self._publish(effect)
        return len(endings)


def _weight(ending: FetchEnding) -> int:
    return 0 if ending.page is None else len(ending.page.content or "")


def _lesser(ending: FetchEnding) -> Iterator[FetchEnding]:
    """The same ending as a failure, for a page that the database cannot store."""
    if ending.page is not None:
        problem = AttemptError("unrecordable", "The article was read, but could not be stored; the log says why.")
        yield replace(ending, page=None, unchanged=False, problem=problem, retry_at=None)
