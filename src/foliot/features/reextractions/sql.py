"""Statements on the versions of stored pages, and on what pages held when they were last read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, select

from foliot.db.database import Statements
from foliot.engine.model.views import PageRequest
from foliot.features.articles.tables import articles
from foliot.features.reextractions.model import StoredPageVersion
from foliot.features.reextractions.tables import page_versions
from foliot.features.stored_pages.model import PageFilter, StoredPage
from foliot.features.stored_pages.sql import conditions
from foliot.features.stored_pages.tables import pages
from foliot.features.watches.tables import watch_pages

Items = Sequence[Mapping[str, Any]]


def matching(tenant_id: str, which: PageFilter) -> Select[Any]:
    """The ids of the pages that a filter matches."""
    return select(pages.c.id).where(*conditions(tenant_id, replace(which, answered=True)))


@dataclass(frozen=True, slots=True)
class SqlPageVersions(Statements):
    """Reads and writes versions of stored pages."""

    async def add(self, versions: Sequence[StoredPageVersion]) -> None:
        """A version that the same bulk action has made of the page already stays as it is."""
        if not versions:
            return
        columns = {name.name: [getattr(one, name.name) for one in versions] for name in page_versions.c}
        columns["found"] = [list(one.found) for one in versions]
        await self.dialect.insert(self.conn, page_versions, columns, conflict="ignore")

    async def find(
        self, tenant_id: str, page: PageRequest, *, page_id: str | None = None, bulk_id: str | None = None
    ) -> Sequence[StoredPageVersion]:
        """Newest first: those of a page, or those that a bulk action has made."""
        query = select(page_versions).where(page_versions.c.tenant_id == tenant_id)
        if page_id is not None:
            query = query.where(page_versions.c.page_id == page_id)
        if bulk_id is not None:
            query = query.where(page_versions.c.bulk_id == bulk_id)
        if page.cursor is not None:
            query = query.where(page_versions.c.id < page.cursor)
        rows = await self.conn.execute(query.order_by(page_versions.c.id.desc()).limit(page.limit))
        return [StoredPageVersion(**row._mapping) for row in rows]  # noqa: SLF001 -- SQLAlchemy's public name for it

    async def count(self, tenant_id: str, which: PageFilter) -> int:
        """How many stored pages a filter matches."""
        query = select(func.count()).select_from(matching(tenant_id, which).subquery())
        return int((await self.conn.execute(query)).scalar_one())

    async def earlier(self, tenant_id: str, sample: Sequence[StoredPage]) -> list[Items | None]:
        """What was last found on each of these pages: by another reading, as an article, or by a watch."""
        ids = [page.id for page in sample]
        newest = select(func.max(page_versions.c.id)).where(
            page_versions.c.tenant_id == tenant_id, self.dialect.among(page_versions.c.page_id, ids)
        )
        query = select(page_versions.c.page_id, page_versions.c.found).where(
            page_versions.c.id.in_(newest.group_by(page_versions.c.page_id))
        )
        known: dict[str, Items] = {row.page_id: row.found for row in await self.conn.execute(query)}
        by_article = await self._articles(tenant_id, [one.source_id for one in sample if one.source_kind == "article"])
        by_watch = await self._watched(tenant_id, [one for one in sample if one.source_kind == "watch"])
        return [
            known.get(page.id) or by_article.get(page.source_id) or by_watch.get((page.source_id, page.url))
            for page in sample
        ]

    async def _articles(self, tenant_id: str, ids: Sequence[str]) -> dict[str, Items]:
        if not ids:
            return {}
        query = select(articles.c.id, articles.c.title, articles.c.content, articles.c.about)
        mine = (articles.c.tenant_id == tenant_id, self.dialect.among(articles.c.id, sorted(set(ids))))
        rows = await self.conn.execute(query.where(*mine, articles.c.scraped_at.is_not(None)))
        return {row.id: [{"title": row.title, "content": row.content, **(row.about or {})}] for row in rows}

    async def _watched(self, tenant_id: str, sample: Sequence[StoredPage]) -> dict[tuple[str, str], Items]:
        if not sample:
            return {}
        mine = (
            watch_pages.c.tenant_id == tenant_id,
            self.dialect.among(watch_pages.c.watch_id, sorted({page.source_id for page in sample})),
            self.dialect.among(watch_pages.c.url, sorted({page.url for page in sample})),
        )
        rows = await self.conn.execute(
            select(watch_pages.c.watch_id, watch_pages.c.url, watch_pages.c.fields).where(*mine)
        )
        return {(row.watch_id, row.url): [row.fields] for row in rows if row.fields}

    async def prune(self, now: datetime, limit: int) -> None:
        """Delete those whose time is over."""
        old = select(page_versions.c.id).where(page_versions.c.expires_at < now).limit(limit)
        if ids := list((await self.conn.execute(old)).scalars()):
            await self.conn.execute(delete(page_versions).where(self.dialect.among(page_versions.c.id, ids)))
