"""Use cases of reading stored pages again: try it on a sample, begin it as a bulk action, list what it found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Thing, Verb
from foliot.core.errors import Conflict, Invalid, Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.bulk.model import BULK, BULKS_TOPIC, MOST_ITEMS, Bulk, BulkOperation
from foliot.features.bulk.sql import SqlBulks
from foliot.features.bulk.usecases import BulkView, begun
from foliot.features.reextractions.model import (
    FieldCoverage,
    PageItems,
    ReextractRequest,
    StoredPageVersion,
    coverage,
    read_request,
)
from foliot.features.reextractions.reader import PageContent, StoredPageReader
from foliot.features.reextractions.sql import SqlPageVersions, matching
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.stored_pages.model import PageFilter, StoredPage
from foliot.features.stored_pages.sql import SqlPages
from foliot.wakeups.feed import Feed

SHOWN = 10
"""Pages of a trial that are shown."""
PATIENCE = 60.0
"""Seconds that a trial may take."""
AT_ONCE = 8
"""Pages that are read at a time."""


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page of a trial: what was last found on it, and what is found now."""

    page: StoredPage
    before: Sequence[Mapping[str, Any]] | None
    found: PageItems


@dataclass(frozen=True, slots=True)
class ReextractEstimate:
    """What a new reading would find, by a sample."""

    count: int
    looked_at: int
    failed: int
    coverage: Sequence[FieldCoverage]
    sample: Sequence[SampledPage] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reextractions:
    """Reads what is stored; nothing is requested from a site."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]
    keeper: PageKeeper | None = None
    reader: StoredPageReader | None = None

    @command(Verb.WRITE, Thing.BULK, BulkOperation.REEXTRACT.needs)
    async def create(
        self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME
    ) -> BulkView | ReextractEstimate:
        """Fix which pages are read again; with `dry_run`, read a sample of them now."""
        asked = read_request(raw)
        which = PageFilter.read(asked.filter, self.clock.now(), "filter")
        if asked.pipeline is not None:
            await self._known_pipeline(ctx.tenant_id, asked.pipeline)
        if asked.dry_run:
            self.limiter.run(ctx.caller, await self.limiter.of(ctx.tenant_id))
            return await self._tried(ctx, asked, which)
        await ctx.begin()
        return BulkView(await self._make(ctx, asked, which))

    @query(Verb.READ, Thing.PAGE)
    async def list(
        self, ctx: QueryContext, page: PageRequest, *, page_id: str | None = None, bulk_id: str | None = None
    ) -> Sequence[StoredPageVersion]:
        """Versions, newest first: those of a page, or those that a bulk action has made."""
        async with ctx.read() as tx:
            return await SqlPageVersions(tx).find(ctx.tenant_id, page, page_id=page_id, bulk_id=bulk_id)

    async def _known_pipeline(self, tenant_id: str, name: str) -> None:
        if self.reader is not None and await self.reader.definitions.find(tenant_id, name) is None:
            raise Invalid("pipeline", "is not defined", got=name)

    async def _make(self, ctx: CommandContext, asked: ReextractRequest, which: PageFilter) -> Bulk:
        count = await SqlPageVersions(ctx.tx).count(ctx.tenant_id, which)
        _expected(asked, count)
        if count > MOST_ITEMS:
            raise Invalid("filter", f"matches {count}; one bulk action takes at most {MOST_ITEMS}: narrow it")
        bulk = begun(
            self.new_id(BULK), ctx.caller, ctx.now, count,
            act=BulkOperation.REEXTRACT, filter=asked.filter, ids_given=0, order=asked.order, rate=asked.rate,
            stop_after=asked.stop_after,
            details=asked.reading.as_dict() | {"keep": int(asked.kept.total_seconds())},
        )  # fmt: skip
        fixed = await SqlBulks(ctx.tx).fix_pages(bulk, matching(ctx.tenant_id, which)) if count else 0
        _expected(asked, fixed)
        bulk = replace(bulk, total=fixed)
        await SqlBulks(ctx.tx).add(bulk, ctx.now)
        became = {"action": bulk.act.value, "filter": bulk.filter, "total": bulk.total, **asked.reading.as_dict()}
        ctx.audit(AuditedChange("create", Thing.BULK, bulk.id, became=became))
        ctx.wake(BULKS_TOPIC)
        return bulk

    async def _tried(self, ctx: CommandContext, asked: ReextractRequest, which: PageFilter) -> ReextractEstimate:
        """The newest pages that match are read now."""
        if self.reader is None or self.keeper is None:
            raise Unavailable("this process reads no pages")
        async with ctx.read() as tx:
            count = await SqlPageVersions(tx).count(ctx.tenant_id, which)
            sample = await SqlPages(tx).find(ctx.tenant_id, replace(which, answered=True), asked.sample)
            before = await SqlPageVersions(tx).earlier(ctx.tenant_id, sample) if sample else []
        _expected(asked, count)
        slots = asyncio.Semaphore(AT_ONCE)
        reading, reader, keeper = asked.reading, self.reader, self.keeper

        async def one(page: StoredPage) -> PageItems:
            async with slots:
                content = await content_of(self.store, keeper, page)
                if isinstance(content, str):
                    return PageItems(problem=content)
                return await reader.read(page.tenant_id, reading, content)

        try:
            async with asyncio.timeout(PATIENCE):
                found = await asyncio.gather(*(one(page) for page in sample))
        except TimeoutError:
            raise Unavailable(f"the sample could not be read within {PATIENCE:g} s: give a smaller one") from None
        return ReextractEstimate(
            count=count,
            looked_at=len(sample),
            failed=sum(one.problem is not None for one in found),
            coverage=coverage([one.items for one in found], before),
            sample=[SampledPage(*each) for each in zip(sample, before, found, strict=True)][:SHOWN],
        )


async def content_of(store: Database, keeper: PageKeeper, page: StoredPage) -> PageContent | str:
    """What is read of a stored page, or why there is nothing."""
    async with store.read(page.tenant_id) as tx:
        stored = await SqlPages(tx).body(page.tenant_id, page.id, dom=page.rendered)
    if stored is None:
        return "its body is no longer stored"
    try:
        return PageContent(page, await keeper.read(page.tenant_id, stored))
    except Unavailable as gone:
        return gone.told


def _expected(asked: ReextractRequest, count: int) -> None:
    if asked.expect is not None and asked.expect != count:
        raise Conflict(f"{count} match now, not {asked.expect}: check again before you read them")
