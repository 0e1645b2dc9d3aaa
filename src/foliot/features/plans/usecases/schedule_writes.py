"""Writes the schedules of a plan: creates, changes and deletes, set by set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from foliot.commands.envelope import CommandContext
from foliot.core.errors import Conflict
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql import tenant_limits
from foliot.engine.sql.schedule_rows import ScheduleTurn
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.plans.model.difference import PlanAct
from foliot.features.plans.sql import SqlAppliedDocuments
from foliot.features.plans.usecases.schedules import THING, PlannedSchedule
from foliot.features.schedules.model.document import edited
from foliot.features.schedules.usecases.change import hold, hold_settled, turned
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import SCHEDULES_TOPIC


@dataclass(frozen=True, slots=True)
class ScheduleWrites:
    """Writes planned schedules as part of the caller's transaction, which has read the tenant's limits."""

    schedules: Schedules
    now: datetime

    async def write(self, ctx: CommandContext, part: Sequence[PlannedSchedule]) -> None:
        """`Conflict` when one of them was changed since it was planned."""
        await self._create(ctx, [one for one in part if one.change.act is PlanAct.CREATE])
        await self._change(ctx, [one for one in part if one.change.act is PlanAct.CHANGE])
        await self._delete(ctx, [one for one in part if one.change.act is PlanAct.DELETE])
        await SqlAppliedDocuments(ctx.tx).put(ctx.tenant_id, [one.row for one in part if one.row is not None])
        if any(one.change.act is PlanAct.CREATE for one in part):
            await self.schedules.limiter.schedule(ctx.tx, ctx.caller, ctx.limits)
        await self.schedules.limiter.stored(ctx.tx, ctx.caller, ctx.limits)
        ctx.wake(SCHEDULES_TOPIC)

    async def _create(self, ctx: CommandContext, created: Sequence[PlannedSchedule]) -> None:
        unsaved = [one.unsaved for one in created if one.unsaved is not None]
        if not unsaved:
            return
        ctx.audit(*(change for one in unsaved for change in one.changes))
        size = await SqlSchedules(ctx.tx).add_sealed([one.schedule for one in unsaved], *ctx.take_audit())
        await tenant_limits.add(ctx.tx.conn, ctx.tx.dialect, ctx.tenant_id, size)

    async def _change(self, ctx: CommandContext, changed: Sequence[PlannedSchedule]) -> None:
        if not changed:
            return
        sql = SqlSchedules(ctx.tx)
        ids = [one.change.id for one in changed if one.change.id is not None]
        stored = await sql.stored(ctx.tenant_id, ids, skip_locked=False)
        turns = []
        for one in changed:
            was = stored.get(one.change.id or "")
            if was is None or was.schedule.version != one.change.version or one.wanted is None:
                raise moved(one.change.name)
            held = hold_settled(was.schedule, self.now)
            if held is None:
                held = await hold(ctx, was.schedule, self.now)
                was = (await sql.stored(ctx.tenant_id, [was.schedule.id], skip_locked=False))[was.schedule.id]
            became = turned(_rewritten(held.schedule, one.wanted), held.now)
            turns.append(ScheduleTurn(was, became))
            ctx.audit(edited("apply", was.schedule, became), at=held.now)
        await sql.turn(turns, *ctx.take_audit())

    async def _delete(self, ctx: CommandContext, deleted: Sequence[PlannedSchedule]) -> None:
        for one in deleted:
            schedule = await SqlSchedules(ctx.tx).get(ctx.tenant_id, one.change.id or "", lock=True)
            if schedule is None or schedule.version != one.change.version:
                raise moved(one.change.name)
            await self.schedules.remove(ctx, schedule)
        await SqlAppliedDocuments(ctx.tx).drop(ctx.tenant_id, THING, [one.change.name for one in deleted])


def moved(name: str) -> Conflict:
    """The refusal of a plan that no longer fits."""
    return Conflict(f"schedule {name!r} was changed since the plan was made: plan again")


def _rewritten(schedule: Schedule, wanted: Schedule) -> Schedule:
    return replace(
        schedule,
        name=wanted.name,
        description=wanted.description,
        tags=wanted.tags,
        spec=wanted.spec,
        action=wanted.action,
        managed_by=wanted.managed_by,
        status=schedule.status if wanted.status is schedule.status else _status(schedule, wanted),
        paused_reason=wanted.paused_reason,
        paused_at=wanted.paused_at,
        paused_by=wanted.paused_by,
    )


def _status(schedule: Schedule, wanted: Schedule) -> ScheduleStatus:
    """A pause or a resumption; a schedule that has completed meanwhile stays so unless its rule names a time again."""
    return schedule.status if schedule.status is ScheduleStatus.COMPLETED else wanted.status
