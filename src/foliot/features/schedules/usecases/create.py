"""Creates schedules: reads a request into a draft, and writes drafts, one or many in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from foliot.commands.audit import AuditedChange, entry
from foliot.commands.audit_sql import AuditEntry, audit_change
from foliot.commands.envelope import CommandContext
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing
from foliot.core.limits import TenantLimits
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.restrictions import NO_CALENDARS, CalendarBook
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.trigger_document import TriggerContext
from foliot.engine.ports import Actions, has_defaults
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import CheckFor, audit_view, edited, read_draft
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed


@dataclass(frozen=True, slots=True)
class ScheduleOwner:
    """The id of a schedule to be created, and its owner."""

    schedule_id: str
    user_id: str
    managed_by: str = ManagedBy.API


@dataclass(frozen=True, slots=True)
class UnsavedSchedule:
    """A schedule that is not stored yet, and what the audit log will say of it."""

    schedule: Schedule
    changes: tuple[AuditedChange, ...]


@dataclass(frozen=True, slots=True)
class ScheduleOrder:
    """A request in a group commit: its caller, the draft and the limits of the tenant."""

    caller: Caller
    draft: UnsavedSchedule
    limits: TenantLimits

    def entries(self) -> list[AuditEntry]:
        return [entry(self.caller, self.draft.schedule.created_at, change) for change in self.draft.changes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCreation:
    """Reads requests, and writes what they ask for."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    actions: Actions
    check_for: CheckFor
    default_zone: str

    def draft(
        self,
        caller: Caller,
        raw: object,
        owner: ScheduleOwner,
        paused: str | None = None,
        calendars: CalendarBook = NO_CALENDARS,
    ) -> UnsavedSchedule:
        """`Invalid` when the request breaks a rule. `paused` is the reason of a schedule that is created paused."""
        now = self.clock.now()
        raw = with_defaults(self.actions, caller.tenant_id, raw)
        context = TriggerContext(owner.schedule_id, now, self.default_zone, calendars=calendars)
        read = read_draft(raw, self.check_for(caller), context)
        schedule = Schedule(
            id=owner.schedule_id,
            tenant_id=caller.tenant_id,
            user_id=owner.user_id,
            name=read.name,
            description=read.description,
            tags=read.tags,
            spec=read.spec,
            action=read.action,
            status=ScheduleStatus.ACTIVE,
            version=1,
            next_at=read.spec.trigger.next_after(now),
            last_run_at=None,
            fired=0,
            paused_reason="",
            fault=None,
            created_at=now,
            updated_at=now,
            managed_by=owner.managed_by,
        )
        created = AuditedChange("create", Thing.SCHEDULE, schedule.id, became=audit_view(schedule))
        if paused is None:
            return UnsavedSchedule(schedule, (created,))
        asleep = _asleep(schedule, caller, paused, now)
        return UnsavedSchedule(asleep, (created, edited("pause", schedule, asleep)))

    async def one(self, ctx: CommandContext, draft: UnsavedSchedule) -> Schedule:
        """Write it in the caller's transaction, which has read the tenant's limits."""
        ctx.audit(*draft.changes, at=draft.schedule.created_at)
        await SqlSchedules(ctx.tx).add([draft.schedule], *ctx.take_audit())
        await self.limiter.schedule(ctx.tx, ctx.caller, ctx.limits)
        await self.limiter.stored(ctx.tx, ctx.caller, ctx.limits)
        ctx.wake(SCHEDULES_TOPIC)
        return draft.schedule

    async def several(self, tenant_id: str, group: Sequence[ScheduleOrder]) -> Sequence[Schedule | Exception | None]:
        """Group commit of concurrent requests; None for one that has no room left: run alone, it is refused."""
        limits = group[-1].limits
        async with self.store.begin(tenant_id) as tx:
            room = await self.limiter.room(tx, tenant_id, limits)
            taken = group if room is None else group[:room]
            if taken:
                entries = [one for order in taken for one in order.entries()]
                await SqlSchedules(tx).add([order.draft.schedule for order in taken], *audit_change(entries))
                # Over the limit, all are rolled back and run alone, where each is judged by itself.
                await self.limiter.stored(tx, group[-1].caller, limits)
        if taken:
            self.feed.wake(SCHEDULES_TOPIC)
        return [*(order.draft.schedule for order in taken), *[None] * (len(group) - len(taken))]


def _asleep(schedule: Schedule, caller: Caller, reason: str, now: datetime) -> Schedule:
    return replace(
        schedule,
        status=ScheduleStatus.PAUSED,
        next_at=None,
        paused_reason=reason,
        paused_at=now,
        paused_by=caller.user_id,
    )


def with_defaults(actions: Actions, tenant_id: str, raw: object) -> object:
    """The document, completed with its action's defaults for fields that it leaves out."""
    config = raw.get("action") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(config, Mapping):
        return raw
    action = actions.get(str(config.get("kind")))
    if not has_defaults(action):
        return raw
    given = {name: value for name, value in raw.items() if value is not None}
    defaults: Mapping[str, Any] = action.defaults(tenant_id, config)
    completed = {**defaults, **given}
    for name, value in defaults.items():
        if isinstance(value, Mapping) and isinstance(given.get(name), Mapping):
            completed[name] = {**value, **given[name]}
    return completed
