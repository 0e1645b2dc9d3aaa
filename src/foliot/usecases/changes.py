"""Changes a schedule under its row lock: first the old rules settle what is due, then the new ones begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from foliot.domain.errors import Conflict
from foliot.domain.schedule import Schedule, Spec, Status
from foliot.domain.settle import settle
from foliot.ports import Transaction

DAMAGED = "damaged"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_ENDLESS = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Held:
    """A locked schedule with every instant up to `now` settled."""

    schedule: Schedule
    now: datetime
    broken: bool = False
    """Nothing readable is left of its spec: it can only be replaced or deleted."""

    def sound(self) -> Schedule:
        if self.broken:
            raise Conflict(
                f"schedule {self.schedule.id} is damaged ({self.schedule.fault}): replace it whole, with PUT"
            )
        return self.schedule


async def hold(tx: Transaction, schedule: Schedule, now: datetime) -> Held:
    """Settle what is due by the rules that hold until now. `schedule` is locked by whoever calls."""
    now = max(now, schedule.updated_at)
    if schedule.fault is not None:
        return await _mend(tx, schedule, now)
    due = await tx.firing.lock_one(schedule.id)
    if due is None:
        return Held(schedule, now)
    # A node whose clock runs ahead may have settled instants that lie in our future: they belong to the old rules too.
    ahead = schedule.spec.trigger.newest(now, due.next_at, 1)
    now = max([now, *ahead])
    if due.next_at > now:
        return Held(schedule, now)
    open_runs = await tx.firing.open_runs([schedule.id])
    await tx.firing.record([settle(due, now, open_runs.get(schedule.id, ()))], now)
    settled = await tx.schedules.get(schedule.tenant_id, schedule.id)
    return Held(settled or schedule, now)


async def turn(tx: Transaction, schedule: Schedule, now: datetime) -> Schedule:
    """Let the schedule, as it is given, hold from now on, as a new version with a span of its own."""
    spec, cursor, status = schedule.spec, None, schedule.status
    if status in {Status.ACTIVE, Status.COMPLETED}:
        exhausted = spec.max_runs is not None and schedule.fired >= spec.max_runs
        cursor = None if exhausted else spec.trigger.next_after(now)
        status = Status.COMPLETED if cursor is None else Status.ACTIVE
    turned = replace(
        still_skipping(schedule, now),
        version=schedule.version + 1,
        status=status,
        next_at=cursor,
        updated_at=now,
        fault=None,
    )
    await tx.schedules.save(turned, new_version=True)
    match status:
        case Status.ACTIVE:
            await tx.schedules.turn_span(turned, now, active=True)
        case Status.PAUSED:
            await tx.schedules.turn_span(turned, now, active=False, reason=turned.paused_reason)
        case Status.COMPLETED | Status.DELETED:
            await tx.schedules.end_span(turned.id, now)
    return turned


def still_skipping(schedule: Schedule, now: datetime) -> Schedule:
    """What is to be skipped stays so while it lies ahead and the trigger names it; a pause does not end it."""
    skip = schedule.skip_at
    if skip is None or (skip > now and schedule.status is not Status.DELETED and schedule.spec.trigger.names(skip)):
        return schedule
    return replace(schedule, skip_at=None, skip_by=None)


async def _mend(tx: Transaction, schedule: Schedule, now: datetime) -> Held:
    """A damaged schedule was silent: what it did not settle becomes a span of its own that says so."""
    spec = (await tx.schedules.specs(schedule.id)).get(schedule.version)
    spans = await tx.schedules.spans(schedule.id)
    if schedule.status is Status.ACTIVE and spans and spans[-1].end is None:
        entries = await tx.schedules.ledger(schedule.id, spans[-1].start, _ENDLESS)
        fired = await tx.runs.last_instant(schedule.id)
        settled = max([spans[-1].start, fired or _NEVER, *(entry.last for _, entry in entries)])
        await tx.schedules.turn_span(schedule, settled, active=False, reason=DAMAGED)
        now = max(now, settled)
    if isinstance(spec, Spec):
        return Held(replace(schedule, spec=spec), now)
    return Held(schedule, now, broken=True)
