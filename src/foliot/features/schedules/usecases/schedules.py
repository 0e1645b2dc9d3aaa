"""Use cases of schedules: create, read, change, pause, resume, delete, run now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query, requires, unchecked_command
from foliot.commands.group_commit import GroupCommit, small
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Interface, Thing, Verb, require
from foliot.core.document import Fields
from foliot.core.errors import Conflict, Invalid, NotFound, VersionMismatch
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.core.visible_text import check_prose
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.trigger_document import TriggerContext
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.ports import Actions, HasDefaults, PerTenant
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.audit_view import audit_view, edited
from foliot.features.schedules.model.document import MAX_TAGS, ActionCheck, asleep, merge, put_back, read_draft, whole
from foliot.features.schedules.usecases.change import LockedSchedule, hold, turn
from foliot.features.schedules.usecases.check_target import copied, objection
from foliot.features.schedules.usecases.run_now import RunNow, RunOrder
from foliot.wakeups.feed import RUNS_TOPIC, SCHEDULES_TOPIC, Feed

MAX_REASON = 500


@dataclass(frozen=True, slots=True)
class ScheduleOwner:
    """The id of a schedule to be created, and its owner."""

    schedule_id: str
    user_id: str
    managed_by: ManagedBy = ManagedBy.API


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """Create, read, change, pause, resume, delete and run schedules."""

    store: Database
    clock: Clock
    feed: Feed
    actions: Actions
    limiter: Limiter
    new_id: Callable[[str], str]
    default_zone: str = "UTC"
    together: GroupCommit[RunOrder, RunView] = field(default_factory=GroupCommit)

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> Schedule:
        raw, reason = asleep(raw)
        objects = await objection(self.actions, ctx.caller, raw, self.check_for(ctx.tenant_id))
        tx = await ctx.begin(self.limiter)
        raw = await copied(tx, ctx.caller, raw)
        schedule = await self.add(ctx, raw, ScheduleOwner(self.new_id(SCHEDULE), ctx.caller.user_id))
        schedule = schedule if reason is None else await self.pause_one(ctx, schedule.id, reason)
        if objects is not None:
            raise objects
        return schedule

    async def add(self, ctx: CommandContext, raw: object, owner: ScheduleOwner) -> Schedule:
        """Create one as part of the caller's transaction, which has read the tenant's limits."""
        now = self.clock.now()
        check, raw = self.check_for(ctx.tenant_id), self._defaulted(ctx.caller, raw)
        draft = read_draft(raw, check, TriggerContext(owner.schedule_id, now, self.default_zone))
        schedule = Schedule(
            id=owner.schedule_id,
            tenant_id=ctx.tenant_id,
            user_id=owner.user_id,
            name=draft.name,
            description=draft.description,
            tags=draft.tags,
            spec=draft.spec,
            action=draft.action,
            status=ScheduleStatus.ACTIVE,
            version=1,
            next_at=draft.spec.trigger.next_after(now),
            last_run_at=None,
            fired=0,
            paused_reason="",
            fault=None,
            created_at=now,
            updated_at=now,
            managed_by=owner.managed_by,
        )
        await SqlSchedules(ctx.tx).add(schedule)
        await self.limiter.schedule(ctx.tx, ctx.caller, ctx.limits)
        await self.limiter.stored(ctx.tx, ctx.caller, ctx.limits)
        await SqlSchedules(ctx.tx).turn_span(schedule, now, active=True)
        ctx.audit(AuditedChange("create", Thing.SCHEDULE, schedule.id, became=audit_view(schedule)), at=now)
        ctx.wake(SCHEDULES_TOPIC)
        return schedule

    @query(Verb.READ, Thing.SCHEDULE)
    async def get(self, ctx: QueryContext, schedule_id: str) -> Schedule:
        async with ctx.read() as tx:
            return await find_schedule(tx, ctx.caller, schedule_id)

    @query(Verb.READ, Thing.SCHEDULE)
    async def list(self, ctx: QueryContext, /, page: PageRequest, **filters: str | None) -> Sequence[Schedule]:
        """`filters`: status, type, kind, tag, q. Deleted ones are left out unless asked for."""
        async with ctx.read() as tx:
            return await SqlSchedules(tx).find(ctx.tenant_id, page, **filters)

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def replace(self, ctx: CommandContext, schedule_id: str, raw: object, match: str | None = None) -> Schedule:
        """Replace the whole document."""
        raw, reason = asleep(raw)
        objects = await objection(self.actions, ctx.caller, raw, self.check_for(ctx.tenant_id))
        await ctx.begin(self.limiter)
        held = await self._hold(ctx, schedule_id, match)
        changed = await self.rewrite(ctx, held, raw)
        changed = changed if reason is None else await self.pause_one(ctx, schedule_id, reason)
        if objects is not None:
            raise objects
        return changed

    async def rewrite(self, ctx: CommandContext, held: LockedSchedule, raw: object) -> Schedule:
        """Replace one as part of the caller's transaction, which has read the tenant's limits."""
        _refuse_file(ctx.caller, held.schedule)
        changed = await self._rewrite(ctx, held, self._defaulted(ctx.caller, put_back(raw, held.schedule.action)))
        await self._check_limits(ctx, held, changed)
        was = {"fault": held.schedule.fault} if held.broken else audit_view(held.schedule)
        ctx.audit(AuditedChange("replace", Thing.SCHEDULE, changed.id, was, audit_view(changed)), at=held.now)
        return changed

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def patch(self, ctx: CommandContext, schedule_id: str, raw: object, match: str | None = None) -> Schedule:
        """Apply a merge patch; the result is validated whole, by the rules of a new one."""
        objects = await self._objection_to_patch(ctx.caller, schedule_id, raw)
        await ctx.begin(self.limiter)
        held = await self._hold(ctx, schedule_id, match)
        _refuse_file(ctx.caller, held.schedule)
        stood = held.sound()
        changed = await self._rewrite(ctx, held, put_back(merge(whole(stood), raw), stood.action))
        await self._check_limits(ctx, held, changed, objects)
        ctx.audit(edited("patch", held.schedule, changed), at=held.now)
        return changed

    async def put_back(self, ctx: CommandContext, schedule_id: str, raw: object, match: str, entry_id: str) -> Schedule:
        """Begin, and restore the document from before a change, which `entry_id` names in the audit log."""
        objects = await objection(self.actions, ctx.caller, raw, self.check_for(ctx.tenant_id))
        await ctx.begin(self.limiter)
        held = await self._hold(ctx, schedule_id, match)
        _refuse_file(ctx.caller, held.schedule)
        changed = await self._rewrite(ctx, held, raw)
        await self._check_limits(ctx, held, changed, objects)
        change = edited("revert", held.sound(), changed)
        ctx.audit(replace(change, became={**(change.became or {}), "reverts": entry_id}), at=held.now)
        return changed

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def pause(
        self, ctx: CommandContext, schedule_id: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> Schedule:
        """After this no instant later than now fires. Pausing a paused schedule changes nothing."""
        fields = Fields.of("", raw)
        reason = fields.text("reason", "", most=MAX_REASON)
        check_prose("reason", reason)
        fields.finish()
        await ctx.begin()
        return await self.pause_one(ctx, schedule_id, reason)

    async def pause_one(self, ctx: CommandContext, schedule_id: str, reason: str = "") -> Schedule:
        """Pause one as part of the caller's transaction."""
        held = await self._hold(ctx, schedule_id)
        schedule = held.sound()
        if schedule.status is ScheduleStatus.COMPLETED:
            raise Conflict(f"schedule {schedule.id} is completed: it has no instant left to pause")
        if schedule.status is not ScheduleStatus.PAUSED:
            schedule = replace(schedule, status=ScheduleStatus.PAUSED, paused_reason=reason)
            schedule = replace(schedule, paused_at=held.now, paused_by=ctx.caller.user_id)
            schedule = await turn(ctx.tx, schedule, held.now)
            ctx.audit(edited("pause", held.schedule, schedule), at=held.now)
        return schedule

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def resume(self, ctx: CommandContext, schedule_id: str, once: IdempotentRequest = EACH_TIME) -> Schedule:
        """Fires again from the next instant on; paused time is never caught up."""
        await ctx.begin(self.limiter)
        return await self.resume_one(ctx, schedule_id)

    async def resume_one(self, ctx: CommandContext, schedule_id: str) -> Schedule:
        """Resume one as part of the caller's transaction, which has read the tenant's limits."""
        held = await self._hold(ctx, schedule_id)
        schedule = held.sound()
        if schedule.status is ScheduleStatus.PAUSED or schedule.fault is not None:
            schedule = replace(schedule, status=ScheduleStatus.ACTIVE, paused_reason="", paused_at=None, paused_by=None)
            schedule = await turn(ctx.tx, schedule, held.now)
            await self.limiter.schedule(ctx.tx, ctx.caller, ctx.limits)
            ctx.audit(edited("resume", held.schedule, schedule), at=held.now)
        return schedule

    async def tag_one(
        self, ctx: CommandContext, schedule_id: str, add: Sequence[str], remove: Sequence[str]
    ) -> Schedule:
        """Add and remove tags as part of the caller's transaction."""
        held = await self._hold(ctx, schedule_id)
        schedule = held.sound()
        tags = tuple(dict.fromkeys([*(tag for tag in schedule.tags if tag not in remove), *add]))
        if tags == schedule.tags:
            return schedule
        _refuse_file(ctx.caller, schedule)
        if len(tags) > MAX_TAGS:
            raise Invalid("add_tags", f"would give it {len(tags)} tags; a schedule has at most {MAX_TAGS}")
        schedule = await turn(ctx.tx, replace(schedule, tags=tags), held.now)
        ctx.audit(edited("tag", held.schedule, schedule), at=held.now)
        return schedule

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def delete(self, ctx: CommandContext, schedule_id: str, match: str | None = None) -> None:
        """A soft delete: it stays readable. Its waiting runs are cancelled, running ones go on."""
        tx = await ctx.begin()
        schedule = await find_schedule(tx, ctx.caller, schedule_id, lock=True)
        if schedule.status is ScheduleStatus.DELETED:
            return
        _compare(schedule, match)
        await self.remove(ctx, schedule)

    async def remove(self, ctx: CommandContext, schedule: Schedule) -> None:
        """Delete one, which is locked, as part of the caller's transaction."""
        _refuse_file(ctx.caller, schedule)
        held = await hold(ctx, schedule, self.clock.now())
        await turn(ctx.tx, replace(held.schedule, status=ScheduleStatus.DELETED), held.now)
        waiting = await SqlRuns(ctx.tx).open_ids(schedule.id, waiting_only=True)
        if waiting:
            await SqlRuns(ctx.tx).cancel(waiting, held.now, "its schedule was deleted")
        was = {"fault": held.schedule.fault} if held.broken else audit_view(held.schedule)
        became = {"status": ScheduleStatus.DELETED.value, "cancelled_runs": len(waiting)}
        ctx.audit(AuditedChange("delete", Thing.SCHEDULE, schedule.id, was, became), at=held.now)
        ctx.wake(SCHEDULES_TOPIC, RUNS_TOPIC)

    @requires(Verb.RUN, Thing.SCHEDULE)
    async def run_now(
        self, caller: Caller, schedule_id: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> RunView:
        """A run outside any instant, in the queue `manual`; `payload` overrides parts of the action for this run."""
        if isinstance(raw, Mapping) and raw.get("payload") is not None:
            # Choosing where a run goes and what it carries means choosing where secrets go.
            require(caller, Verb.WRITE, Thing.SCHEDULE)
        if once.key is None and small(raw):
            wanted = RunOrder(caller, schedule_id, raw, await self.limiter.of(caller.tenant_id))
            run = await self.together.ask(caller.tenant_id, wanted, self._now.several)
            if run is not None:
                return run
        return await self._run_alone(caller, schedule_id, raw, once)

    @unchecked_command
    async def _run_alone(self, ctx: CommandContext, schedule_id: str, raw: object, once: IdempotentRequest) -> RunView:
        await ctx.begin(self.limiter)
        return await self.run_one(ctx, schedule_id, raw)

    async def run_one(self, ctx: CommandContext, schedule_id: str, raw: object = None) -> RunView:
        """The same as part of the caller's transaction, which has read the tenant's limits."""
        schedule = await find_schedule(ctx.tx, ctx.caller, schedule_id, lock=True)
        ctx.wake(RUNS_TOPIC)
        return await self._now.one(ctx.tx, RunOrder(ctx.caller, schedule_id, raw, ctx.limits), schedule)

    @property
    def _now(self) -> RunNow:
        return RunNow(
            store=self.store,
            clock=self.clock,
            feed=self.feed,
            limiter=self.limiter,
            new_id=self.new_id,
            check_for=self.check_for,
        )

    def check_for(self, tenant_id: str) -> ActionCheck:
        """The action's validation of its configuration, with the names that this tenant may use."""
        return partial(self._check, tenant_id)

    def _check(self, tenant_id: str, kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
        action = self.actions.get(kind)
        if action is None:
            raise Invalid("kind", f"must be one of {', '.join(sorted(self.actions.kinds()))}", got=kind[:100])
        return action.check_for(tenant_id, config) if isinstance(action, PerTenant) else action.check(config)

    def _defaulted(self, caller: Caller, raw: object) -> object:
        return _with_defaults(self.actions, caller.tenant_id, raw)

    async def _objection_to_patch(self, caller: Caller, schedule_id: str, raw: object) -> Invalid | None:
        """A patch that leaves the action alone is not checked against its target."""
        if not isinstance(raw, Mapping) or not isinstance(raw.get("action"), Mapping):
            return None
        async with self.store.read(caller.tenant_id) as tx:
            schedule = await SqlSchedules(tx).get(caller.tenant_id, schedule_id)
        if schedule is None or schedule.fault is not None:
            return None
        return await objection(self.actions, caller, merge(whole(schedule), raw), self.check_for(caller.tenant_id))

    async def _hold(self, ctx: CommandContext, schedule_id: str, match: str | None = None) -> LockedSchedule:
        schedule = await find_schedule(ctx.tx, ctx.caller, schedule_id, lock=True)
        _compare(schedule, match)
        if schedule.status is ScheduleStatus.DELETED:
            raise Conflict(f"schedule {schedule_id} is deleted")
        ctx.wake(SCHEDULES_TOPIC)
        return await hold(ctx, schedule, self.clock.now())

    async def _check_limits(
        self, ctx: CommandContext, held: LockedSchedule, changed: Schedule, objects: Invalid | None = None
    ) -> None:
        await self.limiter.stored(ctx.tx, ctx.caller, ctx.limits)
        if objects is not None:
            raise objects
        if held.schedule.status is ScheduleStatus.COMPLETED and changed.status is ScheduleStatus.ACTIVE:
            await self.limiter.schedule(ctx.tx, ctx.caller, ctx.limits)

    async def _rewrite(self, ctx: CommandContext, held: LockedSchedule, raw: object) -> Schedule:
        schedule = held.schedule
        before = None if held.broken else schedule.spec.trigger
        check = self.check_for(schedule.tenant_id)
        draft = read_draft(raw, check, TriggerContext(schedule.id, held.now, self.default_zone, before))
        changed = replace(
            schedule,
            name=draft.name,
            description=draft.description,
            tags=draft.tags,
            spec=draft.spec,
            action=draft.action,
        )
        ctx.wake(SCHEDULES_TOPIC)
        return await turn(ctx.tx, changed, held.now)


def _refuse_file(caller: Caller, schedule: Schedule) -> None:
    """What a file defines is edited there: an edit here would silently be lost the next time the file is read."""
    if schedule.managed_by is ManagedBy.FILE and caller.interface is not Interface.FILE:
        raise Conflict(
            f"schedule {schedule.id} is made by the file of pipelines: edit or remove the pipeline"
            f" {schedule.action.get('pipeline', schedule.name)!r} there; pause, resume and run-now work here"
        )


def _compare(schedule: Schedule, match: str | None) -> None:
    """`match` is the version that the caller expects; `*` matches any."""
    if match is not None and match != "*" and str(schedule.version) not in match.split(","):
        raise VersionMismatch(match, schedule.version)


async def find_schedule(tx: Transaction, caller: Caller, schedule_id: str, *, lock: bool = False) -> Schedule:
    """The caller's schedule; another tenant's is reported as unknown, as one that does not exist."""
    schedule = await SqlSchedules(tx).get(caller.tenant_id, schedule_id, lock=lock)
    if schedule is None:
        raise NotFound("schedule", schedule_id)
    return schedule


async def find_run(tx: Transaction, caller: Caller, run_id: str, *, lock: bool = False) -> RunView:
    """The caller's run."""
    run = await SqlRuns(tx).get(caller.tenant_id, run_id, lock=lock)
    if run is None:
        raise NotFound("run", run_id)
    return run


def _with_defaults(actions: Actions, tenant_id: str, raw: object) -> object:
    """The document, completed with its action's defaults for fields that it leaves out."""
    config = raw.get("action") if isinstance(raw, Mapping) else None
    if not isinstance(raw, Mapping) or not isinstance(config, Mapping):
        return raw
    action = actions.get(str(config.get("kind")))
    if not isinstance(action, HasDefaults):
        return raw
    given = {name: value for name, value in raw.items() if value is not None}
    defaults = action.defaults(tenant_id, config)
    completed = {**defaults, **given}
    for name, value in defaults.items():
        if isinstance(value, Mapping) and isinstance(given.get(name), Mapping):
            completed[name] = {**value, **given[name]}
    return completed
