"""Statements on stored pages and their bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, select, update

from foliot.db.database import Statements
from foliot.features.stored_pages.model import BodyPlace, PageDrops, PageFilter, StoredBody, StoredPage
from foliot.features.stored_pages.tables import page_bodies, page_drops, pages

_FACTS = [column for column in pages.c if column.name != "dom_hash"]


@dataclass(frozen=True, slots=True)
class SqlPages(Statements):
    """Reads and writes stored pages."""

    async def add(self, kept: Sequence[StoredPage], doms: Sequence[str | None]) -> None:
        names = [column.name for column in pages.c]
        rows = {name: [getattr(page, name) for page in kept] for name in names if name != "dom_hash"}
        await self.dialect.insert(self.conn, pages, rows | {"dom_hash": list(doms)})

    async def add_bodies(self, tenant_id: str, bodies: Sequence[StoredBody], now: datetime) -> None:
        """Those that are stored already stay as they are."""
        columns = {
            "tenant_id": [tenant_id] * len(bodies),
            "hash": [body.hash for body in bodies],
            "bytes": [body.size for body in bodies],
            "stored_bytes": [body.stored_bytes for body in bodies],
            "place": [body.place.value for body in bodies],
            "data": [body.data if body.place is BodyPlace.DATABASE else None for body in bodies],
            "stored_at": [now] * len(bodies),
        }
        await self.dialect.insert(self.conn, page_bodies, columns, conflict="ignore")

    async def total(self, tenant_id: str) -> int:
        """Bytes that the tenant's bodies take, compressed."""
        query = select(func.coalesce(func.sum(page_bodies.c.stored_bytes), 0))
        return int((await self.conn.execute(query.where(page_bodies.c.tenant_id == tenant_id))).scalar_one())

    async def find(
        self, tenant_id: str, which: PageFilter, limit: int, after: str | None = None
    ) -> Sequence[StoredPage]:
        """Newest first."""
        query = select(*_FACTS).where(*conditions(tenant_id, which)).order_by(pages.c.id.desc()).limit(limit)
        if after is not None:
            query = query.where(pages.c.id < after)
        return [_page(row) for row in await self.conn.execute(query)]

    async def get(self, tenant_id: str, page_id: str) -> StoredPage | None:
        query = select(*_FACTS).where(pages.c.id == page_id, pages.c.tenant_id == tenant_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else _page(row)

    async def several(self, tenant_id: str, ids: Sequence[str]) -> Sequence[StoredPage]:
        """Those of these pages that are stored."""
        if not ids:
            return []
        query = select(*_FACTS).where(pages.c.tenant_id == tenant_id, self.dialect.among(pages.c.id, ids))
        return [_page(row) for row in await self.conn.execute(query)]

    async def body(self, tenant_id: str, page_id: str, *, dom: bool = False) -> StoredBody | None:
        """The body of a page, or its rendered document."""
        hash_ = pages.c.dom_hash if dom else pages.c.body_hash
        query = select(page_bodies).join_from(
            pages, page_bodies, and_(page_bodies.c.tenant_id == pages.c.tenant_id, page_bodies.c.hash == hash_)
        )
        row = (await self.conn.execute(query.where(pages.c.id == page_id, pages.c.tenant_id == tenant_id))).first()
        if row is None:
            return None
        return StoredBody(
            hash=row.hash, size=row.bytes, stored_bytes=row.stored_bytes, place=BodyPlace(row.place), data=row.data
        )

    async def oldest(self, tenant_id: str, limit: int) -> Sequence[tuple[str, int]]:
        query = select(pages.c.id, pages.c.stored_bytes).where(pages.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query.order_by(pages.c.id).limit(limit))
        return [(row.id, row.stored_bytes) for row in rows]

    async def dropped(self, tenant_id: str, count: int, now: datetime, recent: datetime) -> None:
        """Note that a full quota took so many pages; the count begins anew after a time without."""
        mine = page_drops.c.tenant_id == tenant_id
        more = update(page_drops).where(mine, page_drops.c.last_at > recent)
        row = {"pages": count, "first_at": now, "last_at": now}
        if (await self.conn.execute(more.values(pages=page_drops.c.pages + count, last_at=now))).rowcount == 0:
            await self.conn.execute(delete(page_drops).where(mine))
            columns = {"tenant_id": [tenant_id], **{name: [value] for name, value in row.items()}}
            await self.dialect.insert(self.conn, page_drops, columns, conflict="ignore")

    async def drops(self, tenant_id: str, since: datetime) -> PageDrops | None:
        """What a full quota took, where it did so since then."""
        query = select(page_drops.c.pages, page_drops.c.first_at, page_drops.c.last_at)
        row = (
            await self.conn.execute(query.where(page_drops.c.tenant_id == tenant_id, page_drops.c.last_at > since))
        ).first()
        return None if row is None else PageDrops(*row)

    async def expired(self, now: datetime, limit: int) -> Mapping[str, list[str]]:
        """Ids of pages whose time is over, by tenant."""
        query = select(pages.c.tenant_id, pages.c.id).where(pages.c.expires_at < now).limit(limit)
        found: dict[str, list[str]] = {}
        for row in await self.conn.execute(query):
            found.setdefault(row.tenant_id, []).append(row.id)
        return found

    async def remove(self, tenant_id: str, ids: Sequence[str]) -> Sequence[str]:
        """Deletes pages; returns the digests of bodies outside the database that nothing refers to any more."""
        mine = (pages.c.tenant_id == tenant_id, self.dialect.among(pages.c.id, ids))
        hashes: set[str] = set()
        for row in await self.conn.execute(select(pages.c.body_hash, pages.c.dom_hash).where(*mine)):
            hashes |= {each for each in row if each is not None}
        await self.conn.execute(delete(pages).where(*mine))
        used = exists().where(
            pages.c.tenant_id == page_bodies.c.tenant_id,
            (pages.c.body_hash == page_bodies.c.hash) | (pages.c.dom_hash == page_bodies.c.hash),
        )
        loose = (page_bodies.c.tenant_id == tenant_id, self.dialect.among(page_bodies.c.hash, sorted(hashes)), ~used)
        rows = (await self.conn.execute(select(page_bodies.c.hash, page_bodies.c.place).where(*loose))).all()
        gone = [row.hash for row in rows]
        if gone:
            here = (page_bodies.c.tenant_id == tenant_id, self.dialect.among(page_bodies.c.hash, gone))
            await self.conn.execute(delete(page_bodies).where(*here))
        return [row.hash for row in rows if row.place != BodyPlace.DATABASE]


def conditions(tenant_id: str, which: PageFilter) -> list[ColumnElement[bool]]:
    """The rows that a filter matches."""
    found: list[ColumnElement[bool]] = [pages.c.tenant_id == tenant_id]
    if which.host is not None:
        found.append(pages.c.host == which.host)
    if which.url is not None:
        found.append(pages.c.url.contains(which.url, autoescape=True))
    if which.since is not None:
        found.append(pages.c.fetched_at >= which.since)
    if which.until is not None:
        found.append(pages.c.fetched_at <= which.until)
    if which.status is not None:
        found.append(pages.c.status == which.status)
    if which.answered:
        found.append(pages.c.status > 0)
    if which.source is not None:
        found.append((pages.c.source_kind == which.source) | (pages.c.source_id == which.source))
    return found


def _page(row: Any) -> StoredPage:
    return StoredPage(**{column.name: getattr(row, column.name) for column in _FACTS})
