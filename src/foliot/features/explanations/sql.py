"""Statements of explanations that no other feature has: each reads a few rows through an index."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select

from foliot.core.ids import RUN, floor_id
from foliot.db.database import Statements
from foliot.engine.model.views import RunView
from foliot.engine.sql.run_rows import SEEN, view_of
from foliot.engine.sql.tables import runs

LOOKED_BACK = 200
"""Runs of a schedule before a time among which the one that was open then is looked for."""


@dataclass(frozen=True, slots=True)
class SqlExplanations(Statements):
    """Runs around a time or another run."""

    async def open_at(self, tenant_id: str, schedule_id: str, at: datetime) -> RunView | None:
        """The newest run of the schedule that had been created by this time and had not ended."""
        before = runs.c.id < floor_id(RUN, at + timedelta(seconds=1))
        mine = (runs.c.schedule_id == schedule_id, runs.c.tenant_id == tenant_id)
        newest = select(runs.c.id).where(*mine, before).order_by(runs.c.id.desc()).limit(LOOKED_BACK).subquery()
        open_then = (runs.c.finished_at.is_(None)) | (runs.c.finished_at > at)
        query = select(*SEEN).join(newest, newest.c.id == runs.c.id)
        query = query.where(runs.c.created_at <= at + timedelta(seconds=1), open_then)
        row = (await self.conn.execute(query.order_by(runs.c.id.desc()).limit(1))).first()
        return None if row is None else view_of(row)

    async def predecessor(self, tenant_id: str, schedule_id: str, run_id: str) -> RunView | None:
        """The run that a buffered one waits for: the oldest open one before it."""
        query = select(*SEEN).where(runs.c.open_of == schedule_id, runs.c.tenant_id == tenant_id, runs.c.id < run_id)
        row = (await self.conn.execute(query.order_by(runs.c.id).limit(1))).first()
        return None if row is None else view_of(row)

    async def running(self, tenant_id: str) -> int:
        """Runs of a tenant that hold a slot."""
        held = (runs.c.lease_until.is_not(None), runs.c.handle.is_(None), runs.c.tenant_id == tenant_id)
        return int(await self.conn.scalar(select(func.count()).where(*held)) or 0)
