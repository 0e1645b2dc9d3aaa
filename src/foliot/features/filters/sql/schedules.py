"""Translates a filter to conditions on schedules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, false, func, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import schedule_of
from foliot.engine.sql.tables import schedule_stats, schedules
from foliot.features.filters.model import FilterQuery, FilterTerm
from foliot.features.filters.sql.counts import goes_to
from foliot.features.filters.sql.runs import begins, called, tagged
from foliot.features.webhooks.model import WEBHOOK


async def find(conn: AsyncConnection, tenant_id: str, query: FilterQuery, page: PageRequest) -> list[Schedule]:
    """Newest first."""
    wanted = select(schedules).where(*conditions(tenant_id, query))
    if page.cursor is not None:
        wanted = wanted.where(schedules.c.id < page.cursor)
    rows = await conn.execute(wanted.order_by(schedules.c.id.desc()).limit(page.limit))
    return [schedule_of(row) for row in rows]


async def several(conn: AsyncConnection, dialect: Dialect, tenant_id: str, ids: Sequence[str]) -> list[Schedule]:
    query = select(schedules).where(dialect.among(schedules.c.id, ids), schedules.c.tenant_id == tenant_id)
    found = {row.id: schedule_of(row) for row in await conn.execute(query)}
    return [found[one] for one in ids if one in found]


async def count(conn: AsyncConnection, tenant_id: str, query: FilterQuery) -> int:
    counted = select(func.count()).select_from(schedules).where(*conditions(tenant_id, query))
    return (await conn.scalar(counted)) or 0


def conditions(tenant_id: str, query: FilterQuery) -> list[ColumnElement[bool]]:
    """Deleted ones are left out unless the filter names them."""
    clauses = [schedules.c.tenant_id == tenant_id]
    if not any(ScheduleStatus.DELETED in term.values and not term.negated for term in query.of("status")):
        clauses.append(schedules.c.status != ScheduleStatus.DELETED)
    for term in query.terms:
        condition = _condition(tenant_id, term)
        clauses.append(not_(func.coalesce(condition, false())) if term.negated else condition)
    return clauses


def _condition(tenant_id: str, term: FilterTerm) -> ColumnElement[bool]:  # noqa: PLR0911 -- one arm for each key
    match term.key:
        case "tag":
            return or_(*(tagged(value) for value in term.values))
        case "queue":
            return or_(*(_specified("queue", value) for value in term.values))
        case "zone":
            return or_(*(_specified("timezone", value) for value in term.values))
        case "name":
            return or_(*(called(value) for value in term.values))
        case "id":
            return or_(*(begins(schedules.c.id, value) for value in term.values))
        case "target":
            return and_(schedules.c.kind == WEBHOOK, goes_to(schedules.c.action, term.values))
        case "failing":
            return failing(tenant_id)
        case "text":
            name = func.lower(schedules.c.name)
            return and_(*(name.contains(value.lower(), autoescape=True) for value in term.values))
        case _:
            return schedules.c[term.key].in_(term.values)


def _specified(name: str, value: str) -> ColumnElement[bool]:
    """Specs are stored as JSON, always formatted the same way, without blanks."""
    return schedules.c.spec.contains(f'"{name}":{json.dumps(value)}', autoescape=True)


def failing(tenant_id: str) -> ColumnElement[bool]:
    """Its newest ended run failed."""
    bad = (schedule_stats.c.tenant_id == tenant_id, schedule_stats.c.failing_at.is_not(None))
    return schedules.c.id.in_(select(schedule_stats.c.schedule_id).where(*bad))


def alive(since: datetime) -> ColumnElement[bool]:
    """It is active, or its last run was since then."""
    return or_(
        schedules.c.status == ScheduleStatus.ACTIVE,
        and_(schedules.c.status == ScheduleStatus.COMPLETED, schedules.c.last_run_at >= since),
    )
