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
from foliot.core.access import Caller, Thing, Verb, require
from foliot.core.declaration import read
from foliot.core.errors import Invalid, NotFound
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.core.queue_name import PauseRequest
from foliot.db.database import Database, Transaction
from foliot.engine.model.restrictions import NO_CALENDARS, CalendarBook
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.trigger_document import TriggerContext
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.ports import Actions, is_per_tenant, permission_of_kind
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import (
    ActionCheck,
    asleep,
    audit_view,
    edited,
    merge,
    put_back,
    read_draft,
    whole,
)
from foliot.features.schedules.model.request import MAX_TAGS
from foliot.features.schedules.usecases import parents
from foliot.features.schedules.usecases.calendars import calendars_in, named_calendars
from foliot.features.schedules.usecases.change import (
    LockedSchedule,
    check_open,
    compare,
    hold,
    paused,
    refuse_file,
    turn,
    turned,
    write_turn,
)
from foliot.features.schedules.usecases.check_target import copied, names_source, objection, objection_to_patch
from foliot.features.schedules.usecases.create import ScheduleCreation, ScheduleOrder, ScheduleOwner, with_defaults
from foliot.features.schedules.usecases.edit import Edit, EditOrder, ScheduleEdits
from foliot.features.schedules.usecases.run_now import RunNow, RunOrder
from foliot.wakeups.feed import RUNS_TOPIC, SCHEDULES_TOPIC, Feed

MAX_REASON = 500


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
    creations: GroupCommit[ScheduleOrder, Schedule] = field(default_factory=GroupCommit)
    edits: GroupCommit[EditOrder, Schedule] = field(default_factory=GroupCommit)

    @requires(Verb.WRITE, Thing.SCHEDULE)
    async def create(self, caller: Caller, raw: object, once: IdempotentRequest = EACH_TIME) -> Schedule:
        rest, reason = asleep(raw)
        objects = await objection(self.actions, caller, rest, self.check_for(caller))
        alone = names_source(rest) or parents.follows_others(rest) or named_calendars([rest])
        if once.key is None and objects is None and small(raw) and not alone:
            draft = self.creation.draft(caller, put_back(rest), self._owner(caller), reason)
            order = ScheduleOrder(caller, draft, await self.limiter.of(caller.tenant_id))
            schedule = await self.creations.ask(caller.tenant_id, order, self.creation.several)
            if schedule is not None:
                return schedule
        return await self._create_alone(caller, (rest, reason), objects, once)

    @unchecked_command
    async def _create_alone(
        self, ctx: CommandContext, asked: tuple[object, str | None], objects: Invalid | None, once: IdempotentRequest
    ) -> Schedule:
        tx = await ctx.begin(self.limiter)
        owner, raw = self._owner(ctx.caller), await copied(tx, ctx.caller, asked[0])
        raw = await parents.resolved(tx, ctx.tenant_id, raw, owner.schedule_id)
        draft = self.creation.draft(ctx.caller, raw, owner, asked[1], await calendars_in(tx, ctx.tenant_id, raw))
        schedule = await self.creation.one(ctx, draft)
        if objects is not None:
            raise objects
        return schedule

    async def add(self, ctx: CommandContext, raw: object, owner: ScheduleOwner) -> Schedule:
        """Create one as part of the caller's transaction, which has read the tenant's limits."""
        raw = await parents.resolved(ctx.tx, ctx.tenant_id, raw, owner.schedule_id)
        calendars = await calendars_in(ctx.tx, ctx.tenant_id, raw)
        return await self.creation.one(ctx, self.creation.draft(ctx.caller, raw, owner, calendars=calendars))

    @query(Verb.READ, Thing.SCHEDULE)
    async def get(self, ctx: QueryContext, schedule_id: str) -> Schedule:
        async with ctx.read() as tx:
            return await find_schedule(tx, ctx.caller, schedule_id)

    @query(Verb.READ, Thing.SCHEDULE)
    async def list(self, ctx: QueryContext, /, page: PageRequest, **filters: str | None) -> Sequence[Schedule]:
        """`filters`: status, type, kind, tag, q. Deleted schedules are left out unless requested."""
        async with ctx.read() as tx:
            return await SqlSchedules(tx).find(ctx.tenant_id, page, **filters)

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def replace(self, ctx: CommandContext, schedule_id: str, raw: object, match: str | None = None) -> Schedule:
        """Replace the whole document."""
        raw, reason = asleep(raw)
        objects = await objection(self.actions, ctx.caller, raw, self.check_for(ctx.caller))
        await ctx.begin(self.limiter)
        held = await self._hold(ctx, schedule_id, match)
        changed = await self.rewrite(ctx, held, raw)
        changed = changed if reason is None else await self.pause_one(ctx, schedule_id, reason)
        if objects is not None:
            raise objects
        return changed

    async def rewrite(self, ctx: CommandContext, held: LockedSchedule, raw: object) -> Schedule:
        """Replace one as part of the caller's transaction, which has read the tenant's limits."""
        refuse_file(ctx.caller, held.schedule)
        document = with_defaults(self.actions, ctx.tenant_id, put_back(raw, held.schedule.action))
        changed = await self._rewrite(ctx, held, document)
        await self._check_limits(ctx, held, changed)
        was = {"fault": held.schedule.fault} if held.broken else audit_view(held.schedule)
        ctx.audit(AuditedChange("replace", Thing.SCHEDULE, changed.id, was, audit_view(changed)), at=held.now)
        return changed

    @requires(Verb.WRITE, Thing.SCHEDULE)
    async def patch(self, caller: Caller, schedule_id: str, raw: object, match: str | None = None) -> Schedule:
        """Apply a merge patch; the result is validated whole, by the rules of a new one."""
        objects = await objection_to_patch(self.store, self.actions, caller, (schedule_id, raw), self.check_for(caller))
        if objects is None and small(raw) and not (parents.changes_parents(raw) or named_calendars([raw])):
            edit = partial(self._patched, caller, raw, match)
            schedule = await self._edit(caller, schedule_id, edit)
            if schedule is not None:
                return schedule
        return await self._patch_alone(caller, schedule_id, (raw, match), objects)

    def _patched(
        self, caller: Caller, raw: object, match: str | None, held: LockedSchedule
    ) -> tuple[Schedule, AuditedChange]:
        check_open(held.schedule, match)
        refuse_file(caller, held.schedule)
        stood = held.sound()
        changed = turned(self._rewritten(caller, held, put_back(merge(whole(stood), raw), stood.action)), held.now)
        return changed, edited("patch", stood, changed)

    @unchecked_command
    async def _patch_alone(
        self, ctx: CommandContext, schedule_id: str, asked: tuple[object, str | None], objects: Invalid | None
    ) -> Schedule:
        raw, match = asked
        await ctx.begin(self.limiter)
        held = await self._hold(ctx, schedule_id, match)
        refuse_file(ctx.caller, held.schedule)
        stood = held.sound()
        changed = await self._rewrite(ctx, held, put_back(merge(whole(stood), raw), stood.action))
        await self._check_limits(ctx, held, changed, objects)
        ctx.audit(edited("patch", held.schedule, changed), at=held.now)
        return changed

    async def _edit(self, caller: Caller, schedule_id: str, edit: Edit) -> Schedule | None:
        """Edit by group commit; None when the request has to run alone."""
        order = EditOrder(caller, schedule_id, edit, await self.limiter.of(caller.tenant_id))
        editor = ScheduleEdits(store=self.store, clock=self.clock, feed=self.feed, limiter=self.limiter)
        return await self.edits.ask(caller.tenant_id, order, editor.several)

    async def put_back(self, ctx: CommandContext, schedule_id: str, raw: object, match: str, entry_id: str) -> Schedule:
        """Begin, and restore the document from before a change, which `entry_id` names in the audit log."""
        objects = await objection(self.actions, ctx.caller, raw, self.check_for(ctx.caller))
        await ctx.begin(self.limiter)
        held = await self._hold(ctx, schedule_id, match)
        refuse_file(ctx.caller, held.schedule)
        changed = await self._rewrite(ctx, held, raw)
        await self._check_limits(ctx, held, changed, objects)
        change = edited("revert", held.sound(), changed)
        ctx.audit(replace(change, became={**(change.became or {}), "reverts": entry_id}), at=held.now)
        return changed

    @requires(Verb.WRITE, Thing.SCHEDULE)
    async def pause(
        self, caller: Caller, schedule_id: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> Schedule:
        """After this no instant later than now fires. Pausing a paused schedule changes nothing."""
        reason = read(PauseRequest, raw).reason or ""
        if once.key is None:
            schedule = await self._edit(caller, schedule_id, partial(paused, caller, reason))
            if schedule is not None:
                return schedule
        return await self._pause_alone(caller, schedule_id, reason, once)

    @unchecked_command
    async def _pause_alone(
        self, ctx: CommandContext, schedule_id: str, reason: str, once: IdempotentRequest
    ) -> Schedule:
        await ctx.begin()
        return await self.pause_one(ctx, schedule_id, reason)

    async def pause_one(self, ctx: CommandContext, schedule_id: str, reason: str = "") -> Schedule:
        """Pause one as part of the caller's transaction."""
        held = await self._hold(ctx, schedule_id)
        schedule, change = paused(ctx.caller, reason, held)
        if change is not None:
            await write_turn(ctx.tx, schedule)
            ctx.audit(change, at=held.now)
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
        refuse_file(ctx.caller, schedule)
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
        compare(schedule, match)
        await self.remove(ctx, schedule)

    async def remove(self, ctx: CommandContext, schedule: Schedule) -> None:
        """Delete one, which is locked, as part of the caller's transaction."""
        refuse_file(ctx.caller, schedule)
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

    @property
    def creation(self) -> ScheduleCreation:
        return ScheduleCreation(
            store=self.store,
            clock=self.clock,
            feed=self.feed,
            limiter=self.limiter,
            actions=self.actions,
            check_for=self.check_for,
            default_zone=self.default_zone,
        )

    def _owner(self, caller: Caller) -> ScheduleOwner:
        return ScheduleOwner(self.new_id(SCHEDULE), caller.user_id)

    def check_for(self, caller: Caller) -> ActionCheck:
        """The action's validation of its configuration, with the names and kinds that this caller may use."""
        return partial(self._check, caller)

    def _check(self, caller: Caller, kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
        action = self.actions.get(kind)
        if action is None:
            raise Invalid("kind", f"must be one of {', '.join(sorted(self.actions.kinds()))}", got=kind[:100])
        if needed := permission_of_kind(action):
            require(caller, *needed)
        return action.check_for(caller.tenant_id, config) if is_per_tenant(action) else action.check(config)

    async def _hold(self, ctx: CommandContext, schedule_id: str, match: str | None = None) -> LockedSchedule:
        schedule = await find_schedule(ctx.tx, ctx.caller, schedule_id, lock=True)
        check_open(schedule, match)
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
        before = None if held.broken else held.schedule.spec.trigger.follows
        raw = await parents.resolved(ctx.tx, ctx.tenant_id, raw, held.schedule.id, before)
        changed = self._rewritten(ctx.caller, held, raw, await calendars_in(ctx.tx, ctx.tenant_id, raw))
        ctx.wake(SCHEDULES_TOPIC)
        return await turn(ctx.tx, changed, held.now)

    def _rewritten(
        self, caller: Caller, held: LockedSchedule, raw: object, calendars: CalendarBook = NO_CALENDARS
    ) -> Schedule:
        schedule = held.schedule
        before = None if held.broken else schedule.spec.trigger
        calendars = calendars.beside(schedule.spec.calendars)
        context = TriggerContext(schedule.id, held.now, self.default_zone, before, calendars)
        draft = read_draft(raw, self.check_for(caller), context)
        return replace(
            schedule,
            name=draft.name,
            description=draft.description,
            tags=draft.tags,
            spec=draft.spec,
            action=draft.action,
        )


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
