"""The calendars that requests name, and the new versions of schedules whose calendar was changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from foliot.commands.envelope import CommandContext
from foliot.core.errors import Invalid
from foliot.core.time.resolved_calendar import ResolvedCalendar, calendar_names, read_entries
from foliot.core.time.zone import zone_info
from foliot.db.database import Database, Transaction
from foliot.engine.model.restrictions import CalendarBook, too_large
from foliot.engine.model.schedule import ScheduleSpec, ScheduleStatus
from foliot.engine.sql.schedule_rows import ScheduleTurn, StoredSchedule
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.calendars.sql import SqlCalendars, SqlCalendarUses
from foliot.features.schedules.model.document import edited
from foliot.features.schedules.usecases.change import hold, hold_settled, turned

MOST_TURNED = 1000
"""Schedules that the transaction of a calendar's change turns; an actor turns the others."""
log = structlog.get_logger("foliot.calendars")
FIELDS = ("exclude", "only")
OVER = frozenset({ScheduleStatus.DELETED, ScheduleStatus.COMPLETED})


def named_calendars(raws: Iterable[object]) -> set[str]:
    """The calendars that requests name; nothing where one is invalid, which is reported when it is read."""
    found: set[str] = set()
    for raw in raws:
        for name in FIELDS:
            entries = raw.get(name) if isinstance(raw, Mapping) else None
            if not entries:
                continue
            try:
                found.update(calendar_names(read_entries(name, entries)))
            except Invalid:
                continue
    return found


async def calendars_in(tx: Transaction, tenant_id: str, *raws: object) -> CalendarBook:
    """The calendars that requests name; no statement where they name none."""
    names = named_calendars(raws)
    return await SqlCalendars(tx).book(tenant_id, names) if names else CalendarBook()


async def calendars_of(store: Database, tenant_id: str, *raws: object) -> CalendarBook:
    """The same in a transaction of its own."""
    if not named_calendars(raws):
        return CalendarBook()
    async with store.read(tenant_id) as tx:
        return await calendars_in(tx, tenant_id, *raws)


def with_calendar(spec: ScheduleSpec, calendar: ResolvedCalendar, now: datetime) -> ScheduleSpec:
    """The spec with this revision of a calendar that it names.

    Where instants are moved to business days, the days that decided about past ones stay as they were: otherwise one
    that has run would run again, and one would be lost.
    """
    before = spec.trigger.shift
    became = replace(spec, calendars={**spec.calendars, calendar.name: calendar}).restricted()
    if before is None or became.trigger.shift is None:
        return became
    today = now.astimezone(zone_info(before.zone)).date()
    first = before.kept_until(became.trigger.shift, today) + timedelta(days=1)
    mixed = calendar.from_day(first, spec.calendars[calendar.name])
    return replace(spec, calendars={**spec.calendars, calendar.name: mixed}).restricted()


@dataclass(frozen=True, slots=True)
class CalendarTurns:
    """Gives schedules that hold an older revision of a calendar a new version."""

    async def turn(self, ctx: CommandContext, calendar: ResolvedCalendar, *, refuse: bool = True) -> int:
        """As part of the caller's transaction: at most `MOST_TURNED`, in order of their ids."""
        ids = await SqlCalendarUses(ctx.tx).outdated(calendar, MOST_TURNED)
        if not ids:
            return 0
        sql = SqlSchedules(ctx.tx)
        stored = await sql.stored(ctx.tenant_id, ids, skip_locked=False)
        turns = [
            one for was in stored.values() if (one := await self._turn(ctx, was, calendar, refuse=refuse)) is not None
        ]
        if turns:
            await sql.turn(turns, *ctx.take_audit())
        left = set(ids) - {one.became.id for one in turns}
        if left:
            await SqlCalendarUses(ctx.tx).settle(calendar, left)
        return len(ids)

    async def _turn(
        self, ctx: CommandContext, was: StoredSchedule, calendar: ResolvedCalendar, *, refuse: bool
    ) -> ScheduleTurn | None:
        """None for one that is deleted or completed, cannot be read, or no longer names it.

        Where the days do not fit it, this is refused, or the schedule stays as it is.
        """
        schedule = was.schedule
        if schedule.status in OVER or schedule.fault is not None:
            return None
        held = hold_settled(schedule, ctx.now)
        if held is None:
            held = await hold(ctx, schedule, ctx.now)
            was = (await SqlSchedules(ctx.tx).stored(ctx.tenant_id, [schedule.id], skip_locked=False))[schedule.id]
        spec = held.schedule.spec
        if held.broken or held.schedule.status in OVER or calendar.name not in spec.calendars:
            return None
        spec = with_calendar(spec, calendar, held.now)
        if oversize := too_large(spec.calendars):
            if refuse:
                raise Invalid("name", f"would give the schedule {schedule.name!r} {oversize}", got=calendar.name)
            log.warning("a schedule keeps old days", action="calendar_faulty", id=schedule.id, why=oversize)
            return None
        became = turned(replace(held.schedule, spec=spec), held.now)
        change = edited("calendar", was.schedule, became)
        why = {"calendar": f"{calendar.name}, revision {calendar.revision}"}
        ctx.audit(replace(change, became={**(change.became or {}), **why}), at=held.now)
        return ScheduleTurn(was, became)
