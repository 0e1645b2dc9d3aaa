"""Acts on one thing of many, as asking for that one would: the same rules, the same trail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from foliot.commands.envelope import CommandContext
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Door, Role
from foliot.engine.model.schedule import Status
from foliot.features.bulk.model.bulk import Act, Bulk
from foliot.features.dead_letters.usecases.dead_letters import DeadLetters, discard
from foliot.features.runs.usecases.runs import Runs, cancel_run
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkHands:
    """Whoever asked was allowed to when they asked; from then on it is theirs."""

    runs: Runs
    dead_letters: DeadLetters
    schedules: Schedules
    fill: Callable[[CommandContext, Bulk, str], Awaitable[str | None]]
    """Backfills one instant."""
    limiter: Limiter

    def take(self, bulk: Bulk) -> BulkErrand:
        caller = Caller(bulk.tenant_id, bulk.user_id, Role.OPERATOR, Door(bulk.door), key_id=bulk.key_id)
        return BulkErrand(self, bulk, caller)


@dataclass(frozen=True, slots=True)
class BulkErrand:
    """One bulk action under way."""

    hands: BulkHands
    bulk: Bulk
    caller: Caller

    @property
    def limiter(self) -> Limiter:
        return self.hands.limiter

    async def do(self, ctx: CommandContext, thing_id: str) -> str | None:
        match self.bulk.act:
            case Act.CANCEL:
                await cancel_run(ctx, thing_id)
                return None
            case Act.RETRY:
                return (await self.hands.runs.retry_run(ctx, thing_id)).id
            case Act.REPLAY:
                (run,) = await self.hands.dead_letters.send(ctx, [thing_id], self.bulk.terms)
                return run.id
            case Act.DISCARD:
                await discard(ctx, thing_id)
                return None
            case Act.BACKFILL:
                return await self.hands.fill(ctx, self.bulk, thing_id)
            case Act.PAUSE | Act.RESUME | Act.RUN | Act.TAG | Act.DELETE:
                return await self._schedule(ctx, thing_id)

    async def _schedule(self, ctx: CommandContext, schedule_id: str) -> str | None:
        schedules = self.hands.schedules
        match self.bulk.act:
            case Act.PAUSE:
                await schedules.pause_one(ctx, schedule_id, f"paused with others by {self.bulk.id}")
            case Act.RESUME:
                await schedules.resume_one(ctx, schedule_id)
            case Act.RUN:
                return (await schedules.run_one(ctx, schedule_id)).id
            case Act.TAG:
                details = self.bulk.details or {}
                await schedules.tag_one(ctx, schedule_id, details.get("add_tags", ()), details.get("remove_tags", ()))
            case _:
                schedule = await find_schedule(ctx.tx, self.caller, schedule_id, lock=True)
                if schedule.status is not Status.DELETED:
                    await schedules.remove(ctx, schedule)
        return None
