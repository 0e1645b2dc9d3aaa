"""Keeps calendars resolved years ahead, and gives schedules that hold an older revision a new version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from foliot.core.access import Caller, Interface, Role
from foliot.core.errors import FoliotError, Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.calendars.model.calendar import REFRESHED
from foliot.features.calendars.sql import SqlCalendars, SqlCalendarUses
from foliot.features.calendars.usecases import NamedCalendars
from foliot.wakeups.feed import SCHEDULES_TOPIC

BATCH = 20
REST = 60.0
"""Seconds between two looks: an edit of a calendar turns most schedules in its own transaction."""

log = structlog.get_logger("foliot.calendars")


@dataclass(frozen=True, slots=True)
class CalendarsRefreshed:
    """What one round did."""

    calendars: int
    schedules: int
    rest: float


@dataclass(slots=True, kw_only=True)
class CalendarRefresher:
    """Safe on every node: a calendar is locked while it is resolved again and while its schedules are turned."""

    clock: Clock
    store: Database
    cases: NamedCalendars
    name: str = "calendar_refresher"
    topics: Sequence[str] = (SCHEDULES_TOPIC,)

    async def run_once(self) -> CalendarsRefreshed:
        async with self.store.read() as tx:
            due = await SqlCalendarUses(tx).to_refresh(self.clock.now(), BATCH)
            behind = await SqlCalendarUses(tx).behind(BATCH)
        refreshed = sum([await self._refresh(*one) for one in due])
        turned = sum([await self._turn(*one) for one in behind])
        more = len(due) == BATCH or turned > 0
        return CalendarsRefreshed(refreshed, turned, 0.0 if more else REST)

    async def _refresh(self, tenant_id: str, calendar_id: str) -> bool:
        try:
            changed = await self.cases.refresh(_keeper(tenant_id), calendar_id)
        except Unavailable:
            raise
        except FoliotError as refused:
            why = {"id": calendar_id, "why": str(refused)}
            log.warning("a calendar cannot be resolved again", action="calendar_faulty", **why)
            # Otherwise it would be the first of every round.
            async with self.store.begin(tenant_id) as tx:
                await SqlCalendars(tx).postpone(calendar_id, self.clock.now() + REFRESHED)
            return False
        if changed:
            log.info("a calendar has other days now", action="calendar_refreshed", id=calendar_id)
        return changed

    async def _turn(self, tenant_id: str, calendar_id: str) -> int:
        try:
            return await self.cases.update_schedules(_keeper(tenant_id), calendar_id)
        except Unavailable:
            raise
        except FoliotError as refused:
            log.warning("schedules keep old days", action="calendar_faulty", id=calendar_id, why=str(refused))
            return 0


def _keeper(tenant_id: str) -> Caller:
    return Caller(tenant_id, "foliot", Role.SYSTEM, Interface.CODE)
