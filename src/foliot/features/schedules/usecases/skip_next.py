"""Skips the next instant of a schedule, once; the ledger entry names the user who asked for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.declaration import read
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.request import SkipRequest
from foliot.features.schedules.usecases.change import LockedSchedule, hold
from foliot.features.schedules.usecases.schedules import find_schedule
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Skips:
    """The row lock decides between a skip and the ticker: either the instant is skipped, or it has passed."""

    store: Database
    clock: Clock
    feed: Feed

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def skip_next(
        self, ctx: CommandContext, schedule_id: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> Schedule:
        """The next instant makes no run. If `at` is another instant, it is refused. Idempotent."""
        wanted = _at(raw)
        await ctx.begin()
        held = await self._hold(ctx, schedule_id)
        schedule = _active(held)
        following = replace(schedule, skip_at=None).next_run_at
        at = following if wanted is None else wanted
        if at is None or at not in {following, schedule.skip_at}:
            refused = f"{_text(at)} is not the next instant of schedule {schedule_id}"
            raise Conflict(f"{refused}: {_text(following)} is")
        if schedule.skip_at is None:
            schedule = await self._turn(ctx, held, at)
        elif at != schedule.skip_at:
            refused = f"{_text(schedule.skip_at)} is already set to be skipped, and only one can be"
            raise Conflict(f"{refused}: undo that before you skip {_text(at)}")
        return schedule

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def undo(self, ctx: CommandContext, schedule_id: str) -> Schedule:
        """The instant fires after all, unless it has passed."""
        await ctx.begin()
        held = await self._hold(ctx, schedule_id)
        skip = held.schedule.skip_at
        if skip is None or skip <= held.now:
            raise Conflict(f"no instant of schedule {schedule_id} is set to be skipped; an earlier one may have passed")
        return await self._turn(ctx, held, None)

    async def _hold(self, ctx: CommandContext, schedule_id: str) -> LockedSchedule:
        schedule = await find_schedule(ctx.tx, ctx.caller, schedule_id, lock=True)
        if schedule.status is ScheduleStatus.DELETED:
            raise Conflict(f"schedule {schedule_id} is deleted")
        if schedule.fault is not None:
            raise Conflict(f"schedule {schedule_id} is damaged ({schedule.fault}): resume or replace it first")
        ctx.wake(SCHEDULES_TOPIC)
        return await hold(ctx, schedule, self.clock.now())

    async def _turn(self, ctx: CommandContext, held: LockedSchedule, at: datetime | None) -> Schedule:
        """Creates no new version: the schedule's document is unchanged."""
        by = None if at is None else ctx.caller.user_id
        schedule = replace(held.schedule, skip_at=at, skip_by=by, updated_at=held.now)
        await SqlSchedules(ctx.tx).save(schedule)
        verb = "unskip" if at is None else "skip"
        was, became = {"skips": rfc3339(held.schedule.skip_at)}, {"skips": rfc3339(at)}
        ctx.audit(AuditedChange(verb, Thing.SCHEDULE, schedule.id, was, became), at=held.now)
        return schedule


def _active(held: LockedSchedule) -> Schedule:
    schedule = held.schedule
    if schedule.status is not ScheduleStatus.ACTIVE or schedule.next_at is None:
        raise Conflict(f"schedule {schedule.id} is {schedule.status.value}: it has no next instant to skip")
    return schedule


def _at(raw: object) -> datetime | None:
    return read(SkipRequest, raw).at


def _text(moment: datetime | None) -> str:
    return rfc3339(moment) or "none"
