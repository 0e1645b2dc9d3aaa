"""Prunes versions of schedules that no instant, run or span refers to, the oldest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.errors import Invalid
from foliot.db.dialects import Dialect
from foliot.engine.model.schedule import load_spec
from foliot.engine.sql.tables import ledger, runs, schedules, spans, versions

KEPT = 20
"""The newest versions of a schedule always stay: an edit can be reverted, and a replay can follow them."""
EACH = 1000
"""Versions of one schedule that are examined at once."""


@dataclass(frozen=True, slots=True)
class VersionPruner:
    """Spans without instants carry no information: they are deleted with their versions."""

    conn: AsyncConnection
    dialect: Dialect

    async def thin(self, after: str, limit: int) -> tuple[int, str | None]:
        """Examine so many schedules after this id. Returns the number of deleted versions, and where to continue."""
        query = select(schedules.c.id, schedules.c.version).where(schedules.c.id > after, schedules.c.version > KEPT)
        query = self.dialect.lock(query.order_by(schedules.c.id).limit(limit), skip=True)
        looked = (await self.conn.execute(query)).all()
        gone = sum([await self._thin(row.id, row.version - KEPT) for row in looked])
        return gone, looked[-1].id if len(looked) == limit else None

    async def _thin(self, schedule_id: str, upto: int) -> int:
        mine = (versions.c.schedule_id == schedule_id, versions.c.version <= upto)
        query = select(versions.c.version, versions.c.spec, versions.c.anchor).where(*mine)
        old = {row.version: row for row in await self.conn.execute(query.order_by(versions.c.version).limit(EACH))}
        if not old:
            return 0
        await self._end_empty_spans(schedule_id, old)
        unused = set(old) - await self._referred(schedule_id, max(old))
        shared = select(versions.c.version, versions.c.same_as).where(
            versions.c.schedule_id == schedule_id, versions.c.same_as.is_not(None)
        )
        unused -= {body for version, body in await self.conn.execute(shared) if version not in unused}
        if unused:
            numbers = versions.c.version.in_(sorted(unused))
            await self.conn.execute(delete(versions).where(versions.c.schedule_id == schedule_id, numbers))
        return len(unused)

    async def _end_empty_spans(self, schedule_id: str, old: dict[int, Any]) -> None:
        mine = spans.c.schedule_id == schedule_id
        rows = (await self.conn.execute(select(spans).where(mine).order_by(spans.c.start_at, spans.c.id))).all()
        # The first one says since when the schedule exists.
        empty = [row.id for row in rows[1:] if row.end_at is not None and _is_empty(row, old.get(row.version))]
        for start in range(0, len(empty), EACH):
            await self.conn.execute(delete(spans).where(self.dialect.among(spans.c.id, empty[start : start + EACH])))

    async def _referred(self, schedule_id: str, upto: int) -> set[int]:
        numbers: set[int] = set()
        for table in (spans, ledger, runs):
            query = (
                select(table.c.version).distinct().where(table.c.schedule_id == schedule_id, table.c.version <= upto)
            )
            numbers |= set((await self.conn.execute(query)).scalars())
        return numbers


def _is_empty(span: Any, version: Any) -> bool:
    """Whether no instant lies within it: neither fired nor passed over while paused."""
    if version is None:
        return False
    try:
        first = load_spec(version.spec, version.anchor).trigger.next_after(span.start_at)
    except Invalid:
        return False
    return first is None or first > span.end_at
