"""Use cases of articles: submit a list of pages, and read the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, query, requires, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb
from foliot.core.declaration import read
from foliot.core.errors import Invalid, NotFound
from foliot.core.ids import RUN
from foliot.core.json_values import check_depth
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.db.database import Database
from foliot.engine.model.run import DEFAULT_PRIORITY, Origin
from foliot.engine.model.views import RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.articles.config import ArticleJobRequest, options_of
from foliot.features.articles.model import KIND, QUEUE, ArticleCounts, ItemView, PreviousContent, WantedArticle
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.features.expectations.model.facts import EXPECT
from foliot.features.schedules.usecases.schedules import Schedules, find_run
from foliot.wakeups.feed import ARTICLES_TOPIC, RUNS_TOPIC, Feed

FRESH = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SubmittedArticles:
    """A new job, and its counters after the lookup in the cache."""

    run: RunView
    counts: ArticleCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Articles:
    """Submits jobs of articles, and reads their items."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    schedules: Schedules
    new_id: Callable[[str], str]
    fresh: timedelta = FRESH
    """Default of `max_age_seconds`: a page that was scraped within it is not fetched again."""

    @requires(Verb.RUN, Thing.ARTICLE)
    async def submit(self, caller: Caller, raw: object, once: IdempotentRequest = EACH_TIME) -> SubmittedArticles:
        """Creates a batch with its items, parked from the start; with all pages cached, it ends at once."""
        asked = read(ArticleJobRequest, raw)
        max_age = self._max_age(asked)
        check_depth("articles", asked.articles)
        # Validating ten thousand URLs takes half a second: in a thread, so that the event loop serves other requests.
        config = await REQUESTS.run(self.schedules.check_for(caller), KIND, {"articles": asked.articles})
        wanted = [WantedArticle.of(article) for article in config["articles"]]
        # Apart from the validation, which a retry on conflict does not repeat.
        extra = asked.options | ({} if asked.expect is None else {EXPECT: asked.expect})
        return await self._submit(caller, wanted, max_age, extra, once)

    def _max_age(self, asked: ArticleJobRequest) -> timedelta:
        stated = asked.max_age_seconds
        if stated is None:
            return timedelta() if asked.ignore_cache else self.fresh
        if asked.ignore_cache and stated:
            raise Invalid("max_age_seconds", "must not be given together with ignore_cache", got=stated)
        return timedelta(seconds=stated)

    @unchecked_command
    async def _submit(
        self,
        ctx: CommandContext,
        wanted: Sequence[WantedArticle],
        max_age: timedelta,
        extra: Mapping[str, Any],
        once: IdempotentRequest,
    ) -> SubmittedArticles:
        tx = await ctx.begin(self.limiter)
        self.limiter.run(ctx.caller, ctx.limits)
        request = RunRequest(
            id=self.new_id(RUN),
            tenant_id=ctx.tenant_id,
            user_id=ctx.caller.user_id,
            kind=KIND,
            origin=Origin.MANUAL,
            queue=QUEUE,
            priority=min((article.priority for article in wanted), default=DEFAULT_PRIORITY),
            max_attempts=1,
            timeout_seconds=None,
            action={"max_age_seconds": int(max_age.total_seconds())} | dict(extra),
            parked=True,
        )
        await SqlRuns(tx).add([request], ctx.now)
        counts = await SqlArticles(tx).submit(ctx.tenant_id, request.id, wanted, ctx.now, max_age, options_of(extra))
        await SqlBatchRuns(tx).begin(request.id, counts, ctx.now)
        became = {"articles": counts.total, "cached": counts.cached}
        ctx.audit(AuditedChange("create", Thing.ARTICLE, request.id, became=became))
        ctx.wake(ARTICLES_TOPIC, RUNS_TOPIC)
        return SubmittedArticles(await find_run(tx, ctx.caller, request.id), counts)

    @query(Verb.READ, Thing.RUN)
    async def counts(self, ctx: QueryContext, run_ids: Sequence[str]) -> Mapping[str, ArticleCounts]:
        """The counters of these jobs; those of other tenants are left out."""
        async with ctx.read() as tx:
            ours = await SqlRuns(tx).several(ctx.tenant_id, run_ids)
            return await SqlArticles(tx).counts([run.id for run in ours]) if ours else {}

    @query(Verb.READ, Thing.RUN)
    async def page(self, ctx: QueryContext, run_id: str, *, skip: int, limit: int, failed: bool) -> Sequence[ItemView]:
        """A page of the items that were read, or of those that failed."""
        async with ctx.read() as tx:
            run = await find_run(tx, ctx.caller, run_id)
            return await SqlArticles(tx).items(run.id, skip=skip, limit=limit, failed=failed)

    @query(Verb.READ, Thing.RUN)
    async def item(self, ctx: QueryContext, run_id: str, article_id: str) -> tuple[ItemView, PreviousContent | None]:
        """One article of a job, and its previous version."""
        async with ctx.read() as tx:
            run = await find_run(tx, ctx.caller, run_id)
            found = await SqlArticles(tx).item(run.id, article_id)
        if found is None:
            raise NotFound("article", article_id)
        return found

    @query(Verb.READ, Thing.RUN)
    async def items(
        self, ctx: QueryContext, run_id: str, *, after: int, limit: int, failed: bool | None = None
    ) -> Sequence[ItemView]:
        """The items of a job after this position, in the order of the request."""
        async with ctx.read() as tx:
            run = await find_run(tx, ctx.caller, run_id)
            return await SqlArticles(tx).items(run.id, after=after, limit=limit, failed=failed)
