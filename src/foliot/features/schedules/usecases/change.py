"""Changes a schedule under its row lock: first the old rules settle what is due, then the new ones begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext
from foliot.core.access import Caller, Interface, Thing
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, VersionMismatch
from foliot.db.database import Transaction
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.model.settle import settle
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedule_rows import ScheduleTurn
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import edited

DAMAGED = "damaged"
SKEW = timedelta(seconds=60)
"""Clocks of nodes may differ by this much; instants settled beyond it were settled by a clock that was ahead."""
_TICK = timedelta(microseconds=1)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_ENDLESS = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LockedSchedule:
    """A locked schedule with every instant up to `now` settled."""

    schedule: Schedule
    now: datetime
    broken: bool = False
    """Its spec cannot be read: it can only be replaced or deleted."""

    def sound(self) -> Schedule:
        if self.broken:
            raise Conflict(f"schedule {self.schedule.id} is damaged ({self.schedule.fault}): replace it with PUT")
        return self.schedule


async def hold(ctx: CommandContext, schedule: Schedule, now: datetime) -> LockedSchedule:
    """Settle what is due by the rules that hold until now. `schedule` is locked by the caller.

    A schedule that a wrong clock moved ahead is realigned first: no other change would bring it back.
    """
    tx = ctx.tx
    if is_ahead(schedule, now):
        schedule = await realign(ctx, schedule, now)
    now = max(now, schedule.updated_at)
    if schedule.fault is not None:
        return await _mend(tx, schedule, now)
    now = _settled_until(schedule, now)
    if schedule.next_at is None or schedule.next_at > now:
        return LockedSchedule(schedule, now)
    due = await SqlFiring(tx).lock_one(schedule.id)
    if due is None:
        return LockedSchedule(schedule, now)
    open_runs = await SqlFiring(tx).open_runs([schedule.id])
    await SqlFiring(tx).record([settle(due, now, open_runs.get(schedule.id, ()))], now)
    settled = await SqlSchedules(tx).get(schedule.tenant_id, schedule.id)
    return LockedSchedule(settled or schedule, now)


def hold_settled(schedule: Schedule, now: datetime) -> LockedSchedule | None:
    """The same without a statement; None for a schedule that is due, ahead, damaged, or completed.

    An edit may revive a completed one, which then counts against the tenant's limit.
    """
    if schedule.fault is not None or schedule.status is ScheduleStatus.COMPLETED or is_ahead(schedule, now):
        return None
    now = _settled_until(schedule, max(now, schedule.updated_at))
    due = schedule.next_at is not None and schedule.next_at <= now
    return None if due else LockedSchedule(schedule, now)


def _settled_until(schedule: Schedule, now: datetime) -> datetime:
    """A node whose clock runs ahead may have settled instants in our future: they belong to the old rules too."""
    if schedule.next_at is None:
        return now
    following = schedule.spec.trigger.next_after(now)
    if following is None or following >= schedule.next_at:
        return now
    return max([now, *schedule.spec.trigger.newest(now, schedule.next_at, 1)])


def is_ahead(schedule: Schedule, now: datetime) -> bool:
    """Whether it has settled, or was changed at, moments in the future: no correct clock does that."""
    if schedule.fault is not None or schedule.status not in {ScheduleStatus.ACTIVE, ScheduleStatus.PAUSED}:
        return False
    if schedule.updated_at > now + SKEW:
        return True
    following = None if schedule.next_at is None else schedule.spec.trigger.next_after(now + SKEW)
    return following is not None and schedule.next_at is not None and following < schedule.next_at


async def realign(ctx: CommandContext, schedule: Schedule, now: datetime) -> Schedule:
    """Set the cursor back to the first instant after now; an instant that has a run does not fire again."""
    specs = await SqlSchedules(ctx.tx).specs(schedule.id)
    cut, freed = [], 0
    for version, entry in await SqlSchedules(ctx.tx).ledger(schedule.id, now + _TICK, _ENDLESS):
        spec = specs.get(version)
        if entry.first > now or not isinstance(spec, ScheduleSpec):
            freed += entry.count
            continue
        (last,) = spec.trigger.newest(entry.first, now + _TICK, 1)
        stays = replace(entry, last=last, count=spec.trigger.count(entry.first, now + _TICK))
        cut.append(stays)
        freed += entry.count - stays.count
    cursor = schedule.spec.trigger.next_after(now) if schedule.status is ScheduleStatus.ACTIVE else None
    set_back = replace(schedule, next_at=cursor, updated_at=now)
    rewound = await SqlSchedules(ctx.tx).rewind(set_back, now, cut)
    was = {"next_run_at": rfc3339(schedule.next_at)}
    became = {"next_run_at": rfc3339(cursor), "fired_ahead": len(rewound.early), "freed": freed}
    ctx.audit(AuditedChange("realign", Thing.SCHEDULE, schedule.id, was, became), at=now)
    return replace(set_back, last_run_at=rewound.last_run_at)


async def turn(tx: Transaction, schedule: Schedule, now: datetime) -> Schedule:
    """Write the schedule, which is locked, as it is given: a new version with a new span, from now on."""
    became = turned(schedule, now)
    await write_turn(tx, became)
    return became


async def write_turn(tx: Transaction, became: Schedule) -> None:
    """Write the next version of a locked schedule."""
    stored = await SqlSchedules(tx).stored(became.tenant_id, [became.id], skip_locked=False)
    await SqlSchedules(tx).turn([ScheduleTurn(stored[became.id], became)])


def turned(schedule: Schedule, now: datetime) -> Schedule:
    """The next version of a schedule, with its cursor and status from now on."""
    spec, cursor, status = schedule.spec, None, schedule.status
    if status in {ScheduleStatus.ACTIVE, ScheduleStatus.COMPLETED}:
        exhausted = spec.max_runs is not None and schedule.fired >= spec.max_runs
        cursor = None if exhausted else spec.trigger.next_after(now)
        # A schedule that follows others has no cursor: it waits for their runs.
        waits = not exhausted and spec.trigger.follows is not None
        status = ScheduleStatus.COMPLETED if cursor is None and not waits else ScheduleStatus.ACTIVE
    return replace(
        still_skipping(schedule, now),
        version=schedule.version + 1,
        status=status,
        next_at=cursor,
        updated_at=now,
        fault=None,
    )


def still_skipping(schedule: Schedule, now: datetime) -> Schedule:
    """An instant stays skipped while it lies ahead and the trigger names it; a pause does not end it."""
    skip = schedule.skip_at
    if skip is None or (
        skip > now and schedule.status is not ScheduleStatus.DELETED and schedule.spec.trigger.names(skip)
    ):
        return schedule
    return replace(schedule, skip_at=None, skip_by=None)


async def _mend(tx: Transaction, schedule: Schedule, now: datetime) -> LockedSchedule:
    """Repair a damaged schedule. It did not fire: what it did not settle becomes a span that records that."""
    spec = (await SqlSchedules(tx).specs(schedule.id)).get(schedule.version)
    spans = await SqlSchedules(tx).spans(schedule.id)
    if schedule.status is ScheduleStatus.ACTIVE and spans and spans[-1].end is None:
        entries = await SqlSchedules(tx).ledger(schedule.id, spans[-1].start, _ENDLESS)
        fired = await SqlRuns(tx).last_instant(schedule.id)
        settled = max([spans[-1].start, fired or _NEVER, *(entry.last for _, entry in entries)])
        await SqlSchedules(tx).turn_span(schedule, settled, active=False, reason=DAMAGED)
        now = max(now, settled)
    if isinstance(spec, ScheduleSpec):
        return LockedSchedule(replace(schedule, spec=spec), now)
    return LockedSchedule(schedule, now, broken=True)


def refuse_file(caller: Caller, schedule: Schedule) -> None:
    """What a file defines is edited there: an edit here would silently be lost the next time the file is read."""
    if schedule.managed_by is ManagedBy.FILE and caller.interface is not Interface.FILE:
        raise Conflict(
            f"schedule {schedule.id} is defined by the pipelines file: edit or remove the pipeline"
            f" {schedule.action.get('pipeline', schedule.name)!r} there; pause, resume and run-now work here"
        )


def paused(caller: Caller, reason: str, held: LockedSchedule) -> tuple[Schedule, AuditedChange | None]:
    """The next version, paused; the schedule as it is when it is paused already."""
    check_open(held.schedule)
    schedule = held.sound()
    if schedule.status is ScheduleStatus.COMPLETED:
        raise Conflict(f"schedule {schedule.id} is completed: it has no instants left")
    if schedule.status is ScheduleStatus.PAUSED:
        return schedule, None
    asleep = replace(
        schedule,
        status=ScheduleStatus.PAUSED,
        paused_reason=reason,
        paused_at=held.now,
        paused_by=caller.user_id,
    )
    became = turned(asleep, held.now)
    return became, edited("pause", held.schedule, became)


def check_open(schedule: Schedule, match: str | None = None) -> None:
    """`Conflict` for a deleted schedule, `VersionMismatch` for another version than the caller expects."""
    compare(schedule, match)
    if schedule.status is ScheduleStatus.DELETED:
        raise Conflict(f"schedule {schedule.id} is deleted")


def compare(schedule: Schedule, match: str | None) -> None:
    """`match` is the version that the caller expects; `*` matches any."""
    if match is not None and match != "*" and str(schedule.version) not in match.split(","):
        raise VersionMismatch(match, schedule.version)
