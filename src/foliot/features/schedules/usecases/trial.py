"""Tries a schedule that is not saved: one run of its action, now."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Thing, Verb
from foliot.core.ids import RUN, SCHEDULE
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.run import MANUAL_QUEUE, Origin
from foliot.engine.model.views import RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.schedules.usecases.calendars import calendars_in
from foliot.features.schedules.usecases.check_target import copied
from foliot.features.schedules.usecases.create import ScheduleOwner
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.wakeups.feed import RUNS_TOPIC, Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Runs the action of a schedule's document once, without the schedule."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    schedules: Schedules

    # Choosing where a run goes and what it carries means choosing where secrets go: that takes the right to write.
    @command(Verb.RUN, Thing.SCHEDULE, (Verb.WRITE, Thing.SCHEDULE))
    async def trial(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> RunView:
        """Attempted once, never a dead letter, and no schedule is stored."""
        tx = await ctx.begin(self.limiter)
        document = await copied(tx, ctx.caller, raw)
        owner = ScheduleOwner(self.schedules.new_id(SCHEDULE), ctx.caller.user_id)
        calendars = await calendars_in(tx, ctx.tenant_id, document)
        schedule = self.schedules.creation.draft(ctx.caller, document, owner, calendars=calendars).schedule
        run = RunRequest(
            id=self.schedules.new_id(RUN),
            tenant_id=ctx.tenant_id,
            user_id=ctx.caller.user_id,
            kind=schedule.spec.kind,
            origin=Origin.MANUAL,
            queue=MANUAL_QUEUE,
            priority=schedule.spec.priority,
            max_attempts=1,
            timeout_seconds=schedule.spec.timeout_seconds,
            action=dict(schedule.action),
        )
        await SqlRuns(tx).add([run], ctx.now)
        ctx.audit(AuditedChange("trial", Thing.RUN, run.id, became={"run_id": run.id, "name": schedule.name}))
        view = run.made(ctx.now)
        await self.limiter.stored(tx, ctx.caller, ctx.limits)
        self.limiter.run(ctx.caller, ctx.limits)
        ctx.wake(RUNS_TOPIC)
        return view
