"""Performs a bulk operation on one item: the same rules and audit entries as a single request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from foliot.commands.envelope import CommandContext
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Interface, Role
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.bulk.model import Bulk, BulkOperation
from foliot.features.dead_letters.usecases.dead_letters import DeadLetters, discard
from foliot.features.runs.usecases.runs import Runs, cancel_run
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkItemActions:
    """Acts in the name of the user who created the bulk action, whose permission was checked then."""

    runs: Runs
    dead_letters: DeadLetters
    schedules: Schedules
    fill: Callable[[CommandContext, Bulk, str], Awaitable[str | None]]
    """Backfills one instant."""
    limiter: Limiter

    def take(self, bulk: Bulk) -> BulkItemAction:
        caller = Caller(bulk.tenant_id, bulk.user_id, Role.OPERATOR, Interface(bulk.door), key_id=bulk.key_id)
        return BulkItemAction(self, bulk, caller)


@dataclass(frozen=True, slots=True)
class BulkItemAction:
    """The operation of one bulk action."""

    actions: BulkItemActions
    bulk: Bulk
    caller: Caller

    @property
    def limiter(self) -> Limiter:
        return self.actions.limiter

    async def do(self, ctx: CommandContext, thing_id: str) -> str | None:
        match self.bulk.act:
            case BulkOperation.CANCEL:
                await cancel_run(ctx, thing_id)
                return None
            case BulkOperation.RETRY:
                return (await self.actions.runs.retry_run(ctx, thing_id)).id
            case BulkOperation.REPLAY:
                (run,) = await self.actions.dead_letters.send(ctx, [thing_id], self.bulk.terms)
                return run.id
            case BulkOperation.DISCARD:
                await discard(ctx, thing_id)
                return None
            case BulkOperation.BACKFILL:
                return await self.actions.fill(ctx, self.bulk, thing_id)
            case (
                BulkOperation.PAUSE
                | BulkOperation.RESUME
                | BulkOperation.RUN
                | BulkOperation.TAG
                | BulkOperation.DELETE
            ):
                return await self._schedule(ctx, thing_id)

    async def _schedule(self, ctx: CommandContext, schedule_id: str) -> str | None:
        schedules = self.actions.schedules
        match self.bulk.act:
            case BulkOperation.PAUSE:
                await schedules.pause_one(ctx, schedule_id, f"paused with others by {self.bulk.id}")
            case BulkOperation.RESUME:
                await schedules.resume_one(ctx, schedule_id)
            case BulkOperation.RUN:
                return (await schedules.run_one(ctx, schedule_id)).id
            case BulkOperation.TAG:
                details = self.bulk.details or {}
                await schedules.tag_one(ctx, schedule_id, details.get("add_tags", ()), details.get("remove_tags", ()))
            case _:
                schedule = await find_schedule(ctx.tx, self.caller, schedule_id, lock=True)
                if schedule.status is not ScheduleStatus.DELETED:
                    await schedules.remove(ctx, schedule)
        return None
