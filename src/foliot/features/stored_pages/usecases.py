"""Use cases of stored pages: list them, and read their bodies as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.errors import NotFound, Unavailable
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.db.database import Database, Transaction
from foliot.engine.model.views import PageRequest
from foliot.features.stored_pages.bodies import decompress
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.stored_pages.model import PageFilter, StoredBody, StoredPage
from foliot.features.stored_pages.sql import SqlPages
from foliot.features.stored_pages.warc import records

EXPORTED = 20
"""Pages of an export that are read at a time."""


@dataclass(frozen=True, slots=True)
class PageBody:
    """A stored page with its body."""

    page: StoredPage
    body: bytes
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPages:
    """Pages of the tenant as they came; nothing is requested from their sites."""

    store: Database
    clock: Clock
    keeper: PageKeeper | None = None

    @query(Verb.READ, Thing.PAGE)
    async def list(self, ctx: QueryContext, page: PageRequest, q: str = "") -> Sequence[StoredPage]:
        """Newest first."""
        which = PageFilter.read(q, self.clock.now())
        async with ctx.read() as tx:
            return await SqlPages(tx).find(ctx.tenant_id, which, page.limit, page.cursor)

    @query(Verb.READ, Thing.PAGE)
    async def get(self, ctx: QueryContext, page_id: str) -> StoredPage:
        async with ctx.read() as tx:
            return await _find(tx, ctx.tenant_id, page_id)

    @query(Verb.READ, Thing.PAGE)
    async def body(self, ctx: QueryContext, page_id: str, *, rendered: bool = False) -> PageBody:
        """As it came; or the rendered document, where a browser rendered it."""
        async with ctx.read() as tx:
            page = await _find(tx, ctx.tenant_id, page_id)
            stored = await SqlPages(tx).body(ctx.tenant_id, page_id, dom=rendered)
        if stored is None:
            raise NotFound("rendered document of page" if rendered else "body of page", page_id)
        kind = "text/html; charset=utf-8" if rendered else page.content_type
        return PageBody(page, await self._read(ctx.tenant_id, stored), kind)

    @query(Verb.READ, Thing.PAGE)
    async def archived(self, ctx: QueryContext, which: PageFilter, after: str | None) -> tuple[bytes, str | None]:
        """The next pages of a WARC export, newest first, and where the following begin."""
        async with ctx.read() as tx:
            found = await SqlPages(tx).find(ctx.tenant_id, replace(which, answered=True), EXPORTED, after)
        pieces = [await self._archived(page) for page in found]
        return b"".join(pieces), found[-1].id if len(found) == EXPORTED else None

    async def _archived(self, page: StoredPage) -> bytes:
        """One page; without it, where its body can no longer be read."""
        async with self.store.read(page.tenant_id) as tx:
            stored = await SqlPages(tx).body(page.tenant_id, page.id)
            dom = await SqlPages(tx).body(page.tenant_id, page.id, dom=True) if page.rendered else None
        if stored is None:
            return b""
        body = await self._read(page.tenant_id, stored)
        rendered = None if dom is None else await self._read(page.tenant_id, dom)
        return await REQUESTS.run(records, page, body, rendered)

    async def _read(self, tenant_id: str, body: StoredBody) -> bytes:
        if body.data is not None:
            return await REQUESTS.run(decompress, body.data, body.size)
        if self.keeper is None:
            raise Unavailable("this process stores no pages")
        return await self.keeper.read(tenant_id, body)


async def _find(tx: Transaction, tenant_id: str, page_id: str) -> StoredPage:
    page = await SqlPages(tx).get(tenant_id, page_id)
    if page is None:
        raise NotFound("page", page_id)
    return page
