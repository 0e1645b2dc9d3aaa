"""Translates a filter to conditions on schedules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, Select, and_, false, func, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model.run import FAILURES
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import schedule_of
from foliot.engine.sql.tables import runs, schedules
from foliot.features.filters.model.query import FilterQuery, FilterTerm
from foliot.features.filters.sql.runs import begins, called, tagged
from foliot.features.filters.sql.targets import goes_to
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
        condition = _condition(term)
        clauses.append(not_(func.coalesce(condition, false())) if term.negated else condition)
    return clauses


def _condition(term: FilterTerm) -> ColumnElement[bool]:  # noqa: PLR0911 -- one arm for each key
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
            return last_state().in_(sorted(FAILURES))
        case "text":
            name = func.lower(schedules.c.name)
            return and_(*(name.contains(value.lower(), autoescape=True) for value in term.values))
        case _:
            return schedules.c[term.key].in_(term.values)


def _specified(name: str, value: str) -> ColumnElement[bool]:
    """Specs are stored as JSON, always formatted the same way, without blanks."""
    return schedules.c.spec.contains(f'"{name}":{json.dumps(value)}', autoescape=True)


def last_state() -> ScalarSelect[str]:
    """The state of its newest ended run."""
    ended: Select[Any] = (
        select(runs.c.state)
        .where(runs.c.schedule_id == schedules.c.id, runs.c.finished_at.is_not(None))
        .order_by(runs.c.id.desc())
        .limit(1)
    )
    return ended.scalar_subquery()
