"""Re-encrypts the credentials in stored actions, a batch at a time: those of an older key, and plain ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.columns import DamagedDocument
from foliot.db.dialects import Dialect
from foliot.db.sealer import Sealer
from foliot.engine.sql import stored_bytes
from foliot.engine.sql.tables import runs, schedules, versions
from foliot.features.secrets.model import ResealedActions

_TABLES: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (schedules, ("id",)),
    (versions, ("schedule_id", "version")),
    (runs, ("id",)),
)


@dataclass(frozen=True, slots=True)
class CredentialRekey:
    """Iterates over schedules, then their versions, then runs; the cursor is (table, key)."""

    conn: AsyncConnection
    dialect: Dialect
    sealer: Sealer

    async def reseal(self, place: tuple[Any, ...], limit: int) -> ResealedActions:
        at, *after = place or (0,)
        table, names = _TABLES[at]
        key = [table.c[name] for name in names]
        query = select(*key, table.c.tenant_id, table.c.action).where(table.c.action.is_not(None))
        if after:
            query = query.where(_beyond(key, after))
        rows = (await self.conn.execute(self.dialect.lock(query.order_by(*key).limit(limit)))).all()
        done, shut = 0, list[str]()
        for row in rows:
            if isinstance(row.action, DamagedDocument):
                continue
            opened = self.sealer.stale(row.tenant_id, row.action)
            if opened is None:
                continue
            if opened.locked:
                shut.append(f"{row.tenant_id}/{row[0]}")
                continue
            action = self.sealer.seal(row.tenant_id, opened.action)
            where = [column == value for column, value in zip(key, row, strict=False)]
            await self.conn.execute(update(table).where(*where).values(**_values(table, action)))
            done += 1
        if len(rows) == limit:
            return ResealedActions(done, shut, (at, *rows[-1][: len(names)]))
        return ResealedActions(done, shut, (at + 1,) if at + 1 < len(_TABLES) else None)


def _values(table: Table, action: Mapping[str, Any]) -> dict[str, Any]:
    return {"action": dict(action)} | ({"digest": stored_bytes.digest(dict(action))} if table is versions else {})


def _beyond(key: list[Any], after: list[Any]) -> Any:
    if len(key) == 1:
        return key[0] > after[0]
    return or_(key[0] > after[0], and_(key[0] == after[0], key[1] > after[1]))
