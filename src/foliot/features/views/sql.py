"""Rows of saved views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, CheckConstraint, Column, Index, String, Table, delete, func, insert, or_, select, update
from sqlalchemy.sql import false

from foliot.db.database import Statements
from foliot.db.metadata import Moment, key, metadata, one_of, prose, tenant
from foliot.features.views.model import StoredView, ViewedList

saved_views = Table(
    "saved_views",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("user_id", key(200), nullable=False),
    Column("list", key(16), nullable=False),
    Column("name", String(40), nullable=False),
    Column("q", prose(), nullable=False),
    Column("sort", key(40)),
    Column("shared", Boolean, nullable=False, server_default=false()),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("list", ViewedList), name="list"),
    Index(None, "tenant_id", "list", "user_id"),
)


@dataclass(frozen=True, slots=True)
class SqlViews(Statements):
    """Reads and writes saved views."""

    async def add(self, view: StoredView) -> None:
        await self.conn.execute(insert(saved_views).values(id=view.id, created_at=view.created_at, **_values(view)))

    async def change(self, view: StoredView) -> None:
        await self.conn.execute(update(saved_views).where(saved_views.c.id == view.id).values(**_values(view)))

    async def delete(self, view_id: str) -> None:
        await self.conn.execute(delete(saved_views).where(saved_views.c.id == view_id))

    async def get(self, tenant_id: str, view_id: str, *, lock: bool = False) -> StoredView | None:
        query = select(saved_views).where(saved_views.c.id == view_id, saved_views.c.tenant_id == tenant_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _view(row)

    async def seen_by(self, tenant_id: str, user_id: str, of: ViewedList | None) -> list[StoredView]:
        """Those of the user, and those that others share; the user's own first, each part oldest first."""
        mine = saved_views.c.user_id == user_id
        wanted = [saved_views.c.tenant_id == tenant_id, or_(mine, saved_views.c.shared)]
        wanted += [] if of is None else [saved_views.c.list == of.value]
        rows = [_view(row) for row in await self.conn.execute(select(saved_views).where(*wanted))]
        return sorted(rows, key=lambda view: (view.user_id != user_id, view.id))

    async def counts(self, view: StoredView) -> tuple[int, int]:
        """How many views of its list its owner has, and how many the tenant shares; without this one."""
        others = [saved_views.c.tenant_id == view.tenant_id, saved_views.c.list == view.list.value]
        others += [saved_views.c.id != view.id]
        count = select(func.count()).select_from(saved_views).where(*others)
        own = await self.conn.scalar(count.where(saved_views.c.user_id == view.user_id))
        return own or 0, await self.conn.scalar(count.where(saved_views.c.shared)) or 0


def _values(view: StoredView) -> dict[str, Any]:
    return {
        "tenant_id": view.tenant_id,
        "user_id": view.user_id,
        "updated_at": view.updated_at,
        **view.as_dict(),
    }


def _view(row: Any) -> StoredView:
    return StoredView(
        id=row.id,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        list=ViewedList(row.list),
        name=row.name,
        q=row.q,
        sort=row.sort,
        shared=bool(row.shared),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
