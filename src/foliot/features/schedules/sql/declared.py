"""Rows of declared schedules: which schedules code and presets have created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update

from foliot.core.errors import Contended
from foliot.db.database import Statements
from foliot.features.schedules.model.declared import DeclaredSchedule
from foliot.features.schedules.tables import declared


@dataclass(frozen=True, slots=True)
class SqlDeclarations(Statements):
    """One row per declaration; the insert serialises processes that start at the same time."""

    async def take(self, tenant_id: str, source: str, name: str) -> DeclaredSchedule | None:
        """Locks and returns the row; concurrent callers wait. None when this transaction has inserted it."""
        row = {"tenant_id": [tenant_id], "source": [source], "name": [name], "wanted": [""], "made": [{}]}
        # Blocks while another transaction has inserted the same key and not committed yet.
        await self.dialect.insert(self.conn, declared, row, conflict="ignore")
        query = select(declared).where(*_this(tenant_id, source, name))
        stored = (await self.conn.execute(self.dialect.lock(query))).first()
        if stored is None:
            # Another transaction deleted the row after our insert met it: nothing is written yet; the retry inserts it.
            raise Contended(f"the declaration of {name} was dropped", told="another request changed it meanwhile")
        return None if stored.schedule_id is None else _declared(stored)

    async def put(self, one: DeclaredSchedule) -> None:
        """Updates the row that `take` has locked."""
        values = {"schedule_id": one.schedule_id, "wanted": one.wanted, "made": dict(one.made)}
        where = _this(one.tenant_id, one.source, one.name)
        await self.conn.execute(update(declared).where(*where).values(**values))

    async def of(self, tenant_id: str, source: str) -> Sequence[DeclaredSchedule]:
        where = (declared.c.tenant_id == tenant_id, declared.c.source == source, declared.c.schedule_id.is_not(None))
        rows = await self.conn.execute(select(declared).where(*where).order_by(declared.c.name))
        return [_declared(row) for row in rows]

    async def drop(self, tenant_id: str, source: str, name: str) -> None:
        await self.conn.execute(delete(declared).where(*_this(tenant_id, source, name)))


def _this(tenant_id: str, source: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return declared.c.tenant_id == tenant_id, declared.c.source == source, declared.c.name == name


def _declared(row: Any) -> DeclaredSchedule:
    return DeclaredSchedule(**{column.name: getattr(row, column.name) for column in declared.c})
