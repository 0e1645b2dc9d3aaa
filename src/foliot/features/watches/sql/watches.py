"""Rows of watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from foliot.db.database import Statements
from foliot.engine.model.views import PageRequest
from foliot.features.watches.model.watch import Watch, WatchSettings
from foliot.features.watches.tables import watch_changes, watch_pages, watches

ReadSettings = Callable[[Mapping[str, Any]], WatchSettings]
"""Makes settings of a stored document."""


@dataclass(frozen=True, slots=True)
class SqlWatches(Statements):
    """Reads and writes watches."""

    async def add(self, watch: Watch, feed_digest: str | None) -> None:
        given = {"id": watch.id, "tenant_id": watch.tenant_id, "key_of": watch.key_of, "feed_digest": feed_digest}
        made = {"created_by": watch.created_by, "created_at": watch.created_at, "changes": 0, "planning": {}}
        await self.conn.execute(insert(watches).values(**given, **made, **_settings(watch)))

    async def change(self, watch: Watch) -> None:
        await self.conn.execute(update(watches).where(watches.c.id == watch.id).values(**_settings(watch)))

    async def note(self, watch_id: str, **values: Any) -> None:
        """What its visits found; columns that are not named stay."""
        await self.conn.execute(update(watches).where(watches.c.id == watch_id).values(**values))

    async def count_changes(self, watch_id: str, count: int, at: datetime) -> None:
        values = {"changes": watches.c.changes + count, "last_change_at": at}
        await self.conn.execute(update(watches).where(watches.c.id == watch_id).values(**values))

    async def get(self, tenant_id: str, watch_id: str, read: ReadSettings, *, lock: bool = False) -> Watch | None:
        query = select(watches).where(watches.c.tenant_id == tenant_id, watches.c.id == watch_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _watch(row, read)

    async def find(self, tenant_id: str, page: PageRequest, read: ReadSettings, q: str = "") -> list[Watch]:
        """Newest first; `q` is a part of the name."""
        query = select(watches).where(watches.c.tenant_id == tenant_id)
        if q:
            query = query.where(func.lower(watches.c.name).contains(q.lower(), autoescape=True))
        if page.cursor is not None:
            query = query.where(watches.c.id < page.cursor)
        rows = await self.conn.execute(query.order_by(watches.c.id.desc()).limit(page.limit))
        return [_watch(row, read) for row in rows]

    async def count(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(watches).where(watches.c.tenant_id == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def id_named(self, tenant_id: str, name: str) -> str | None:
        query = select(watches.c.id).where(watches.c.tenant_id == tenant_id, watches.c.name == name)
        found: str | None = await self.conn.scalar(query)
        return found

    async def ids_of(self, tenant_id: str, schedule_ids: Sequence[str]) -> Sequence[str]:
        """Watches whose pages the runs of these schedules visit."""
        among = self.dialect.among(watches.c.schedule_id, schedule_ids)
        query = select(watches.c.id).where(watches.c.tenant_id == tenant_id, among)
        return list((await self.conn.execute(query)).scalars())

    async def names(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, str]:
        among = self.dialect.among(watches.c.id, ids)
        query = select(watches.c.id, watches.c.name).where(watches.c.tenant_id == tenant_id, among)
        return {row.id: row.name for row in await self.conn.execute(query)}

    async def by_feed(self, digest: str) -> tuple[str, str] | None:
        """Tenant and id; of any tenant, for the tenant is known only once the digest has matched."""
        query = select(watches.c.tenant_id, watches.c.id).where(watches.c.feed_digest == digest)
        row = (await self.conn.execute(query)).first()
        return None if row is None else (row.tenant_id, row.id)

    async def delete(self, watch_id: str) -> None:
        """With its pages and changes; its versions are deleted before."""
        for table in (watch_changes, watch_pages):
            await self.conn.execute(delete(table).where(table.c.watch_id == watch_id))
        await self.conn.execute(delete(watches).where(watches.c.id == watch_id))


def _settings(watch: Watch) -> dict[str, Any]:
    return {
        "name": watch.settings.name,
        "document": dict(watch.document),
        "schedule_id": watch.schedule_id,
        "updated_at": watch.updated_at,
        "pages": watch.pages,
        "listed_at": watch.listed_at,
        "problem": watch.problem,
    }


def _watch(row: Any, read: ReadSettings) -> Watch:
    return Watch(
        id=row.id,
        tenant_id=row.tenant_id,
        settings=read(row.document),
        document=row.document,
        schedule_id=row.schedule_id,
        key_of=row.key_of,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        pages=row.pages,
        changes=row.changes,
        last_visit_at=row.last_visit_at,
        last_change_at=row.last_change_at,
        listed_at=row.listed_at,
        problem=row.problem,
        planning=row.planning or {},
    )
