"""Creates the items of queued batches, and ends batches that a request cancelled.

A batch that is submitted has its items from the start. Those of a batch that a schedule fires, or that is run again,
are created here from its configuration, in one transaction that also parks the run. Not in the transaction that
fires it, which settles a thousand schedules under their locks and must not wait for ten thousand articles.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from foliot.commands.envelope import again
from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.attempts.conclusion import announce
from foliot.engine.attempts.unanswered import hopeless
from foliot.engine.broker.publisher import Monitor
from foliot.engine.loop import rest_until
from foliot.engine.model.run import AttemptError, Cancelled, Failed
from foliot.engine.model.views import ClaimedRun
from foliot.engine.node_reporter import EngineCounters
from foliot.features.articles.config import options_of
from foliot.features.articles.model import ArticleCounts, EndedBatches, WantedArticle
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.wakeups.feed import ARTICLES_TOPIC, PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

BATCH = 100

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class OpenedBatches:
    """How many batches one round opened, and how many it checked."""

    opened: int
    checked: int
    rest: float


@dataclass(slots=True, kw_only=True)
class BatchOpener:
    """Creates the items of due batches and parks their runs; ends parked batches with nothing left to fetch.

    Safe on every node: a batch is locked while its items are created, and one that has ended is not changed.
    """

    clock: Clock
    store: Database
    feed: Feed
    meter: EngineCounters
    longest_rest: float
    queues: Collection[str] | None = None
    monitor: Monitor | None = None
    name: str = "batch_opener"
    topics: Sequence[str] = (RUNS_TOPIC, PARKED_TOPIC)

    async def run_once(self) -> OpenedBatches:
        now = self.clock.now()
        async with self.store.glance() as tx:
            coming = await SqlBatchRuns(tx).coming(self.queues, now, BATCH)
        opened = 0
        for run_id in coming.waiting:
            opened += await self._open(run_id)
        if coming.parked:
            await self._check(coming.parked)
        if opened or coming.parked:
            return OpenedBatches(opened, len(coming.parked), 0.0)
        return OpenedBatches(0, 0, rest_until(coming.next_at, now, self.longest_rest))

    async def _open(self, run_id: str) -> bool:
        """A batch that cannot be opened fails for good: it delays no other, and is not retried for ever."""
        try:
            ended = await self._create_items(run_id)
        except Unavailable:
            raise
        except Exception:
            log.exception("a batch could not be opened", action="batch_failed", run_id=run_id)
            problem = AttemptError("unrecordable", "the items of the batch could not be stored; the log says why")
            ended = await self._give_up(run_id, Failed(problem, permanent=True))
        if ended is None:
            return False
        count_ended(self.meter, self.monitor, ended)
        self.feed.wake(ARTICLES_TOPIC, run_topic(run_id), *([RUNS_TOPIC] if ended.released else []))
        return True

    @again
    async def _create_items(self, run_id: str) -> EndedBatches | None:
        """None when another process has opened the batch."""
        now = self.clock.now()
        async with self.store.begin() as tx:
            claimed = await SqlBatchRuns(tx).lock_waiting(run_id, now)
            if claimed is None:
                return None
            self.meter.start_lateness.observe_all([(now - claimed.ready_at).total_seconds()])
            await SqlBatchRuns(tx).start(claimed, now)
            if claimed.fault is not None or claimed.locked:
                return await SqlBatchRuns(tx).end({run_id: hopeless(claimed)}, now)
            counts = await _noted(tx, claimed)
            if counts is None:
                problem = AttemptError("no_articles", "The job names no articles.")
                return await SqlBatchRuns(tx).end({run_id: Failed(problem, permanent=True)}, now)
            return await SqlBatchRuns(tx).begin(run_id, counts, now)

    async def _give_up(self, run_id: str, failure: Failed) -> EndedBatches | None:
        now = self.clock.now()
        async with self.store.begin() as tx:
            claimed = await SqlBatchRuns(tx).lock_waiting(run_id, now)
            if claimed is None:
                return None
            await SqlBatchRuns(tx).start(claimed, now)
            return await SqlBatchRuns(tx).end({run_id: failure}, now)

    async def _check(self, run_ids: Sequence[str]) -> None:
        """Cancels batches with a request to stop; ends those without pending items."""
        async with self.store.glance() as tx:
            going, stops = await SqlBatchRuns(tx).standing(run_ids)
        # In two transactions: each takes the locks of its jobs in the order of their ids.
        for ended in (
            await self._stop(stops) if stops else EndedBatches(),
            await self._settle(going) if going else EndedBatches(),
        ):
            count_ended(self.meter, self.monitor, ended)
            topics = [run_topic(claimed.fence.run_id) for claimed, _, _ in ended.runs]
            self.feed.wake(*topics, *([RUNS_TOPIC] if ended.released else []))

    @again
    async def _stop(self, run_ids: Sequence[str]) -> EndedBatches:
        now = self.clock.now()
        async with self.store.begin() as tx:
            await SqlArticles(tx).release(run_ids, now)
            ended = await SqlBatchRuns(tx).end(dict.fromkeys(run_ids, Cancelled("cancelled on request")), now)
            await SqlBatchRuns(tx).check_again(run_ids, now)
        return ended

    @again
    async def _settle(self, run_ids: Sequence[str]) -> EndedBatches:
        now = self.clock.now()
        async with self.store.begin() as tx:
            known = await SqlArticles(tx).counts(run_ids, lock=True)
            counts = {run_id: known.get(run_id, ArticleCounts()) for run_id in run_ids}
            ended = await SqlBatchRuns(tx).settle(counts, now)
            await SqlBatchRuns(tx).check_again(run_ids, now)
        return ended


async def _noted(tx: Transaction, claimed: ClaimedRun) -> ArticleCounts | None:
    """Creates the items of a batch from its configuration, unless an earlier version did; None when it has none."""
    run_id = claimed.fence.run_id
    known = await SqlArticles(tx).counts([run_id])
    if run_id in known:
        return known[run_id]
    wanted = [WantedArticle.of(article) for article in claimed.config.get("articles") or ()]
    if not wanted:
        return None
    max_age = timedelta(seconds=claimed.config.get("max_age_seconds") or 0)
    options, now = options_of(claimed.config), claimed.started_at
    return await SqlArticles(tx).submit(claimed.tenant_id, run_id, wanted, now, max_age, options)


def count_ended(meter: EngineCounters, monitor: Monitor | None, ended: EndedBatches) -> None:
    """Updates the counters and the monitor for runs whose end is committed."""
    for claimed, ending, stored in ended.runs:
        announce(meter, monitor, claimed, ending, stored)
