"""Rows of calendars, and of the schedules that name them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import delete, func, insert, select, update

from foliot.core.errors import Invalid
from foliot.core.time.resolved_calendar import ResolvedCalendar
from foliot.db.database import Statements, Transaction
from foliot.db.metadata import DamagedDocument
from foliot.engine.model.restrictions import CalendarBook
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.tables import schedules
from foliot.features.calendars.model.calendar import CalendarSettings, StoredCalendar
from foliot.features.calendars.tables import calendar_uses, calendars

MOST_NAMED = 5

log = structlog.get_logger("foliot.calendars")


@dataclass(frozen=True, slots=True)
class SqlCalendars(Statements):
    """Reads and writes calendars."""

    async def add(self, calendar: StoredCalendar) -> None:
        await self.conn.execute(
            insert(calendars).values(
                id=calendar.id,
                tenant_id=calendar.tenant_id,
                created_by=calendar.created_by,
                created_at=calendar.created_at,
                **_values(calendar),
            )
        )

    async def change(self, calendar: StoredCalendar) -> None:
        await self.conn.execute(update(calendars).where(calendars.c.id == calendar.id).values(**_values(calendar)))

    async def postpone(self, calendar_id: str, refresh_at: datetime) -> None:
        """Nothing has changed: look again then."""
        await self.conn.execute(update(calendars).where(calendars.c.id == calendar_id).values(refresh_at=refresh_at))

    async def delete(self, calendar_id: str) -> None:
        await self.conn.execute(delete(calendar_uses).where(calendar_uses.c.calendar_id == calendar_id))
        await self.conn.execute(delete(calendars).where(calendars.c.id == calendar_id))

    async def get(self, tenant_id: str, calendar_id: str, *, lock: bool = False) -> StoredCalendar | None:
        query = select(calendars).where(calendars.c.id == calendar_id, calendars.c.tenant_id == tenant_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _stored(row, await self._used([row.id]))

    async def name_of(self, tenant_id: str, calendar_id: str) -> str | None:
        """Also of one that cannot be read."""
        query = select(calendars.c.name).where(calendars.c.id == calendar_id, calendars.c.tenant_id == tenant_id)
        name: str | None = await self.conn.scalar(query)
        return name

    async def named(self, tenant_id: str, name: str) -> StoredCalendar | None:
        query = select(calendars).where(calendars.c.name == name, calendars.c.tenant_id == tenant_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else _stored(row, await self._used([row.id]))

    async def of_tenant(self, tenant_id: str) -> list[StoredCalendar]:
        """In order of name; one that cannot be read is left out."""
        query = select(calendars).where(calendars.c.tenant_id == tenant_id).order_by(calendars.c.name)
        rows = (await self.conn.execute(query)).all()
        used = await self._used([row.id for row in rows])
        found = []
        for row in rows:
            try:
                found.append(_stored(row, used))
            except Invalid as damaged:
                log.warning("a calendar cannot be read", action="calendar_faulty", id=row.id, why=str(damaged))
        return found

    async def count(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(calendars).where(calendars.c.tenant_id == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def book(self, tenant_id: str, names: Collection[str]) -> CalendarBook:
        """The calendars of these names, as schedules use them; where one is missing, all names to suggest one of."""
        columns = (calendars.c.name, calendars.c.resolved)
        query = select(*columns).where(calendars.c.tenant_id == tenant_id)
        rows = (await self.conn.execute(query.where(self.dialect.among(calendars.c.name, sorted(names))))).all()
        found = {row.name: _resolved(row.name, row.resolved) for row in rows}
        if len(found) == len(set(names)):
            return CalendarBook(found)
        every = await self.conn.execute(select(calendars.c.name).where(calendars.c.tenant_id == tenant_id))
        return CalendarBook(found, sorted(every.scalars()))

    async def _used(self, calendar_ids: Sequence[str]) -> dict[str, int]:
        if not calendar_ids:
            return {}
        query = select(calendar_uses.c.calendar_id, func.count()).group_by(calendar_uses.c.calendar_id)
        rows = await self.conn.execute(query.where(self.dialect.among(calendar_uses.c.calendar_id, calendar_ids)))
        return {row[0]: row[1] for row in rows}


@dataclass(frozen=True, slots=True)
class SqlCalendarUses(Statements):
    """Which schedules name which calendar, and the revision that they hold."""

    async def replace(self, uses: Collection[tuple[Schedule, ResolvedCalendar]], schedule_ids: Collection[str]) -> None:
        """These are the uses of these schedules from now on."""
        mine = self.dialect.among(calendar_uses.c.schedule_id, sorted(schedule_ids))
        await self.conn.execute(delete(calendar_uses).where(mine))
        rows = [
            {
                "schedule_id": schedule.id,
                "calendar_id": calendar.id,
                "tenant_id": schedule.tenant_id,
                "revision": calendar.revision,
            }
            for schedule, calendar in uses
        ]
        if rows:
            await self.conn.execute(insert(calendar_uses), rows)

    async def outdated(self, calendar: ResolvedCalendar, limit: int) -> list[str]:
        """Schedules that hold an older revision."""
        mine = (calendar_uses.c.calendar_id == calendar.id, calendar_uses.c.revision < calendar.revision)
        query = select(calendar_uses.c.schedule_id).where(*mine).order_by(calendar_uses.c.schedule_id).limit(limit)
        return list((await self.conn.execute(query)).scalars())

    async def settle(self, calendar: ResolvedCalendar, schedule_ids: Collection[str]) -> None:
        """These need no new version: they are deleted, or cannot be read."""
        mine = self.dialect.among(calendar_uses.c.schedule_id, sorted(schedule_ids))
        query = update(calendar_uses).where(calendar_uses.c.calendar_id == calendar.id, mine)
        await self.conn.execute(query.values(revision=calendar.revision))

    async def behind(self, limit: int) -> list[tuple[str, str]]:
        """(tenant, id) of calendars of any tenant that schedules hold an older revision of."""
        join = calendars.join(calendar_uses, calendar_uses.c.calendar_id == calendars.c.id)
        query = select(calendars.c.tenant_id, calendars.c.id).select_from(join).distinct()
        query = query.where(calendar_uses.c.revision < calendars.c.revision).limit(limit)
        return [(tenant_id, calendar_id) for tenant_id, calendar_id in await self.conn.execute(query)]

    async def to_refresh(self, now: datetime, limit: int) -> list[tuple[str, str]]:
        """(tenant, id) of calendars of any tenant that are to be resolved again."""
        query = select(calendars.c.tenant_id, calendars.c.id).where(calendars.c.refresh_at <= now)
        query = query.order_by(calendars.c.refresh_at).limit(limit)
        return [(tenant_id, calendar_id) for tenant_id, calendar_id in await self.conn.execute(query)]

    async def names_of(self, tenant_id: str, calendar_id: str) -> list[str]:
        """A few of the schedules that name it."""
        query = select(schedules.c.name).join(calendar_uses, calendar_uses.c.schedule_id == schedules.c.id)
        query = query.where(calendar_uses.c.calendar_id == calendar_id, schedules.c.tenant_id == tenant_id)
        return list((await self.conn.execute(query.order_by(schedules.c.name).limit(MOST_NAMED))).scalars())


async def record_uses(tx: Transaction, became: Sequence[Schedule], was: Sequence[Schedule]) -> None:
    """A hook of new versions: which calendars they hold. No statement where none names one or did."""
    before = {one.id for one in was if one.spec.calendars or one.fault is not None}
    using = [one for one in became if one.spec.calendars and one.status is not ScheduleStatus.DELETED]
    touched = before | {one.id for one in using}
    if touched:
        uses = [(one, calendar) for one in using for calendar in one.spec.calendars.values()]
        await SqlCalendarUses(tx).replace(uses, touched)


def _values(calendar: StoredCalendar) -> dict[str, Any]:
    return {
        "name": calendar.settings.name,
        "settings": calendar.settings.as_request(),
        "ics": calendar.settings.ics,
        "revision": calendar.resolved.revision,
        "resolved": calendar.resolved.as_dict(),
        "until": calendar.until,
        "refresh_at": calendar.refresh_at,
        "updated_at": calendar.updated_at,
    }


def _stored(row: Any, used: dict[str, int]) -> StoredCalendar:
    if isinstance(row.settings, DamagedDocument):
        raise Invalid("settings", f"of the calendar {row.name!r} cannot be read: delete it and create it again")
    settings = CalendarSettings.of({**row.settings, "ics": row.ics or None})
    return StoredCalendar(
        id=row.id,
        tenant_id=row.tenant_id,
        settings=settings,
        resolved=_resolved(row.name, row.resolved),
        until=row.until,
        refresh_at=row.refresh_at,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        schedules=used.get(row.id, 0),
    )


def _resolved(name: str, raw: Any) -> ResolvedCalendar:
    return ResolvedCalendar.from_dict(name, raw)
