"""Lets a schedule pass over its next instant, once; whoever settles that instant writes down who wanted it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from foliot.commands.idempotency import EACH_TIME, Once
from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.document import Fields, rfc3339
from foliot.core.errors import Conflict
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.schedule import Schedule, Status
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.audit_log.usecases import Change, record
from foliot.features.schedules.usecases.change import Held, hold
from foliot.features.schedules.usecases.schedules import find_schedule
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipping:
    """The row lock decides between whoever asks and whoever fires: an instant is skipped, or it has passed."""

    store: Database
    clock: Clock
    feed: Feed

    @again
    async def skip_next(self, caller: Caller, schedule_id: str, raw: object = None, once: Once = EACH_TIME) -> Schedule:
        """The next instant makes no run. `at` is the one the caller means: any other is refused. Twice is once."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        wanted = _at(raw)
        async with self.store.begin(caller.tenant_id) as tx:
            await once.begin(tx, caller, self.clock.now())
            held = await self._hold(tx, caller, schedule_id)
            schedule = _active(held)
            at = schedule.next_at if wanted is None else wanted
            if at not in {schedule.next_at, schedule.skip_at}:
                told = f"{_told(at)} is not the next instant of schedule {schedule_id}"
                raise Conflict(f"{told}: {_told(schedule.next_at)} is")
            if schedule.skip_at is None:
                schedule = await self._turn(tx, caller, held, at)
            elif at != schedule.skip_at:
                told = f"{_told(schedule.skip_at)} is to be skipped already, and one at a time can be"
                raise Conflict(f"{told}: undo that before you skip {_told(at)}")
            await once.keep(tx, caller, schedule)
        self.feed.wake(SCHEDULES_TOPIC)
        return schedule

    @again
    async def undo(self, caller: Caller, schedule_id: str) -> Schedule:
        """What was to be skipped fires after all, unless it has passed."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        async with self.store.begin(caller.tenant_id) as tx:
            held = await self._hold(tx, caller, schedule_id)
            skip = held.schedule.skip_at
            if skip is None or skip <= held.now:
                raise Conflict(f"no instant of schedule {schedule_id} is to be skipped: one that was has passed")
            schedule = await self._turn(tx, caller, held, None)
        self.feed.wake(SCHEDULES_TOPIC)
        return schedule

    async def _hold(self, tx: Transaction, caller: Caller, schedule_id: str) -> Held:
        schedule = await find_schedule(tx, caller, schedule_id, lock=True)
        if schedule.status is Status.DELETED:
            raise Conflict(f"schedule {schedule_id} is deleted")
        if schedule.fault is not None:
            raise Conflict(f"schedule {schedule_id} is damaged ({schedule.fault}): resume or replace it first")
        return await hold(tx, caller, schedule, self.clock.now())

    async def _turn(self, tx: Transaction, caller: Caller, held: Held, at: datetime | None) -> Schedule:
        """No new version: what the schedule says is as it was."""
        by = None if at is None else caller.user_id
        schedule = replace(held.schedule, skip_at=at, skip_by=by, updated_at=held.now)
        await SqlSchedules(tx).save(schedule, new_version=False)
        verb = "unskip" if at is None else "skip"
        was, became = {"skips": rfc3339(held.schedule.skip_at)}, {"skips": rfc3339(at)}
        await record(tx, caller, held.now, Change(verb, Thing.SCHEDULE, schedule.id, was, became))
        return schedule


def _active(held: Held) -> Schedule:
    schedule = held.schedule
    if schedule.status is not Status.ACTIVE or schedule.next_at is None:
        raise Conflict(f"schedule {schedule.id} is {schedule.status.value}: it has no next instant to skip")
    return schedule


def _at(raw: object) -> datetime | None:
    fields = Fields.of("", raw)
    at = fields.moment("at")
    fields.finish()
    return at


def _told(moment: datetime | None) -> str:
    return rfc3339(moment) or "none"
