"""Statements on applied documents, and the schedules that a plan compares."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select, update

from foliot.db.database import Statements
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.schedules import SqlSchedules, schedule_of
from foliot.engine.sql.tables import schedules
from foliot.features.plans.tables import applied


@dataclass(frozen=True, slots=True)
class AppliedDocument:
    """What a file defines under a name, and the thing that was made from it."""

    thing: str
    name: str
    file: str
    thing_id: str
    made: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SqlAppliedDocuments(Statements):
    """Reads what is compared, and keeps what was applied."""

    async def applied(self, tenant_id: str, thing: str | None = None) -> dict[tuple[str, str], AppliedDocument]:
        """What all files of the tenant define, or those of one kind, by kind and name."""
        query = select(applied).where(applied.c.tenant_id == tenant_id)
        rows = await self.conn.execute(query if thing is None else query.where(applied.c.thing == thing))
        return {
            (row.thing, row.name): AppliedDocument(row.thing, row.name, row.file, row.thing_id, row.made)
            for row in rows
        }

    async def put(self, tenant_id: str, documents: Sequence[AppliedDocument]) -> None:
        """Replace the rows of these documents."""
        if not documents:
            return
        for thing in sorted({one.thing for one in documents}):
            await self.drop(tenant_id, thing, [one.name for one in documents if one.thing == thing])
        columns = {
            "tenant_id": [tenant_id] * len(documents),
            "thing": [one.thing for one in documents],
            "name": [one.name for one in documents],
            "file": [one.file for one in documents],
            "thing_id": [one.thing_id for one in documents],
            "made": [dict(one.made) for one in documents],
        }
        await self.dialect.insert(self.conn, applied, columns)

    async def drop(self, tenant_id: str, thing: str, names: Collection[str]) -> None:
        """Forget these documents."""
        mine = (applied.c.tenant_id == tenant_id, applied.c.thing == thing)
        await self.conn.execute(delete(applied).where(*mine, self.dialect.among(applied.c.name, list(names))))

    async def release(self, tenant_id: str, thing: str, thing_id: str) -> None:
        """A user has taken this thing over: no file manages it, and the row remembers which document it was."""
        mine = (applied.c.tenant_id == tenant_id, applied.c.thing == thing, applied.c.thing_id == thing_id)
        await self.conn.execute(update(applied).where(*mine).values(file=""))

    async def schedules(self, tenant_id: str) -> list[Schedule]:
        """All schedules of the tenant that are not deleted, oldest first."""
        query = select(schedules).where(
            schedules.c.tenant_id == tenant_id, schedules.c.status != ScheduleStatus.DELETED
        )
        found = [schedule_of(row) for row in await self.conn.execute(query.order_by(schedules.c.id))]
        return await SqlSchedules(self.tx).named(found)
