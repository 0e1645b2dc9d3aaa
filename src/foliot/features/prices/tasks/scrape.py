"""`scrape_competitor_prices`: fetches product pages, extracts their prices, and adds them to the history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from foliot.cluster.page_reader import AttemptInfo
from foliot.core.access import OPERATORS_OWN, TenantAllowList
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.fetching.browser_actions import check_actions, read_actions
from foliot.features.fetching.fetcher import Fetcher
from foliot.features.fetching.model import FetchOptions, FetchRequest, PageSource, Render, Robots, check_kept, kept_for
from foliot.features.fetching.page_session import check_session
from foliot.features.health.probes import JsonService, ServiceFailed
from foliot.features.pipelines.model import IsolatedCall
from foliot.features.prices.model import PriceObservation
from foliot.features.prices.sql import SqlPrices
from foliot.features.prices.tasks.fetch import LARGEST, NoPrice, visit
from foliot.features.prices.tasks.products import Competitor, Products, WatchedProduct, as_json, chosen
from foliot.features.prices.tasks.watch import missed_visit, read_visit
from foliot.features.tasks.model.context import Partial, TaskContext
from foliot.features.watches.usecases.fed import FedVisit, FedWatch
from foliot.pages.price import FoundPrice, amount, currency

METHOD = "ScrapeCompetitorPrices"
KEPT = 100
"""How many failures a result lists; the others are counted."""
STEP = 25
"""After this many pages, prices are stored and progress is reported."""

NOTHING = (
    "there is nothing to scrape: no product is watched{of}. Give `products`, a list of "
    '{{"competitor": …, "product": …, "url": …}}, or set SCRAPER_SERVICE_URL'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceScrape:
    """The task: calls the scraper service if one is configured, and fetches the pages itself otherwise."""

    store: Database
    clock: Clock
    fetcher: Fetcher
    apart: IsolatedCall
    """Parses pages in a separate process."""
    service: JsonService | None = None
    watch: FedWatch | None = None
    """What it reads becomes versions and changes of a watch."""
    tenants: TenantAllowList = OPERATORS_OWN
    """Tenants that may call the service; for others, pages are fetched here."""

    async def run(  # noqa: PLR0913 -- the parameters of the task
        self,
        ctx: TaskContext,
        *,
        competitor_ids: Annotated[list[Competitor], Field(max_length=100)] = [],  # noqa: B006 -- read, never changed
        products: Products = [],  # noqa: B006
        top_products_only: bool = False,
        concurrency: Annotated[int, Field(ge=1, le=32)] = 4,
        timeout_seconds: Annotated[float, Field(gt=0, le=300)] = 30.0,
        render: Render | None = None,
        robots: Robots | None = None,
        keep_pages: Annotated[str, AfterValidator(check_kept)] | None = None,
        session: Annotated[str, AfterValidator(check_session)] | None = None,
        browser: Annotated[dict[str, Any], AfterValidator(check_actions)] | None = None,
    ) -> Any:
        """Find the price of every watched product at these competitors, and keep it in the price history."""
        watched = chosen(products, competitor_ids, top_only=top_products_only)
        if self.service is not None and ctx.tenant_id in self.tenants:
            request: dict[str, Any] = {"competitor_ids": competitor_ids}
            # Only fields that are set: a service need not know the others.
            if watched:
                request["products"] = as_json(watched)
            if top_products_only:
                request["top_products_only"] = True
            return await self._ask(ctx, request)
        if not watched:
            of = f" of {', '.join(competitor_ids)}" if competitor_ids else ""
            ctx.give_up(NOTHING.format(of=of))
        actions = None if browser is None else read_actions("browser", browser)
        options = FetchOptions(
            render=render, robots=robots, keep=kept_for(keep_pages), session=session, browser=actions
        )
        timeout = timedelta(seconds=timeout_seconds)
        visits = _PriceVisits(scraping=self, ctx=ctx, timeout=timeout, total=len(watched), options=options)
        await visits.all(watched, concurrency)
        return visits.result()

    async def keep(self, observations: Sequence[PriceObservation]) -> None:
        if observations:
            async with self.store.begin(observations[0].tenant_id) as tx:
                await SqlPrices(tx).add(observations)

    async def record(self, ctx: TaskContext, visits: Sequence[FedVisit]) -> None:
        """In the watch of prices; runs without a schedule are tries."""
        if self.watch is not None and ctx.schedule_id is not None and visits:
            await self.watch.record(ctx.tenant_id, ctx.schedule_id, ctx.run_id, visits, self.clock.now())

    async def _ask(self, ctx: TaskContext, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self.service is not None  # noqa: S101 -- the caller has checked
        attempt = AttemptInfo(
            run_id=ctx.run_id,
            tenant_id=ctx.tenant_id,
            schedule_id=ctx.schedule_id,
            attempt=ctx.attempt,
            max_attempts=ctx.max_attempts,
            scheduled_for=ctx.scheduled_for,
        )
        try:
            answer = await self.service.call(METHOD, request, attempt, timedelta(minutes=20))
        except ServiceFailed as failed:
            if failed.permanent:
                ctx.give_up(str(failed))
            ctx.retry(reason=str(failed))
        observations = [price for raw in _prices(answer) if (price := self._observed(ctx, raw)) is not None]
        await self.keep(observations)
        await self.record(ctx, [read_visit(price) for price in observations if price.url])
        ctx.logger.info("The scraper service answered with %d prices", len(observations))
        return {"by": "service", "stored": len(observations), "answer": answer if not observations else None}

    def _observed(self, ctx: TaskContext, raw: object) -> PriceObservation | None:
        """Parses one price of the service's answer; None when it is none."""
        if not isinstance(raw, Mapping):
            return None
        price = amount(raw.get("price"))
        competitor = raw.get("competitor") or raw.get("competitor_id") or raw.get("competitorId")
        product = raw.get("product") or raw.get("product_id") or raw.get("productId")
        if price is None or not isinstance(competitor, str) or not isinstance(product, str):
            return None
        found = FoundPrice(price, currency(str(raw.get("currency") or "")), "service")
        return self.observation(ctx, competitor[:64], product[:200], str(raw.get("url") or "")[:2048], found)

    def observation(
        self, ctx: TaskContext, competitor: str, product: str, url: str, found: FoundPrice
    ) -> PriceObservation:
        return PriceObservation(
            tenant_id=ctx.tenant_id,
            competitor=competitor,
            product=product,
            run_id=ctx.run_id,
            at=self.clock.now(),
            price=found.price,
            currency=found.currency,
            url=url,
            source=found.source,
        )


def _prices(answer: object) -> Sequence[object]:
    listed = answer.get("prices") if isinstance(answer, Mapping) else answer
    return listed if isinstance(listed, list) else []


class _PriceVisits:
    """Fetches the pages of one attempt concurrently, and collects prices and failures."""

    def __init__(
        self, *, scraping: PriceScrape, ctx: TaskContext, timeout: timedelta, total: int, options: FetchOptions
    ) -> None:
        self.scraping = scraping
        self.ctx = ctx
        self.timeout = timeout
        self.options = options
        self.total = total
        self.done = self.stored = self.failed = 0
        self.waiting: list[PriceObservation] = []
        self.failures: list[dict[str, str]] = []
        self.missed: list[FedVisit] = []
        self.by_source: dict[str, int] = {}

    async def all(self, watched: Sequence[WatchedProduct], concurrency: int) -> None:
        left = iter(watched)

        async def go() -> None:
            for product in left:
                await self._visit(product)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(watched))):
                group.create_task(go())
        await self._write()

    async def _visit(self, watched: WatchedProduct) -> None:
        competitor, product = watched.competitor, watched.product
        request = FetchRequest(
            url=watched.url,
            tenant_id=self.ctx.tenant_id,
            options=self.options,
            timeout=self.timeout,
            most=LARGEST,
            source=PageSource("run", self.ctx.run_id),
        )
        try:
            found = await visit(self.scraping.fetcher, self.scraping.apart, request, watched.selectors)
        except NoPrice as failure:
            self.failed += 1
            self.missed.append(missed_visit(watched, str(failure)))
            self.ctx.logger.warning("%s at %s: %s", product, competitor, failure)
            if len(self.failures) < KEPT:
                self.failures.append({"competitor": competitor, "product": product, "error": str(failure)})
        else:
            self.waiting.append(self.scraping.observation(self.ctx, competitor, product, watched.url, found))
            self.by_source[found.source] = self.by_source.get(found.source, 0) + 1
        self.done += 1
        if self.done % STEP == 0:
            await self._write()

    async def _write(self) -> None:
        observations, self.waiting = self.waiting, []
        missed, self.missed = self.missed, []
        await self.scraping.keep(observations)
        await self.scraping.record(self.ctx, [*map(read_visit, observations), *missed])
        self.stored += len(observations)
        self.ctx.progress(done=self.done, total=self.total, stored=self.stored, failed=self.failed)

    def result(self) -> Any:
        """Without any price the attempt fails; with some missing, the run is partial."""
        if not self.stored:
            self.ctx.retry(reason=f"none of {self.total} prices could be read; the first: {self.failures[0]['error']}")
        result = {
            "by": "visits",
            "visited": self.total,
            "stored": self.stored,
            "failed": self.failed,
            "found_by": dict(sorted(self.by_source.items())),
            "failures": self.failures,
        }
        return Partial(result) if self.failed else result
