"""The articles action: a job notes what it wants, is parked, and ends when nothing is pending any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from foliot.commands.retry_on_conflict import again
from foliot.db.database import Database
from foliot.engine.model.run import Cancelled, Failed, Outcome, Parked, Problem, Succeeded
from foliot.engine.ports import Context, Look
from foliot.features.articles.config import Targets, read_config
from foliot.features.articles.model.article import KIND, Counts
from foliot.features.articles.model.fetch import Wish
from foliot.features.articles.sql.articles import SqlArticles
from foliot.wakeups.feed import ARTICLES_TOPIC, Feed

AGAIN = timedelta(seconds=2)
"""The last article's end brings the next look; this is for when that got lost."""
FIRST = timedelta(seconds=0.5)
"""The same for articles that end before their job is parked: so soon that whoever looks is woken by the parking."""


class Articles:
    """Has a list of pages fetched and read, whoever does it."""

    kind = KIND
    timeout = timedelta(seconds=60)
    """For noting what is wanted: the job itself takes as long as its articles do."""

    def __init__(self, *, store: Database, feed: Feed, targets: Targets) -> None:
        self._store = store
        self._feed = feed
        self._targets = targets

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming each bad URL."""
        return read_config(config, self._targets)

    async def perform(self, ctx: Context) -> Outcome:
        """Note what is wanted, unless that was done when the job was asked for."""
        counts = await self._noted(ctx)
        if counts is None:
            return Failed(Problem("no_articles", "The job names no articles."), permanent=True)
        self._feed.wake(ARTICLES_TOPIC)
        ctx.log(f"{counts.total:,} articles: {counts.cached:,} are fresh, {counts.pending:,} to fetch")
        return verdict(counts) or Parked({}, FIRST)

    @again
    async def _noted(self, ctx: Context) -> Counts | None:
        async with self._store.begin() as tx:
            known = await SqlArticles(tx).counts([ctx.run_id])
            if ctx.run_id in known:
                return known[ctx.run_id]
            wanted = [Wish.of(one) for one in ctx.config.get("articles") or ()]
            if not wanted:
                return None
            max_age = timedelta(seconds=ctx.config.get("max_age_seconds") or 0)
            return await SqlArticles(tx).submit(ctx.tenant_id, ctx.run_id, wanted, ctx.now, max_age)

    async def look(self, looks: Sequence[Look]) -> Mapping[str, Outcome]:
        """What has become of each; those that are to end want nothing any more."""
        ids = [look.ctx.run_id for look in looks]
        ending = [look.ctx.run_id for look in looks if look.cancel or look.ended]
        async with self._store.begin() as tx:
            if ending:
                await SqlArticles(tx).forsake(ending, looks[0].ctx.now)
            known = await SqlArticles(tx).counts(ids)
        answers: dict[str, Outcome] = {}
        for run_id in ids:
            counts = known.get(run_id, Counts())
            if run_id in ending:
                answers[run_id] = Cancelled("cancelled on request")
            else:
                answers[run_id] = verdict(counts) or Parked({}, AGAIN)
        return answers


def verdict(counts: Counts) -> Succeeded | Failed | Cancelled | None:
    """How a job ended; None while something is pending."""
    if counts.pending:
        return None
    if counts.cancelled:
        return Cancelled("cancelled on request")
    result = {"total": counts.total, "completed": counts.completed, "cached": counts.cached, "failed": counts.failed}
    if counts.failed and not counts.completed:
        said = f"None of the {counts.total:,} articles could be read."
        return Failed(Problem("no_article_read", said), permanent=True, response=result)
    return Succeeded(result=result, partial=counts.failed > 0)
