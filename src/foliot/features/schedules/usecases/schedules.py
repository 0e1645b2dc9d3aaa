"""Everything that may be asked of schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from foliot.commands.group_commit import Together, small
from foliot.commands.idempotency import EACH_TIME, Once
from foliot.commands.limits import Limiter
from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Door, Thing, Verb, demand
from foliot.core.document import Fields
from foliot.core.errors import Conflict, Invalid, NotFound, VersionMismatch
from foliot.core.ids import SCHEDULE
from foliot.core.limits import Limits
from foliot.core.ports import Clock
from foliot.core.visible_text import check_prose
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.schedule import ManagedBy, Schedule, Status
from foliot.engine.model.trigger_document import Standing
from foliot.engine.model.views import Page, RunView
from foliot.engine.ports import Actions, PerTenant
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.audit_log.usecases import Change, edited, portrait, record
from foliot.features.schedules.model.document import MAX_TAGS, Check, asleep, merge, put_back, read_draft, whole
from foliot.features.schedules.usecases.change import Held, hold, turn
from foliot.features.schedules.usecases.check_target import copied, objection
from foliot.features.schedules.usecases.defaults import with_defaults
from foliot.features.schedules.usecases.run_now import RunNow, Wanted
from foliot.wakeups.feed import RUNS_TOPIC, SCHEDULES_TOPIC, Feed

MAX_REASON = 500


@dataclass(frozen=True, slots=True)
class Owner:
    """The id of a schedule that is about to be, and whose it will be."""

    schedule_id: str
    user_id: str
    managed_by: ManagedBy = ManagedBy.API


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """Create, read, change, pause, resume, delete, run."""

    store: Database
    clock: Clock
    feed: Feed
    actions: Actions
    limiter: Limiter
    new_id: Callable[[str], str]
    default_zone: str = "UTC"
    together: Together[Wanted, RunView] = field(default_factory=Together)

    @again
    async def create(self, caller: Caller, raw: object, once: Once = EACH_TIME) -> Schedule:
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        limits = await self.limiter.of(caller.tenant_id)
        raw, reason = asleep(raw)
        objects = await objection(self.actions, caller, raw, self.check_for(caller.tenant_id))
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            raw = await copied(tx, caller, raw)
            schedule = await self.add(tx, caller, raw, limits, Owner(self.new_id(SCHEDULE), caller.user_id))
            schedule = schedule if reason is None else await self.pause_one(tx, caller, schedule.id, reason)
            if objects is not None:
                raise objects
            await once.keep(tx, caller, schedule)
        self.feed.wake(SCHEDULES_TOPIC)
        return schedule

    async def add(self, tx: Transaction, caller: Caller, raw: object, limits: Limits, owner: Owner) -> Schedule:
        """Create one inside a larger change; whoever does wakes the scheduler afterwards."""
        now = self.clock.now()
        check, raw = self.check_for(caller.tenant_id), self._defaulted(caller, raw)
        draft = read_draft(raw, check, Standing(owner.schedule_id, now, self.default_zone))
        schedule = Schedule(
            id=owner.schedule_id,
            tenant_id=caller.tenant_id,
            user_id=owner.user_id,
            name=draft.name,
            description=draft.description,
            tags=draft.tags,
            spec=draft.spec,
            action=draft.action,
            status=Status.ACTIVE,
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
        await SqlSchedules(tx).add(schedule)
        await self.limiter.schedule(tx, caller, limits)
        await self.limiter.stored(tx, caller, limits)
        await SqlSchedules(tx).turn_span(schedule, now, active=True)
        await record(tx, caller, now, Change("create", Thing.SCHEDULE, schedule.id, became=portrait(schedule)))
        return schedule

    async def get(self, caller: Caller, schedule_id: str) -> Schedule:
        demand(caller, Verb.READ, Thing.SCHEDULE)
        async with self.store.read(caller.tenant_id) as tx:
            return await find_schedule(tx, caller, schedule_id)

    async def list(self, caller: Caller, page: Page, **filters: str | None) -> Sequence[Schedule]:
        """`filters`: status, type, kind, tag, q. Deleted ones are left out unless asked for."""
        demand(caller, Verb.READ, Thing.SCHEDULE)
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlSchedules(tx).find(caller.tenant_id, page, **filters)

    @again
    async def replace(self, caller: Caller, schedule_id: str, raw: object, match: str | None = None) -> Schedule:
        """The whole document anew."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        limits = await self.limiter.of(caller.tenant_id)
        raw, reason = asleep(raw)
        objects = await objection(self.actions, caller, raw, self.check_for(caller.tenant_id))
        async with self.store.begin(caller.tenant_id) as tx:
            held = await self._hold(tx, caller, schedule_id, match)
            changed = await self.rewrite(tx, caller, held, raw, limits)
            changed = changed if reason is None else await self.pause_one(tx, caller, schedule_id, reason)
            if objects is not None:
                raise objects
        self.feed.wake(SCHEDULES_TOPIC)
        return changed

    async def rewrite(self, tx: Transaction, caller: Caller, held: Held, raw: object, limits: Limits) -> Schedule:
        """Replace one inside a larger change; whoever does wakes the scheduler afterwards."""
        _refuse_file(caller, held.schedule)
        changed = await self._rewrite(tx, held, self._defaulted(caller, put_back(raw, held.schedule.action)))
        await self.limiter.stored(tx, caller, limits)
        if held.schedule.status is Status.COMPLETED and changed.status is Status.ACTIVE:
            await self.limiter.schedule(tx, caller, limits)
        was = {"fault": held.schedule.fault} if held.broken else portrait(held.schedule)
        replaced = Change("replace", Thing.SCHEDULE, changed.id, was, portrait(changed))
        await record(tx, caller, held.now, replaced)
        return changed

    @again
    async def patch(self, caller: Caller, schedule_id: str, raw: object, match: str | None = None) -> Schedule:
        """Only what the patch names; the result is read whole, by the rules of a new one."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        limits = await self.limiter.of(caller.tenant_id)
        objects = await self._objection_to_patch(caller, schedule_id, raw)
        async with self.store.begin(caller.tenant_id) as tx:
            held = await self._hold(tx, caller, schedule_id, match)
            _refuse_file(caller, held.schedule)
            stood = held.sound()
            changed = await self._rewrite(tx, held, put_back(merge(whole(stood), raw), stood.action))
            await self.limiter.stored(tx, caller, limits)
            if objects is not None:
                raise objects
            if held.schedule.status is Status.COMPLETED and changed.status is Status.ACTIVE:
                await self.limiter.schedule(tx, caller, limits)
            await record(tx, caller, held.now, edited("patch", held.schedule, changed))
        self.feed.wake(SCHEDULES_TOPIC)
        return changed

    @again
    async def put_back(
        self, caller: Caller, schedule_id: str, raw: object, match: str, entry_id: str, once: Once = EACH_TIME
    ) -> Schedule:
        """Replace it by what stood before a change; `entry_id` is that change's entry in the trail."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        limits = await self.limiter.of(caller.tenant_id)
        objects = await objection(self.actions, caller, raw, self.check_for(caller.tenant_id))
        async with self.store.begin(caller.tenant_id) as tx:
            await once.begin(tx, caller, self.clock.now())
            held = await self._hold(tx, caller, schedule_id, match)
            _refuse_file(caller, held.schedule)
            changed = await self._rewrite(tx, held, raw)
            await self.limiter.stored(tx, caller, limits)
            if objects is not None:
                raise objects
            if held.schedule.status is Status.COMPLETED and changed.status is Status.ACTIVE:
                await self.limiter.schedule(tx, caller, limits)
            told = edited("revert", held.sound(), changed)
            await record(tx, caller, held.now, replace(told, became={**(told.became or {}), "reverts": entry_id}))
            await once.keep(tx, caller, changed)
        self.feed.wake(SCHEDULES_TOPIC)
        return changed

    @again
    async def pause(self, caller: Caller, schedule_id: str, raw: object = None, once: Once = EACH_TIME) -> Schedule:
        """After this no instant later than now fires. Pausing what is paused changes nothing."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        fields = Fields.of("", raw)
        reason = fields.text("reason", "", most=MAX_REASON)
        check_prose("reason", reason)
        fields.finish()
        async with self.store.begin(caller.tenant_id) as tx:
            await once.begin(tx, caller, self.clock.now())
            schedule = await self.pause_one(tx, caller, schedule_id, reason)
            await once.keep(tx, caller, schedule)
        self.feed.wake(SCHEDULES_TOPIC)
        return schedule

    async def pause_one(self, tx: Transaction, caller: Caller, schedule_id: str, reason: str = "") -> Schedule:
        """Pause one inside a larger change; whoever does wakes the scheduler afterwards."""
        held = await self._hold(tx, caller, schedule_id)
        schedule = held.sound()
        if schedule.status is Status.COMPLETED:
            raise Conflict(f"schedule {schedule.id} is completed: it has no instant left to pause")
        if schedule.status is not Status.PAUSED:
            schedule = replace(schedule, status=Status.PAUSED, paused_reason=reason)
            schedule = replace(schedule, paused_at=held.now, paused_by=caller.user_id)
            schedule = await turn(tx, schedule, held.now)
            await record(tx, caller, held.now, edited("pause", held.schedule, schedule))
        return schedule

    @again
    async def resume(self, caller: Caller, schedule_id: str, once: Once = EACH_TIME) -> Schedule:
        """Fires again from the next instant on; paused time is never caught up."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        limits = await self.limiter.of(caller.tenant_id)
        async with self.store.begin(caller.tenant_id) as tx:
            await once.begin(tx, caller, self.clock.now())
            schedule = await self.resume_one(tx, caller, schedule_id, limits)
            await once.keep(tx, caller, schedule)
        self.feed.wake(SCHEDULES_TOPIC)
        return schedule

    async def resume_one(self, tx: Transaction, caller: Caller, schedule_id: str, limits: Limits) -> Schedule:
        """Resume one inside a larger change; whoever does wakes the scheduler afterwards."""
        held = await self._hold(tx, caller, schedule_id)
        schedule = held.sound()
        if schedule.status is Status.PAUSED or schedule.fault is not None:
            schedule = replace(schedule, status=Status.ACTIVE, paused_reason="", paused_at=None, paused_by=None)
            schedule = await turn(tx, schedule, held.now)
            await self.limiter.schedule(tx, caller, limits)
            await record(tx, caller, held.now, edited("resume", held.schedule, schedule))
        return schedule

    async def tag_one(
        self, tx: Transaction, caller: Caller, schedule_id: str, add: Sequence[str], remove: Sequence[str]
    ) -> Schedule:
        """Add tags and take some away inside a larger change; whoever does wakes those who care afterwards."""
        held = await self._hold(tx, caller, schedule_id)
        schedule = held.sound()
        tags = tuple(dict.fromkeys([*(tag for tag in schedule.tags if tag not in remove), *add]))
        if tags == schedule.tags:
            return schedule
        _refuse_file(caller, schedule)
        if len(tags) > MAX_TAGS:
            raise Invalid("add_tags", f"would give it {len(tags)} tags; a schedule has at most {MAX_TAGS}")
        schedule = await turn(tx, replace(schedule, tags=tags), held.now)
        await record(tx, caller, held.now, edited("tag", held.schedule, schedule))
        return schedule

    @again
    async def delete(self, caller: Caller, schedule_id: str, match: str | None = None) -> None:
        """Softly: it stays readable. Its waiting runs are cancelled, running ones go on."""
        demand(caller, Verb.WRITE, Thing.SCHEDULE)
        async with self.store.begin(caller.tenant_id) as tx:
            schedule = await find_schedule(tx, caller, schedule_id, lock=True)
            if schedule.status is Status.DELETED:
                return
            _compare(schedule, match)
            await self.remove(tx, caller, schedule)
        self.feed.wake(SCHEDULES_TOPIC, RUNS_TOPIC)

    async def remove(self, tx: Transaction, caller: Caller, schedule: Schedule) -> None:
        """Delete one, which is locked, inside a larger change; whoever does wakes those who care afterwards."""
        _refuse_file(caller, schedule)
        held = await hold(tx, caller, schedule, self.clock.now())
        await turn(tx, replace(held.schedule, status=Status.DELETED), held.now)
        waiting = await SqlRuns(tx).open_ids(schedule.id, waiting_only=True)
        if waiting:
            await SqlRuns(tx).cancel(waiting, held.now, "its schedule was deleted")
        was = {"fault": held.schedule.fault} if held.broken else portrait(held.schedule)
        became = {"status": Status.DELETED.value, "cancelled_runs": len(waiting)}
        await record(tx, caller, held.now, Change("delete", Thing.SCHEDULE, schedule.id, was, became))

    async def run_now(self, caller: Caller, schedule_id: str, raw: object = None, once: Once = EACH_TIME) -> RunView:
        """A run outside any instant, in the queue `manual`; `payload` overrides parts of the action for this run."""
        demand(caller, Verb.RUN, Thing.SCHEDULE)
        if isinstance(raw, Mapping) and raw.get("payload") is not None:
            # Who chooses where a run goes and what it carries chooses where secrets go.
            demand(caller, Verb.WRITE, Thing.SCHEDULE)
        wanted = Wanted(caller, schedule_id, raw, await self.limiter.of(caller.tenant_id))
        if once.key is None and small(raw):
            made = await self.together.ask(caller.tenant_id, wanted, self._now.several)
            if made is not None:
                return made
        return await self._run_alone(wanted, once)

    @again
    async def _run_alone(self, wanted: Wanted, once: Once) -> RunView:
        caller = wanted.caller
        async with self.store.begin(caller.tenant_id) as tx:
            await once.begin(tx, caller, self.clock.now())
            run = await self.run_one(tx, caller, wanted.schedule_id, wanted.limits, wanted.raw)
            await once.keep(tx, caller, run)
        self.feed.wake(RUNS_TOPIC)
        return run

    async def run_one(
        self, tx: Transaction, caller: Caller, schedule_id: str, limits: Limits, raw: object = None
    ) -> RunView:
        """The same inside a larger change; whoever does wakes those who care afterwards."""
        schedule = await find_schedule(tx, caller, schedule_id, lock=True)
        return await self._now.one(tx, Wanted(caller, schedule_id, raw, limits), schedule)

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

    def check_for(self, tenant_id: str) -> Check:
        """The action's own reading of its configuration, with the names that this tenant may use."""
        return partial(self._check, tenant_id)

    def _check(self, tenant_id: str, kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
        action = self.actions.get(kind)
        if action is None:
            raise Invalid("kind", f"must be one of {', '.join(sorted(self.actions.kinds()))}", got=kind[:100])
        return action.check_for(tenant_id, config) if isinstance(action, PerTenant) else action.check(config)

    def _defaulted(self, caller: Caller, raw: object) -> object:
        return with_defaults(self.actions, caller.tenant_id, raw)

    async def _objection_to_patch(self, caller: Caller, schedule_id: str, raw: object) -> Invalid | None:
        """Whoever leaves the action alone is not asked about it."""
        if not isinstance(raw, Mapping) or not isinstance(raw.get("action"), Mapping):
            return None
        async with self.store.read(caller.tenant_id) as tx:
            schedule = await SqlSchedules(tx).get(caller.tenant_id, schedule_id)
        if schedule is None or schedule.fault is not None:
            return None
        return await objection(self.actions, caller, merge(whole(schedule), raw), self.check_for(caller.tenant_id))

    async def _hold(self, tx: Transaction, caller: Caller, schedule_id: str, match: str | None = None) -> Held:
        schedule = await find_schedule(tx, caller, schedule_id, lock=True)
        _compare(schedule, match)
        if schedule.status is Status.DELETED:
            raise Conflict(f"schedule {schedule_id} is deleted")
        return await hold(tx, caller, schedule, self.clock.now())

    async def _rewrite(self, tx: Transaction, held: Held, raw: object) -> Schedule:
        schedule = held.schedule
        before = None if held.broken else schedule.spec.trigger
        check = self.check_for(schedule.tenant_id)
        draft = read_draft(raw, check, Standing(schedule.id, held.now, self.default_zone, before))
        changed = replace(
            schedule,
            name=draft.name,
            description=draft.description,
            tags=draft.tags,
            spec=draft.spec,
            action=draft.action,
        )
        return await turn(tx, changed, held.now)


def _refuse_file(caller: Caller, schedule: Schedule) -> None:
    """What a file defines is edited there: an edit here would not outlive the next reading, and nobody could tell."""
    if schedule.managed_by is ManagedBy.FILE and caller.door is not Door.FILE:
        raise Conflict(
            f"schedule {schedule.id} is made by the file of pipelines: edit or remove the pipeline"
            f" {schedule.action.get('pipeline', schedule.name)!r} there; pause, resume and run-now work here"
        )


def _compare(schedule: Schedule, match: str | None) -> None:
    """`match` is the version a caller believes in; `*` believes in any."""
    if match is not None and match != "*" and str(schedule.version) not in match.split(","):
        raise VersionMismatch(match, schedule.version)


async def find_schedule(tx: Transaction, caller: Caller, schedule_id: str, *, lock: bool = False) -> Schedule:
    """The caller's schedule; a foreign one is as unknown as one that never was."""
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
