"""Prefix queries for autocompletion, and lookups of ids by name or prefix."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import SCHEDULE
from foliot.db.database import Statements
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.tables import runs, schedules
from foliot.features.alerts.tables import alert_rules, alerts, channels
from foliot.features.api_keys.sql import api_keys
from foliot.features.bulk.tables import bulks
from foliot.features.calendars.tables import calendars
from foliot.features.filters.model import Completion
from foliot.features.filters.sql.runs import begins
from foliot.features.monitors.tables import monitors
from foliot.features.pipelines.tables import pipelines
from foliot.features.views.sql import saved_views
from foliot.features.watches.tables import watches

_NAMED: dict[str, tuple[Table, str]] = {
    "monitor": (monitors, "status"),
    "watch": (watches, "pages"),
    "calendar": (calendars, "revision"),
    "channel": (channels, "kind"),
    "alert_rule": (alert_rules, "enabled"),
}
"""Tables of things with a name, and the column that tells several of them apart."""

RECENT = 1000
"""Newest runs, from which queues and workers are read."""
CANDIDATES = 500
"""Names that are compared with one that does not exist."""
ALIKE = 3
"""First letters that such names have in common with it."""


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


@dataclass(frozen=True, slots=True)
class SqlReferences(Statements):
    """Looks up things by name, or by a prefix of their id; every list has at most `limit` items."""

    async def schedules(
        self, tenant_id: str, text: str, limit: int, *, kinds: Collection[str] = ()
    ) -> list[Completion]:
        """By id or prefix of it, then by exact name, then by name whatever its case. Deleted ones only by id."""
        mine = [schedules.c.tenant_id == tenant_id, *([schedules.c.kind.in_(kinds)] if kinds else [])]
        alive = [*mine, schedules.c.status != ScheduleStatus.DELETED]
        for conditions in (
            [*mine, begins(schedules.c.id, text)] if text.startswith(f"{SCHEDULE}_") else None,
            [*alive, schedules.c.name == text],
            [*alive, func.lower(schedules.c.name) == text.lower()],
        ):
            if conditions is not None and (found := await self._schedules(conditions, limit)):
                return found
        return []

    async def _schedules(self, conditions: Sequence[Any], limit: int) -> list[Completion]:
        query = select(schedules.c.id, schedules.c.name, schedules.c.kind, schedules.c.status).where(*conditions)
        rows: Any = await self.conn.execute(query.order_by(schedules.c.id.desc()).limit(limit))
        return [Completion("schedule", row.id, row.name, f"{row.kind}, {row.status}") for row in rows]

    async def runs(
        self, tenant_id: str, text: str, limit: int, *, kinds: Collection[str] = (), state: str | None = None
    ) -> list[Completion]:
        """By a prefix of the id, newest first."""
        mine = [runs.c.tenant_id == tenant_id, begins(runs.c.id, text)]
        mine += [runs.c.kind.in_(kinds)] if kinds else []
        mine += [runs.c.state == state] if state else []
        query = select(runs.c.id, runs.c.kind, runs.c.state).where(*mine).order_by(runs.c.id.desc()).limit(limit)
        rows: Any = await self.conn.execute(query)
        return [Completion("run", row.id, "", f"{row.kind}, {row.state}") for row in rows]

    async def newest_run(self, tenant_id: str, schedule_id: str) -> Completion | None:
        own = (runs.c.tenant_id == tenant_id, runs.c.schedule_id == schedule_id)
        query = select(runs.c.id, runs.c.kind, runs.c.state).where(*own).order_by(runs.c.id.desc()).limit(1)
        row: Any = (await self.conn.execute(query)).first()
        return None if row is None else Completion("run", row.id, "", f"{row.kind}, {row.state}")

    async def bulks(self, tenant_id: str, text: str, limit: int) -> list[Completion]:
        query = select(bulks.c.id, bulks.c.action, bulks.c.state).where(
            bulks.c.tenant_id == tenant_id, begins(bulks.c.id, text)
        )
        rows: Any = await self.conn.execute(query.order_by(bulks.c.id.desc()).limit(limit))
        return [Completion("bulk", row.id, "", f"{row.action}, {row.state}") for row in rows]

    async def keys(self, tenant_id: str, text: str, limit: int) -> list[Completion]:
        """By name, or a prefix of the id; revoked ones too."""
        named = or_(api_keys.c.name == text, begins(api_keys.c.id, text))
        query = select(api_keys.c.id, api_keys.c.name, api_keys.c.role).where(api_keys.c.tenant_id == tenant_id, named)
        rows: Any = await self.conn.execute(query.order_by(api_keys.c.id.desc()).limit(limit))
        return [Completion("key", row.id, row.name, row.role) for row in rows]

    async def named(self, kind: str, tenant_id: str, text: str, limit: int) -> list[Completion]:
        """A monitor, a calendar, a channel or an alert rule, by a prefix of the id or its name, whatever its case."""
        table, hint = _NAMED[kind]
        named = or_(begins(table.c.id, text), func.lower(table.c.name) == text.lower())
        query = select(table.c.id, table.c.name, table.c[hint].label("hint"))
        query = query.where(table.c.tenant_id == tenant_id, named)
        rows: Any = await self.conn.execute(query.order_by(table.c.id.desc()).limit(limit))
        return [Completion(kind, row.id, row.name, str(row.hint)) for row in rows]

    async def views(self, tenant_id: str, user_id: str, text: str, limit: int) -> list[Completion]:
        """A view of the user or a shared one, by a prefix of the id or its name."""
        columns = saved_views.c
        seen = or_(columns.user_id == user_id, columns.shared)
        named = or_(begins(columns.id, text), func.lower(columns.name) == text.lower())
        query = select(columns.id, columns.name, columns.list).where(columns.tenant_id == tenant_id, seen, named)
        rows: Any = await self.conn.execute(query.order_by(columns.id.desc()).limit(limit))
        return [Completion("view", row.id, row.name, row.list) for row in rows]

    async def alerts(self, tenant_id: str, text: str, limit: int) -> list[Completion]:
        """By a prefix of the id; else those about something of this name that are not resolved."""
        query = select(alerts.c.id, alerts.c.subject_name, alerts.c.event, alerts.c.state)
        query = query.where(alerts.c.tenant_id == tenant_id).order_by(alerts.c.id.desc()).limit(limit)
        about = (func.lower(alerts.c.subject_name) == text.lower(), alerts.c.open_of.is_not(None))
        for conditions in ((begins(alerts.c.id, text),), about):
            rows: Any = await self.conn.execute(query.where(*conditions))
            if found := [Completion("alert", row.id, row.subject_name, f"{row.event}, {row.state}") for row in rows]:
                return found
        return []

    async def names_alike(self, tenant_id: str, text: str) -> list[str]:
        """Names of schedules that begin like this one, to suggest one of them."""
        name = func.lower(schedules.c.name)
        alike = name.startswith(text[:ALIKE].lower(), autoescape=True)
        query = select(schedules.c.name).where(
            schedules.c.tenant_id == tenant_id, schedules.c.status != ScheduleStatus.DELETED, alike
        )
        return list((await self.conn.execute(query.distinct().limit(CANDIDATES))).scalars())
