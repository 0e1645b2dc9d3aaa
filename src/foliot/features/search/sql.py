"""Prefix queries for autocompletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.transaction import Statements
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.tables import runs, schedules
from foliot.features.filters.model.results import Completion
from foliot.features.filters.sql.runs import begins
from foliot.features.pipelines.tables import pipelines

RECENT = 1000
"""Newest runs, from which queues and workers are read."""


async def scheduled(conn: AsyncConnection, tenant_id: str, text: str, limit: int) -> list[Completion]:
    """Schedules whose name contains it; a prefix of name or id ranks first."""
    name = func.lower(schedules.c.name)
    holds = or_(name.contains(text.lower(), autoescape=True), begins(schedules.c.id, text.lower()))
    query = (
        select(schedules.c.id, schedules.c.name, schedules.c.kind, schedules.c.status)
        .where(schedules.c.tenant_id == tenant_id, schedules.c.status != ScheduleStatus.DELETED, holds)
        .order_by(case((name.startswith(text.lower(), autoescape=True), 0), else_=1), name, schedules.c.id)
        .limit(limit)
    )
    return [Completion("schedule", row.id, row.name, f"{row.kind}, {row.status}") for row in await conn.execute(query)]


async def tags(conn: AsyncConnection, tenant_id: str, text: str, limit: int) -> list[Completion]:
    """Tags, most used first."""
    mine = (schedules.c.tenant_id == tenant_id, schedules.c.status != ScheduleStatus.DELETED, schedules.c.tags != "")
    query = select(schedules.c.tags, func.count()).where(*mine).group_by(schedules.c.tags)
    counted: dict[str, int] = {}
    for row, number in await conn.execute(query):
        for tag in filter(None, row.split("\n")):
            counted[tag] = counted.get(tag, 0) + number
    chosen = sorted((tag for tag in counted if text.lower() in tag.lower()), key=lambda tag: (-counted[tag], tag))
    return [Completion("tag", tag, tag, f"{counted[tag]} schedules") for tag in chosen[:limit]]


async def recent(conn: AsyncConnection, tenant_id: str, column: str) -> list[str]:
    """The values of this column in the newest runs."""
    newest = select(runs.c[column].label("value")).where(runs.c.tenant_id == tenant_id)
    sample = newest.order_by(runs.c.id.desc()).limit(RECENT).subquery()
    query = select(sample.c.value).where(sample.c.value.is_not(None)).distinct().order_by(sample.c.value)
    return list((await conn.execute(query)).scalars())


async def identified(conn: AsyncConnection, tenant_id: str, text: str, limit: int) -> list[Completion]:
    """Runs by a prefix of their id, newest first."""
    query = select(runs.c.id, runs.c.kind, runs.c.state).where(runs.c.tenant_id == tenant_id, begins(runs.c.id, text))
    rows: Any = await conn.execute(query.order_by(runs.c.id.desc()).limit(limit))
    return [Completion("run", row.id, row.id, f"{row.kind}, {row.state}") for row in rows]


async def piped(conn: AsyncConnection, tenant_id: str, text: str, limit: int) -> list[Completion]:
    name = pipelines.c.name
    holds = func.lower(name).contains(text.lower(), autoescape=True)
    query = select(name).where(pipelines.c.tenant_id == tenant_id, holds).order_by(name).limit(limit)
    return [Completion("pipeline", one, one, "") for one in (await conn.execute(query)).scalars()]


_SUGGEST = {"schedule": scheduled, "tag": tags, "run": identified, "pipeline": piped}


@dataclass(frozen=True, slots=True)
class SqlSuggestions(Statements):
    """Completions by prefix."""

    async def find(self, tenant_id: str, field: str, text: str, limit: int) -> list[Completion]:
        """`field`: schedule, tag, pipeline, run."""
        return await _SUGGEST[field](self.conn, tenant_id, text, limit)

    async def recent(self, tenant_id: str, column: str) -> list[str]:
        """The queues (`queue`) or workers (`worker`) of the newest runs."""
        return await recent(self.conn, tenant_id, column)
