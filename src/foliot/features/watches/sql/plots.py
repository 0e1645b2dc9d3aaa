"""Rows that numbers over time are read from: the newest versions of the pages that changed last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, union_all

from foliot.db.database import Statements
from foliot.features.watches.sql.pages import page_of
from foliot.features.watches.tables import watch_changes, watch_pages, watch_versions, watches

LOOKED_AT = 200
"""Newest changes of a watch in which its liveliest pages are looked for."""


@dataclass(frozen=True, slots=True)
class StoredFields:
    """The fields of a page from a time on."""

    at: datetime
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SqlPlots(Statements):
    """Reads the fields of versions; every statement ends at an index and a limit."""

    async def liveliest(self, tenant_id: str, watch_ids: Sequence[str]) -> Mapping[str, str]:
        """The page of each watch that changed last; watches whose pages never changed have none."""
        newest = select(watch_changes.c.page_id).where(watch_changes.c.watch_id == watches.c.id).correlate(watches)
        newest = newest.order_by(watch_changes.c.seq.desc()).limit(1)
        query = select(watches.c.id, newest.scalar_subquery().label("page_id"))
        query = query.where(watches.c.tenant_id == tenant_id, self.dialect.among(watches.c.id, watch_ids))
        return {row.id: row.page_id for row in await self.conn.execute(query) if row.page_id is not None}

    async def pages(self, tenant_id: str, watch_id: str, most: int) -> list[Any]:
        """The pages that changed last, the liveliest first; then the first ones of the watch."""
        query = select(watch_changes.c.page_id).where(watch_changes.c.watch_id == watch_id)
        rows = await self.conn.execute(query.order_by(watch_changes.c.seq.desc()).limit(LOOKED_AT))
        ids = list(dict.fromkeys(rows.scalars()))[:most]
        if len(ids) < most:
            query = select(watch_pages.c.id).where(watch_pages.c.watch_id == watch_id, watch_pages.c.listed)
            ids += list((await self.conn.execute(query.order_by(watch_pages.c.id).limit(most))).scalars())
            ids = list(dict.fromkeys(ids))[:most]
        if not ids:
            return []
        query = select(watch_pages).where(
            watch_pages.c.tenant_id == tenant_id, self.dialect.among(watch_pages.c.id, ids)
        )
        found = {page.id: page for page in map(page_of, await self.conn.execute(query))}
        return [found[page_id] for page_id in ids if page_id in found]

    async def fields(self, tenant_id: str, page_ids: Sequence[str], most: int) -> Mapping[str, list[StoredFields]]:
        """The newest versions of each page, oldest first."""
        if not page_ids:
            return {}
        parts = []
        for page_id in dict.fromkeys(page_ids):
            part = select(watch_versions.c.page_id, watch_versions.c.id, watch_versions.c.at, watch_versions.c.fields)
            part = part.where(watch_versions.c.tenant_id == tenant_id, watch_versions.c.page_id == page_id)
            parts.append(select(part.order_by(watch_versions.c.id.desc()).limit(most).subquery()))
        found: dict[str, list[StoredFields]] = {page_id: [] for page_id in page_ids}
        rows = (await self.conn.execute(union_all(*parts))).all()
        for row in sorted(rows, key=lambda row: str(row.id)):
            found[row.page_id].append(StoredFields(row.at, row.fields))
        return found
