"""Rows of changes, and the number of the last one of each tenant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update

from foliot.db.database import Statements
from foliot.features.filters.model import FilterQuery, FilterTerm
from foliot.features.watches.model.watch import ChangeKind, PageChange
from foliot.features.watches.tables import watch_changes, watch_sequences, watches


@dataclass(frozen=True, slots=True)
class SqlChanges(Statements):
    """Reads and writes changes."""

    async def add(self, tenant_id: str, changes: Sequence[PageChange]) -> None:
        """Numbers them: the row of the tenant's last number is locked until the commit, so no number is missing."""
        await self.dialect.insert(
            self.conn, watch_sequences, {"tenant_id": [tenant_id], "last": [0]}, conflict="ignore"
        )
        mine = watch_sequences.c.tenant_id == tenant_id
        taken = {"last": watch_sequences.c.last + len(changes)}
        await self.conn.execute(update(watch_sequences).where(mine).values(**taken))
        last = (await self.conn.execute(select(watch_sequences.c.last).where(mine))).scalar_one()
        first = last - len(changes) + 1
        names = [column.name for column in watch_changes.c if column.name not in {"seq", "kind"}]
        await self.conn.execute(
            insert(watch_changes),
            [
                {name: getattr(change, name) for name in names} | {"seq": first + at, "kind": change.kind.value}
                for at, change in enumerate(changes)
            ],
        )

    async def find(
        self, tenant_id: str, wanted: FilterQuery, limit: int, *, before: int | None = None, after: int | None = None
    ) -> list[PageChange]:
        """Newest first; after a number, oldest first from there on."""
        query = select(watch_changes).where(watch_changes.c.tenant_id == tenant_id)
        for term in wanted.terms:
            query = query.where(self._condition(tenant_id, term))
        if after is not None:
            query = query.where(watch_changes.c.seq > after).order_by(watch_changes.c.seq)
        else:
            if before is not None:
                query = query.where(watch_changes.c.seq < before)
            query = query.order_by(watch_changes.c.seq.desc())
        return [_change(row) for row in await self.conn.execute(query.limit(limit))]

    async def get(self, tenant_id: str, change_id: str) -> PageChange | None:
        query = select(watch_changes).where(watch_changes.c.tenant_id == tenant_id, watch_changes.c.id == change_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else _change(row)

    async def prune(self, now: datetime, limit: int) -> None:
        """Delete changes whose time is over."""
        query = select(watch_changes.c.id).where(watch_changes.c.expires_at < now).limit(limit)
        ids = list((await self.conn.execute(query)).scalars())
        if ids:
            await self.conn.execute(delete(watch_changes).where(self.dialect.among(watch_changes.c.id, ids)))

    def _condition(self, tenant_id: str, term: FilterTerm) -> ColumnElement[bool]:
        condition = self._positive(tenant_id, term)
        return ~condition if term.negated else condition

    def _positive(self, tenant_id: str, term: FilterTerm) -> ColumnElement[bool]:
        match term.key:
            case "since" | "until":
                return watch_changes.c.at >= term.at if term.key == "since" else watch_changes.c.at < term.at
            case "matched":
                return watch_changes.c.matched == (term.values == ("true",))
            case "kind" | "page":
                column = watch_changes.c.kind if term.key == "kind" else watch_changes.c.page_id
                return self.dialect.among(column, term.values)
            case "watch":
                named = or_(*(self.dialect.among(column, term.values) for column in (watches.c.id, watches.c.name)))
                mine = select(watches.c.id).where(watches.c.tenant_id == tenant_id, named)
                return watch_changes.c.watch_id.in_(mine)
            case _:
                url = func.lower(watch_changes.c.url)
                return or_(*(url.contains(value.lower(), autoescape=True) for value in term.values))


def _change(row: Any) -> PageChange:
    values = {column.name: getattr(row, column.name) for column in watch_changes.c if column.name != "kind"}
    return PageChange(kind=ChangeKind(row.kind), **values)
