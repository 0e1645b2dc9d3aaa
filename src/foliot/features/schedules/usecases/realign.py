"""Realigns schedules that a wrong clock moved ahead: one, or all of a tenant's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.errors import Conflict
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.usecases.change import SKEW, hold, is_ahead
from foliot.features.schedules.usecases.schedules import find_schedule
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed

MOST = 200
"""Schedules per request; if there are more, the request is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realignment:
    """Sets the cursor back to the first instant after now. What was fired too early is not fired twice."""

    store: Database
    clock: Clock
    feed: Feed

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def one(self, ctx: CommandContext, schedule_id: str, once: IdempotentRequest = EACH_TIME) -> Schedule:
        """Does nothing to a schedule that is not ahead. A damaged one is repaired by a resume instead."""
        tx = await ctx.begin()
        schedule = await find_schedule(tx, ctx.caller, schedule_id, lock=True)
        if schedule.status not in {ScheduleStatus.ACTIVE, ScheduleStatus.PAUSED}:
            raise Conflict(f"schedule {schedule_id} is {schedule.status.value}: it has no next instant to move back")
        if schedule.fault is not None:
            raise Conflict(f"schedule {schedule_id} is damaged ({schedule.fault}): resume or replace it first")
        if is_ahead(schedule, self.clock.now()):
            schedule = (await hold(ctx, schedule, self.clock.now())).schedule
        ctx.wake(SCHEDULES_TOPIC)
        return schedule

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def all(self, ctx: CommandContext, once: IdempotentRequest = EACH_TIME) -> Sequence[Schedule]:
        """All of the tenant's schedules that are ahead, at most `MOST`."""
        realigned = []
        tx = await ctx.begin()
        for _, schedule_id, _ in await SqlSchedules(tx).ahead(ctx.now + SKEW, MOST, ctx.tenant_id):
            schedule = await find_schedule(tx, ctx.caller, schedule_id, lock=True)
            if is_ahead(schedule, ctx.now):
                realigned.append((await hold(ctx, schedule, ctx.now)).schedule)
        ctx.wake(SCHEDULES_TOPIC)
        return realigned
