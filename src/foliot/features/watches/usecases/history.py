"""Use cases of what watches found: their pages, versions, differences and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Caller, Interface, Role, Thing, Verb
from foliot.core.errors import Invalid, NotFound, Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.views import PageRequest
from foliot.features.filters.model import FilterGrammar, FilterQuery
from foliot.features.monitors.usecases import digest_of
from foliot.features.pipelines.model import IsolatedCall, Unreadable
from foliot.features.watches.model.watch import (
    ChangeKind,
    PageChange,
    PageState,
    PageVersion,
    Watch,
    WatchedPage,
    field_changes,
)
from foliot.features.watches.sql.changes import SqlChanges
from foliot.features.watches.sql.pages import SqlVersions, SqlWatchedPages
from foliot.features.watches.sql.watches import SqlWatches
from foliot.features.watches.stored import read_stored
from foliot.features.watches.usecases.watches import find_watch
from foliot.pages.text_diff import diff_texts

FEED_ENTRIES = 100
GRAMMAR = FilterGrammar(
    {
        "watch": None,
        "kind": [kind.value for kind in ChangeKind],
        "matched": ["true", "false"],
        "url": None,
        "page": None,
        "since": None,
        "until": None,
    }
)
"""The filter grammar of changes; words without a key are parts of the URL."""


@dataclass(frozen=True, slots=True)
class PageDiff:
    """What differs between two versions of a page."""

    before: PageVersion
    after: PageVersion
    fields: Mapping[str, Mapping[str, Any]]
    parts: Sequence[tuple[str, str]]
    """Pairs of `=`, `-` or `+` and a text, in order."""
    cut: bool


@dataclass(frozen=True, slots=True)
class ListedChange:
    """A change, and the name of its watch."""

    change: PageChange
    watch: str


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version, with its text when one version was asked for."""

    version: PageVersion
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WatchFeed:
    """A watch and its newest changes."""

    watch: Watch
    changes: Sequence[PageChange] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHistory:
    """Pages of watches, their versions and changes."""

    store: Database
    clock: Clock
    apart: IsolatedCall | None = None

    @query(Verb.READ, Thing.WATCH)
    async def pages(
        self, ctx: QueryContext, watch_id: str, page: PageRequest, state: PageState | None = None, q: str = ""
    ) -> Sequence[WatchedPage]:
        """In the order in which they were added."""
        async with ctx.read() as tx:
            await find_watch(tx, ctx.tenant_id, watch_id)
            return await SqlWatchedPages(tx).find(ctx.tenant_id, watch_id, page, state, q)

    @query(Verb.READ, Thing.WATCH)
    async def page(self, ctx: QueryContext, watch_id: str, page_id: str) -> WatchedPage:
        async with ctx.read() as tx:
            return await find_page(tx, ctx.tenant_id, watch_id, page_id)

    @query(Verb.READ, Thing.WATCH)
    async def versions(
        self, ctx: QueryContext, watch_id: str, page_id: str, page: PageRequest
    ) -> Sequence[PageVersion]:
        """Newest first."""
        async with ctx.read() as tx:
            await find_page(tx, ctx.tenant_id, watch_id, page_id)
            return await SqlVersions(tx).find(ctx.tenant_id, page_id, page)

    @query(Verb.READ, Thing.WATCH)
    async def version(self, ctx: QueryContext, watch_id: str, page_id: str, version_id: str) -> VersionView:
        """One version with its text."""
        async with ctx.read() as tx:
            await find_page(tx, ctx.tenant_id, watch_id, page_id)
            version = await _find_version(tx, ctx.tenant_id, page_id, version_id)
            texts = await SqlVersions(tx).texts(ctx.tenant_id, [version.id])
        return VersionView(version, texts.get(version.id))

    @query(Verb.READ, Thing.WATCH)
    async def diff(
        self,
        ctx: QueryContext,
        watch_id: str,
        page_id: str,
        before_id: str | None,
        after_id: str | None,
        form: str = "lines",
    ) -> PageDiff:
        """Without ids, between the last two versions."""
        async with ctx.read() as tx:
            await find_page(tx, ctx.tenant_id, watch_id, page_id)
            newest = await SqlVersions(tx).find(ctx.tenant_id, page_id, PageRequest(2))
            if not newest:
                raise NotFound("version of page", page_id)
            after = newest[0] if after_id is None else await _find_version(tx, ctx.tenant_id, page_id, after_id)
            if before_id is None:
                older = await SqlVersions(tx).find(ctx.tenant_id, page_id, PageRequest(1, after.id))
                before = older[0] if older else after
            else:
                before = await _find_version(tx, ctx.tenant_id, page_id, before_id)
            texts = await SqlVersions(tx).texts(ctx.tenant_id, [before.id, after.id])
        fields = field_changes(before.fields, after.fields)
        old, new = texts.get(before.id), texts.get(after.id)
        if form == "fields" or old is None or new is None:
            return PageDiff(before, after, fields, (), cut=False)
        parts, cut = await self._compared(ctx.tenant_id, old, new, form)
        return PageDiff(before, after, fields, parts, cut)

    async def _compared(self, tenant_id: str, old: str, new: str, form: str) -> tuple[Sequence[tuple[str, str]], bool]:
        if self.apart is None:
            raise Unavailable("this process compares no texts")
        try:
            found = await self.apart(diff_texts, new.encode("utf-8", "replace"), {"old": old, "by": form}, tenant_id)
        except Unreadable as why:
            raise Invalid("as", f"cannot be made of these texts: {why}", got=form) from None
        return [(sign, text) for sign, text in found["parts"]], bool(found["cut"])

    def read_changes(self, q: str) -> FilterQuery:
        """Reads a filter of changes: `watch:Shop kind:changed matched:true since:7d`."""
        return GRAMMAR.read(q, self.clock.now())

    @query(Verb.READ, Thing.WATCH)
    async def changes(
        self, ctx: QueryContext, wanted: FilterQuery, limit: int, before: int | None = None, after: int | None = None
    ) -> Sequence[ListedChange]:
        """Newest first; after a number, oldest first from there on: a reader that continues so misses none."""
        async with ctx.read() as tx:
            found = await SqlChanges(tx).find(ctx.tenant_id, wanted, limit, before=before, after=after)
            names = await SqlWatches(tx).names(ctx.tenant_id, sorted({change.watch_id for change in found}))
        return [ListedChange(change, names.get(change.watch_id, "")) for change in found]

    @query(Verb.READ, Thing.WATCH)
    async def change(self, ctx: QueryContext, change_id: str) -> ListedChange:
        async with ctx.read() as tx:
            change = await SqlChanges(tx).get(ctx.tenant_id, change_id)
            if change is None:
                raise NotFound("change", change_id)
            names = await SqlWatches(tx).names(ctx.tenant_id, [change.watch_id])
        return ListedChange(change, names.get(change.watch_id, ""))

    async def of_feed(self, watch_id: str, key: str) -> WatchFeed:
        """The changes that count of the watch with this key, its credential; all unknown ones answer alike."""
        async with self.store.read() as tx:
            found = await SqlWatches(tx).by_feed(digest_of(key))
        if found is None or found[1] != watch_id:
            raise NotFound("feed", "of this key")
        caller = Caller(found[0], "feed", Role.VIEWER, Interface.REST)
        async with self.store.read(caller.tenant_id) as tx:
            watch = await SqlWatches(tx).get(caller.tenant_id, watch_id, read_stored)
            if watch is None:
                raise NotFound("feed", "of this key")
            wanted = GRAMMAR.read(f"watch:{watch_id} matched:true", self.clock.now())
            return WatchFeed(watch, await SqlChanges(tx).find(caller.tenant_id, wanted, FEED_ENTRIES))


async def find_page(tx: Transaction, tenant_id: str, watch_id: str, page_id: str) -> WatchedPage:
    page = await SqlWatchedPages(tx).get(tenant_id, watch_id, page_id)
    if page is None:
        raise NotFound("page", page_id)
    return page


async def _find_version(tx: Transaction, tenant_id: str, page_id: str, version_id: str) -> PageVersion:
    version = await SqlVersions(tx).get(tenant_id, page_id, version_id)
    if version is None:
        raise NotFound("version", version_id)
    return version
