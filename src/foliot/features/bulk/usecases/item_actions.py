"""Acts on one thing of many, as asking for that one would: the same rules, the same trail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Door, Role
from foliot.core.limits import Limits
from foliot.db.transaction import Transaction
from foliot.engine.model.schedule import Status
from foliot.features.backfills.usecases import Backfills
from foliot.features.bulk.item_action import Done
from foliot.features.bulk.model.bulk import Act, Bulk
from foliot.features.dead_letters.usecases.dead_letters import DeadLetters, discard
from foliot.features.runs.usecases.runs import Runs, cancel_run
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule
from foliot.wakeups.feed import PARKED_TOPIC, RUNS_TOPIC, SCHEDULES_TOPIC, run_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkHands:
    """Whoever asked was allowed to when they asked; from then on it is theirs."""

    runs: Runs
    dead_letters: DeadLetters
    schedules: Schedules
    backfills: Backfills
    limiter: Limiter

    async def take(self, bulk: Bulk) -> BulkErrand:
        caller = Caller(bulk.tenant_id, bulk.user_id, Role.OPERATOR, Door(bulk.door), key_id=bulk.key_id)
        return BulkErrand(self, bulk, caller, await self.limiter.of(bulk.tenant_id))


@dataclass(frozen=True, slots=True)
class BulkErrand:
    """One bulk action under way."""

    hands: BulkHands
    bulk: Bulk
    caller: Caller
    limits: Limits

    async def do(self, tx: Transaction, thing_id: str, now: datetime) -> Done:
        match self.bulk.act:
            case Act.CANCEL:
                await cancel_run(tx, self.caller, thing_id, now)
                return Done(topics=(RUNS_TOPIC, PARKED_TOPIC, run_topic(thing_id)))
            case Act.RETRY:
                run = await self.hands.runs.retry_run(tx, self.caller, thing_id, self.limits, now)
                return Done(run.id, (RUNS_TOPIC,))
            case Act.REPLAY:
                (run,) = await self.hands.dead_letters.send(
                    tx, self.caller, [thing_id], (self.limits, self.bulk.terms), now
                )
                return Done(run.id, (RUNS_TOPIC,))
            case Act.DISCARD:
                await discard(tx, self.caller, thing_id, now)
                return Done(topics=(RUNS_TOPIC, run_topic(thing_id)))
            case Act.BACKFILL:
                run_id = await self.hands.backfills.fill(tx, self.caller, self.bulk, thing_id, self.limits)
                return Done(run_id, (RUNS_TOPIC,))
            case Act.PAUSE | Act.RESUME | Act.RUN | Act.TAG | Act.DELETE:
                return Done(*await self._schedule(tx, thing_id))

    async def _schedule(self, tx: Transaction, schedule_id: str) -> tuple[str | None, Sequence[str]]:
        schedules = self.hands.schedules
        match self.bulk.act:
            case Act.PAUSE:
                await schedules.pause_one(tx, self.caller, schedule_id, f"paused with others by {self.bulk.id}")
            case Act.RESUME:
                await schedules.resume_one(tx, self.caller, schedule_id, self.limits)
            case Act.RUN:
                run = await schedules.run_one(tx, self.caller, schedule_id, self.limits)
                return run.id, (RUNS_TOPIC,)
            case Act.TAG:
                details = self.bulk.details or {}
                add, remove = details.get("add_tags", ()), details.get("remove_tags", ())
                await schedules.tag_one(tx, self.caller, schedule_id, add, remove)
            case _:
                schedule = await find_schedule(tx, self.caller, schedule_id, lock=True)
                if schedule.status is not Status.DELETED:
                    await schedules.remove(tx, self.caller, schedule)
        return None, (SCHEDULES_TOPIC, RUNS_TOPIC)
