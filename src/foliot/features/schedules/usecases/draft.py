"""What creating a schedule would store."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.commands.envelope import CommandContext, command
from foliot.core.access import Thing, Verb
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule
from foliot.features.schedules.model.document import asleep
from foliot.features.schedules.usecases import parents
from foliot.features.schedules.usecases.calendars import calendars_in
from foliot.features.schedules.usecases.check_target import copied, objection
from foliot.features.schedules.usecases.create import ScheduleOwner
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDrafts:
    """Checks new schedules by the rules of creating them, and stores none."""

    schedules: Schedules

    @property
    def store(self) -> Database:
        return self.schedules.store

    @property
    def clock(self) -> Clock:
        return self.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.schedules.feed

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def draft(self, ctx: CommandContext, raw: object) -> Schedule:
        """The schedule, with an id that it would not have; `Invalid` where creating it is refused."""
        rest, reason = asleep(raw)
        objects = await objection(self.schedules.actions, ctx.caller, rest, self.schedules.check_for(ctx.caller))
        tx = await ctx.begin()
        owner = ScheduleOwner(self.schedules.new_id(SCHEDULE), ctx.caller.user_id)
        resolved = await parents.resolved(tx, ctx.tenant_id, await copied(tx, ctx.caller, rest), owner.schedule_id)
        calendars = await calendars_in(tx, ctx.tenant_id, resolved)
        draft = self.schedules.creation.draft(ctx.caller, resolved, owner, reason, calendars)
        if objects is not None:
            raise objects
        return draft.schedule
