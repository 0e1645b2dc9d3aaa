"""Use cases of calendars: create, change, preview and delete them, and keep them and their schedules up to date."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, Protocol

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Thing, Verb
from foliot.core.errors import Conflict, Invalid, NotFound, TooMany
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.core.time.resolved_calendar import ResolvedCalendar
from foliot.db.database import Database, Transaction
from foliot.features.calendars.model.calendar import (
    CALENDAR,
    MOST_CALENDARS,
    REFRESHED,
    YEARS_LEFT,
    CalendarSettings,
    StoredCalendar,
    covered,
    differs,
    resolve,
)
from foliot.features.calendars.sql import SqlCalendars, SqlCalendarUses
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed

_DAY = timedelta(days=1)


class TurnSchedules(Protocol):
    """Gives schedules that hold an older revision a new version, as part of the transaction; returns how many."""

    async def __call__(self, ctx: CommandContext, calendar: ResolvedCalendar, *, refuse: bool = True) -> int:
        """Where the days do not fit a schedule: `Invalid`, or else the schedule stays as it is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCalendars:
    """A calendar is resolved to dates when it is written; each change is a new revision of it.

    A version of a schedule holds the dates of the revision that it was made with. A change of the calendar therefore
    gives its schedules new versions, and what was decided before stays provable.
    """

    store: Database
    clock: Clock
    feed: Feed
    new_id: Callable[[str], str]
    turn: TurnSchedules
    default_zone: str = "UTC"

    @command(Verb.WRITE, Thing.CALENDAR)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> StoredCalendar:
        settings = CalendarSettings.of(raw)
        made = await self.drafted(ctx.caller, settings)
        await ctx.begin()
        return await self.add(ctx, made)

    async def add(self, ctx: CommandContext, made: StoredCalendar) -> StoredCalendar:
        """Write a new one as part of the caller's transaction."""
        if await SqlCalendars(ctx.tx).count(ctx.tenant_id) >= MOST_CALENDARS:
            raise TooMany(f"a tenant has at most {MOST_CALENDARS} calendars")
        await _refuse_taken(ctx.tx, ctx.tenant_id, made.settings.name)
        await SqlCalendars(ctx.tx).add(made)
        ctx.audit(AuditedChange("create", Thing.CALENDAR, made.id, became=made.audited()))
        return made

    @query(Verb.READ, Thing.CALENDAR)
    async def list(self, ctx: QueryContext) -> Sequence[StoredCalendar]:
        """In order of name."""
        async with ctx.read() as tx:
            return await SqlCalendars(tx).of_tenant(ctx.tenant_id)

    @query(Verb.READ, Thing.CALENDAR)
    async def get(self, ctx: QueryContext, calendar_id: str) -> StoredCalendar:
        async with ctx.read() as tx:
            return await _find(tx, ctx.tenant_id, calendar_id)

    @command(Verb.READ, Thing.CALENDAR)
    async def preview(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> StoredCalendar:
        """The days that a request stands for; nothing is stored."""
        made = await self.drafted(ctx.caller, CalendarSettings.of(raw))
        if once.key is not None:
            await ctx.begin()
        return made

    @command(Verb.WRITE, Thing.CALENDAR)
    async def replace(self, ctx: CommandContext, calendar_id: str, raw: object) -> StoredCalendar:
        """Its schedules get the new days from now on; one that is in use keeps its name."""
        settings = CalendarSettings.of(raw)
        found = await self._resolve(settings, (calendar_id, 1))
        tx = await ctx.begin()
        known = await _find(tx, ctx.tenant_id, calendar_id, lock=True)
        return await self.change(ctx, known, settings, found)

    async def change(
        self,
        ctx: CommandContext,
        known: StoredCalendar,
        settings: CalendarSettings,
        found: ResolvedCalendar,
        *,
        refuse: bool = True,
    ) -> StoredCalendar:
        """Write a changed one, which is locked, as part of the caller's transaction."""
        if settings.name != known.settings.name:
            await self._refuse_used(ctx, known.id, known.settings.name, "keeps its name")
            await _refuse_taken(ctx.tx, ctx.tenant_id, settings.name)
        became = self._revised(known, settings, found)
        if became == known:
            return known
        await SqlCalendars(ctx.tx).change(became)
        ctx.audit(AuditedChange("replace", Thing.CALENDAR, known.id, known.audited(), became.audited()))
        await self.turn(ctx, became.resolved, refuse=refuse)
        ctx.wake(SCHEDULES_TOPIC)
        return became

    @command(Verb.WRITE, Thing.CALENDAR)
    async def delete(self, ctx: CommandContext, calendar_id: str) -> None:
        """One that schedules name is refused; one that cannot be read is not."""
        tx = await ctx.begin()
        try:
            known = await _find(tx, ctx.tenant_id, calendar_id, lock=True)
        except Invalid as damaged:
            name = await SqlCalendars(tx).name_of(ctx.tenant_id, calendar_id) or ""
            await self._remove(ctx, calendar_id, name, {"name": name, "damaged": str(damaged)})
        else:
            await self.remove(ctx, known)

    async def remove(self, ctx: CommandContext, known: StoredCalendar) -> None:
        """Delete one, which is locked, as part of the caller's transaction."""
        await self._remove(ctx, known.id, known.settings.name, known.audited())

    async def _remove(self, ctx: CommandContext, calendar_id: str, name: str, was: dict[str, Any]) -> None:
        await self._refuse_used(ctx, calendar_id, name, "cannot be deleted")
        await SqlCalendars(ctx.tx).delete(calendar_id)
        ctx.audit(AuditedChange("delete", Thing.CALENDAR, calendar_id, was))

    @command(Verb.WRITE, Thing.CALENDAR)
    async def refresh(self, ctx: CommandContext, calendar_id: str) -> bool:
        """Resolve it again if that is due: further ahead, and with the holidays that are known now."""
        async with ctx.read() as tx:
            seen = await SqlCalendars(tx).get(ctx.tenant_id, calendar_id)
        if seen is None or seen.refresh_at is None or seen.refresh_at > self.clock.now():
            return False
        found = await self._resolve(seen.settings, (calendar_id, seen.resolved.revision + 1))
        tx = await ctx.begin()
        known = await SqlCalendars(tx).get(ctx.tenant_id, calendar_id, lock=True)
        if known is None or known.updated_at != seen.updated_at:
            return False
        ends_soon = known.until < ctx.now + YEARS_LEFT * 366 * _DAY
        changed = differs(known.resolved, found, ctx.now.date(), known.until.date())
        if not changed and not ends_soon:
            await SqlCalendars(tx).postpone(calendar_id, ctx.now + REFRESHED)
            return False
        await self.change(ctx, known, known.settings, found, refuse=False)
        return True

    @command(Verb.WRITE, Thing.CALENDAR)
    async def update_schedules(self, ctx: CommandContext, calendar_id: str) -> int:
        """Give the next schedules that hold an older revision a new version."""
        tx = await ctx.begin()
        known = await _find(tx, ctx.tenant_id, calendar_id, lock=True)
        turned = await self.turn(ctx, known.resolved, refuse=False)
        ctx.wake(SCHEDULES_TOPIC)
        return turned

    async def drafted(self, caller: Caller, settings: CalendarSettings) -> StoredCalendar:
        """A new calendar that is not stored."""
        now, calendar_id = self.clock.now(), self.new_id(CALENDAR)
        return StoredCalendar(
            id=calendar_id,
            tenant_id=caller.tenant_id,
            settings=settings,
            resolved=await self._resolve(settings, (calendar_id, 1)),
            until=_until(now),
            refresh_at=now + REFRESHED if settings.moves else None,
            created_by=caller.user_id,
            created_at=now,
            updated_at=now,
        )

    async def _resolve(self, settings: CalendarSettings, known: tuple[str, int]) -> ResolvedCalendar:
        return await REQUESTS.run(resolve, settings, known, self.clock.now(), self.default_zone)

    def _revised(self, known: StoredCalendar, settings: CalendarSettings, found: ResolvedCalendar) -> StoredCalendar:
        now = self.clock.now()
        first, last = covered(now)
        until = max(known.until.date(), last)
        same = settings == known.settings and not differs(known.resolved, found, first, until)
        if same and known.until >= _until(now):
            return known
        return replace(
            known,
            settings=settings,
            resolved=replace(found, revision=known.resolved.revision + 1),
            until=_until(now),
            refresh_at=now + REFRESHED if settings.moves else None,
            updated_at=max(now, known.updated_at),
        )

    async def _refuse_used(self, ctx: CommandContext, calendar_id: str, name: str, what: str) -> None:
        names = await SqlCalendarUses(ctx.tx).names_of(ctx.tenant_id, calendar_id)
        if names:
            shown: builtins.list[str] = [repr(one) for one in names]
            raise Conflict(f"calendar {name!r} {what}: schedules use it, such as {', '.join(shown)}")


def _until(now: datetime) -> datetime:
    return datetime.combine(covered(now)[1] + _DAY, time(), UTC)


async def _find(tx: Transaction, tenant_id: str, calendar_id: str, *, lock: bool = False) -> StoredCalendar:
    """By id, or by name."""
    found = await SqlCalendars(tx).get(tenant_id, calendar_id, lock=lock)
    if found is None:
        raise NotFound("calendar", calendar_id)
    return found


async def _refuse_taken(tx: Transaction, tenant_id: str, name: str) -> None:
    if await SqlCalendars(tx).named(tenant_id, name) is not None:
        raise Conflict(f"a calendar named {name!r} already exists")
