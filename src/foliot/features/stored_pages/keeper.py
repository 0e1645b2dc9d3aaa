"""Stores fetched pages in groups, within the tenant's quota: a full quota drops the oldest pages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from foliot.core.errors import FoliotError
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.core.threads import WORK
from foliot.db.database import Database
from foliot.features.fetching.model import FetchRequest, Page, host_of
from foliot.features.fetching.url import BadUrl, redirect_url
from foliot.features.stored_pages.bodies import BodyStore, decompress, name_of, packed
from foliot.features.stored_pages.model import (
    MOST_HEADERS,
    PAGE,
    BodyPlace,
    StoredBody,
    StoredPage,
)
from foliot.features.stored_pages.sql import SqlPages

RECENT = timedelta(hours=24)
"""A full quota is one event for this long."""
COUNTED = 60.0
"""Seconds for which the bytes of a tenant are known to this process, with what it adds itself."""
TENANTS = 1000
CLEAR = 50
"""Pages that are dropped at a time when the quota is full."""
_PRIVATE = frozenset({"set-cookie", "cookie", "authorization", "proxy-authorization", "set-cookie2"})

log = structlog.get_logger("foliot.pages")


@dataclass(slots=True, kw_only=True)
class PageKeeper:
    """Writes each page with its body in one transaction; equal bodies of a tenant are stored once."""

    store: Database
    clock: Clock
    bodies: BodyStore
    quota: int
    """Compressed bytes that one tenant may have."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _used: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)
    """When the bytes of a tenant were counted, and how many they are."""

    async def keep(self, page: Page, request: FetchRequest) -> str | None:
        """Stores the page for as long as the request says; its id, or None where it could not be stored.

        A page that cannot be stored is logged: what was fetched is used all the same.
        """
        if request.options.keep is None or page.status == 304:
            return None
        now = self.clock.now()
        place = self.bodies.place
        contents = [page.body] if page.rendered is None else [page.body, page.rendered]
        try:
            made = [await WORK.run(packed, each, place) for each in contents]
            kept = _page(page, request, made, now)
            for body in made:
                if body.place is not BodyPlace.DATABASE and body.data is not None:
                    await self.bodies.put(name_of(request.tenant_id, body.hash), body.data)
            async with self._lock:
                await self._make_room(request.tenant_id, kept.stored_bytes)
                async with self.store.begin(request.tenant_id) as tx:
                    await SqlPages(tx).add_bodies(request.tenant_id, made, now)
                    await SqlPages(tx).add([kept], [made[1].hash if len(made) > 1 else None])
        except FoliotError as error:
            log.warning(
                "a page was not stored", action="page_not_stored", tenant_id=request.tenant_id, reason=str(error)
            )
            return None
        return kept.id

    async def _make_room(self, tenant_id: str, needed: int) -> None:
        """The newest pages are kept: the oldest go until there is room."""
        used = await self._bytes(tenant_id, needed)
        while used + needed > self.quota:
            async with self.store.begin(tenant_id) as tx:
                oldest = await SqlPages(tx).oldest(tenant_id, CLEAR)
                if not oldest:
                    break
                ids, freed = [], 0
                for page_id, size in oldest:
                    ids.append(page_id)
                    freed += size
                    if used + needed - freed <= self.quota:
                        break
                loose = await SqlPages(tx).remove(tenant_id, ids)
                now = self.clock.now()
                await SqlPages(tx).dropped(tenant_id, len(ids), now, now - RECENT)
                used = await SqlPages(tx).total(tenant_id)
            await self.forget(tenant_id, loose)
            log.info("the quota of stored pages is full", action="pages_dropped", tenant_id=tenant_id, pages=len(ids))
        self._used[tenant_id] = (self._used[tenant_id][0], used + needed)

    async def _bytes(self, tenant_id: str, needed: int) -> int:
        """What the tenant's bodies take; counted again after a while, and before anything is deleted."""
        now = self.clock.monotonic()
        at, used = self._used.get(tenant_id, (now - COUNTED, 0))
        if now - at >= COUNTED or used + needed > self.quota:
            async with self.store.read(tenant_id) as tx:
                at, used = now, await SqlPages(tx).total(tenant_id)
        self._used[tenant_id] = at, used
        self._used.move_to_end(tenant_id)
        if len(self._used) > TENANTS:
            self._used.popitem(last=False)
        return used

    async def read(self, tenant_id: str, body: StoredBody) -> bytes:
        """The body as it was stored."""
        data = body.data
        if data is None:
            data = await self.bodies.get(name_of(tenant_id, body.hash))
        return await WORK.run(decompress, data, body.size)

    async def forget(self, tenant_id: str, hashes: Sequence[str]) -> None:
        """Deletes bodies outside the database; one that stays behind takes room, and nothing refers to it."""
        for each in hashes:
            await self.bodies.delete(name_of(tenant_id, each))

    async def prune(self, limit: int) -> int:
        """Deletes pages whose time is over."""
        now = self.clock.now()
        async with self.store.read() as tx:
            expired = await SqlPages(tx).expired(now, limit)
        for tenant_id, ids in expired.items():
            async with self.store.begin(tenant_id) as tx:
                loose = await SqlPages(tx).remove(tenant_id, ids)
            await self.forget(tenant_id, loose)
        return sum(map(len, expired.values()))


def _page(page: Page, request: FetchRequest, made: Sequence[StoredBody], now: datetime) -> StoredPage:
    assert request.options.keep is not None  # noqa: S101 -- the caller has checked
    try:
        host = host_of(redirect_url(page.url))
    except BadUrl:
        host = ""
    return StoredPage(
        id=new_id(PAGE),
        tenant_id=request.tenant_id,
        url=page.url[:8192],
        host=host[:255],
        fetched_at=now,
        status=page.status,
        content_type=page.headers.get("content-type", "")[:200],
        headers=_headers(page.headers),
        bytes=sum(body.size for body in made),
        stored_bytes=sum(body.stored_bytes for body in made),
        rendered=page.rendered is not None,
        source_kind=request.source.kind[:16],
        source_id=request.source.id[:40],
        body_hash=made[0].hash,
        expires_at=now + request.options.keep,
    )


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Without cookies and credentials, up to a bound."""
    kept: dict[str, str] = {}
    left = MOST_HEADERS
    for name, value in headers.items():
        left -= len(name) + len(value)
        if name.lower() not in _PRIVATE and left >= 0:
            kept[name] = value
    return kept


@dataclass(frozen=True, slots=True)
class PagesPruned:
    """How many expired pages one round deleted."""

    pages: int
    rest: float


@dataclass(slots=True, kw_only=True)
class PagePruner:
    """Deletes stored pages whose time is over."""

    keeper: PageKeeper
    period: float = 60.0
    name: str = "page_pruner"
    topics: Sequence[str] = ()
    batch: int = 200

    async def run_once(self) -> PagesPruned:
        count = await self.keeper.prune(self.batch)
        return PagesPruned(count, 0.1 if count == self.batch else self.period)
