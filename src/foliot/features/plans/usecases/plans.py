"""Use cases of plans: compare documents with what is stored, and apply what was shown.

Other features make documents too (importers). They pass them to `POST /api/plan` and `POST /api/plan/apply`
(`features/plans/view.py` for commands), so that difference, ownership and conflicts are shared:

    {"file": "crontab", "documents": {"schedules": [{"name": …, "paused": true, …}]}}

A schedule is found by its name, belongs to the file afterwards (`managed_by: file:crontab`), and is left alone where
it was edited by hand.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, command, requires, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Thing, Verb, require
from foliot.core.declaration import read
from foliot.core.errors import Conflict
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.db.database import Database
from foliot.engine.model.schedule import FROM_FILE, ManagedBy, Schedule
from foliot.features.calendars.sql import SqlCalendars
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.plans.model.difference import PlanAct, PlannedChange
from foliot.features.plans.model.request import ApplyRequest, PlanRequest
from foliot.features.plans.model.simulation import Simulation
from foliot.features.plans.sql import SqlAppliedDocuments
from foliot.features.plans.usecases.calendars import CalendarPlanner, CalendarWrites, PlannedCalendar, book_of
from foliot.features.plans.usecases.forecast import Forecasts
from foliot.features.plans.usecases.schedule_writes import ScheduleWrites
from foliot.features.plans.usecases.schedules import (
    THING,
    PlannedSchedule,
    SchedulePlanInput,
    SchedulePlanner,
)
from foliot.features.plans.usecases.watches import PlannedWatch, WatchPlanInput, WatchPlanner, write_watches
from foliot.features.schedules.usecases.batch import ScheduleBatches
from foliot.features.schedules.usecases.change import hold, turn
from foliot.features.schedules.usecases.schedules import Schedules, find_schedule
from foliot.features.watches.usecases.watches import Watches
from foliot.wakeups.feed import SCHEDULES_TOPIC, Feed

CHUNK = 1000
"""Changes of one transaction."""
WATCHES_TOGETHER = 50
"""Watches of one transaction: each may have ten thousand pages."""
WRITTEN = frozenset({PlanAct.CREATE, PlanAct.CHANGE, PlanAct.DELETE})


@dataclass(frozen=True, slots=True)
class Plan:
    """What applying the documents would do."""

    file: str
    digest: str
    """Of the documents and the changes; applying the plan names it."""
    changes: Sequence[PlannedChange]
    offsets: Mapping[str, str] = field(default_factory=dict)
    """Expressions in place of those of the documents, by name."""
    simulation: Simulation | None = None

    def count(self) -> dict[PlanAct, int]:
        """How many changes of each sort."""
        return Counter(one.act for one in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Plan and apply documents."""

    schedules: Schedules
    batches: ScheduleBatches
    calendars: NamedCalendars
    watches: Watches

    @property
    def store(self) -> Database:
        return self.schedules.store

    @property
    def clock(self) -> Clock:
        return self.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.schedules.feed

    @requires(Verb.READ, Thing.SCHEDULE)
    async def plan(self, caller: Caller, raw: object) -> Plan:
        """Compare, forecast, and write nothing."""
        asked = read(PlanRequest, raw)
        there = await self._stored(caller, asked)
        watches = await self._compare_watches(caller, asked)
        calendars, planned = await self._compare(caller, asked, there)
        if not (asked.simulate or asked.spread):
            return _plan(asked, calendars, planned, watches)
        forecast = await Forecasts(store=self.store, clock=self.clock).begin(caller, there.schedules, planned)
        if asked.spread:
            offsets = await REQUESTS.run(forecast.spread, planned)
            asked = replace(asked, offsets={**asked.offsets, **offsets})
            calendars, planned = await self._compare(caller, asked, there)
        simulation = await REQUESTS.run(forecast.simulate, planned)
        return replace(_plan(asked, calendars, planned, watches), simulation=simulation)

    @requires(Verb.WRITE, Thing.SCHEDULE)
    async def apply(self, caller: Caller, raw: object, once: IdempotentRequest = EACH_TIME) -> Plan:
        """Write what the plan of this digest says, a thousand schedules per transaction; `Conflict` for another plan.

        What is written names the versions that were compared, so that an edit in between refuses its transaction. A
        refused application is repeated with a new plan, which holds the rest.
        """
        asked = read(ApplyRequest, raw)
        watches = await self._compare_watches(caller, asked)
        calendars, planned = await self._compare(caller, asked, await self._stored(caller, asked))
        plan = _plan(asked, calendars, planned, watches)
        if plan.digest != asked.digest:
            return await self._refuse(caller, once)
        if any(one.change.act in {PlanAct.CREATE, PlanAct.CHANGE} or one.row is not None for one in calendars):
            await self._write_calendars(caller, calendars)
            # Their schedules have new versions now.
            _, planned = await self._compare(caller, asked, await self._stored(caller, asked))
        await self._apply_watches(caller, watches)
        # Schedules that follow others come after them; the planner keeps the order of the documents.
        writes = sorted(
            (one for one in planned if one.change.act in WRITTEN or one.row is not None), key=_depth_of(planned)
        )
        parts = [writes[start : start + CHUNK] for start in range(0, len(writes), CHUNK)] or [[]]
        gone = [one for one in calendars if one.change.act is PlanAct.DELETE]
        for part in parts[:-1]:
            await self._write(caller, part, plan)
        return await self._write(caller, parts[-1], plan, gone, once)

    @unchecked_command
    async def _write_calendars(self, ctx: CommandContext, planned: Sequence[PlannedCalendar]) -> None:
        require(ctx.caller, Verb.WRITE, Thing.CALENDAR)
        await ctx.begin(self.schedules.limiter)
        await CalendarWrites(self.calendars).write(ctx, planned)

    async def _apply_watches(self, caller: Caller, planned: Sequence[PlannedWatch]) -> None:
        """Before the schedules: these may follow a watch."""
        writes = [one for one in planned if one.change.act in WRITTEN or one.row is not None]
        if writes:
            require(caller, Verb.WRITE, Thing.WATCH)
        for start in range(0, len(writes), WATCHES_TOGETHER):
            await self._write_watches(caller, writes[start : start + WATCHES_TOGETHER])

    @unchecked_command
    async def _write_watches(self, ctx: CommandContext, part: Sequence[PlannedWatch]) -> None:
        await ctx.begin(self.schedules.limiter)
        await write_watches(self.watches, ctx, part)

    @unchecked_command
    async def _write(
        self,
        ctx: CommandContext,
        part: Sequence[PlannedSchedule],
        plan: Plan,
        gone: Sequence[PlannedCalendar] = (),
        once: IdempotentRequest = EACH_TIME,
    ) -> Plan:
        await ctx.begin(self.schedules.limiter)
        if part:
            await ScheduleWrites(self.schedules, self.clock.now()).write(ctx, part)
        if gone:
            require(ctx.caller, Verb.WRITE, Thing.CALENDAR)
            await CalendarWrites(self.calendars).delete(ctx, gone)
        return plan

    @unchecked_command
    async def _refuse(self, ctx: CommandContext, once: IdempotentRequest) -> Plan:
        """A request that is repeated by its key gets the answer of the first, whose plan is applied by now."""
        await ctx.begin()
        raise Conflict("something has changed since this plan was made: plan again")

    @command(Verb.WRITE, Thing.SCHEDULE)
    async def take_over(self, ctx: CommandContext, schedule_id: str, once: IdempotentRequest = EACH_TIME) -> Schedule:
        """Edit a schedule by hand from now on: its file reports it as drift, and leaves it alone."""
        tx = await ctx.begin()
        schedule = await find_schedule(tx, ctx.caller, schedule_id, lock=True)
        if not schedule.managed_by.startswith(FROM_FILE):
            raise Conflict(f"schedule {schedule_id} is not managed by a file")
        held = await hold(ctx, schedule, self.clock.now())
        became = await turn(tx, replace(held.sound(), managed_by=ManagedBy.API), held.now)
        await SqlAppliedDocuments(tx).release(ctx.tenant_id, THING, schedule_id)
        was = {"managed_by": schedule.managed_by}
        ctx.audit(AuditedChange("take_over", Thing.SCHEDULE, schedule_id, was, {"managed_by": "api"}), at=held.now)
        ctx.wake(SCHEDULES_TOPIC)
        return became

    async def _stored(self, caller: Caller, asked: PlanRequest) -> SchedulePlanInput:
        refused = await self.batches.refusals(caller, asked.documents.schedules)
        async with self.store.read(caller.tenant_id) as tx:
            sql = SqlAppliedDocuments(tx)
            return SchedulePlanInput(
                await sql.schedules(caller.tenant_id),
                await sql.applied(caller.tenant_id),
                refused,
                await SqlCalendars(tx).of_tenant(caller.tenant_id),
            )

    async def _compare_watches(self, caller: Caller, asked: PlanRequest) -> list[PlannedWatch]:
        async with self.store.read(caller.tenant_id) as tx:
            there = await WatchPlanInput.of(tx, caller.tenant_id, asked)
        if asked.documents.watches or there.applied:
            require(caller, Verb.READ, Thing.WATCH)
        return await REQUESTS.run(WatchPlanner(watches=self.watches, asked=asked, there=there).plan)

    async def _compare(
        self, caller: Caller, asked: PlanRequest, there: SchedulePlanInput
    ) -> tuple[list[PlannedCalendar], list[PlannedSchedule]]:
        calendars = await CalendarPlanner(self.calendars, asked, there).plan(caller)
        planner = SchedulePlanner(
            schedules=self.schedules,
            sealer=self.store.sealer,
            caller=caller,
            asked=asked,
            there=there,
            now=self.clock.now(),
            calendars=book_of(there, calendars),
        )
        return calendars, await REQUESTS.run(planner.plan)


def _plan(
    asked: PlanRequest,
    calendars: Sequence[PlannedCalendar],
    planned: Sequence[PlannedSchedule],
    watches: Sequence[PlannedWatch],
) -> Plan:
    things: Sequence[PlannedCalendar | PlannedWatch | PlannedSchedule] = [*calendars, *watches, *planned]
    changes = [one.change for one in things]
    content = [
        [asked.file, asked.prune, asked.overwrite, asked.offsets],
        list(asked.documents.schedules),
        [change.as_dict() for change in changes],
        *(
            {kind: list(documents)}
            for kind, documents in (("calendars", asked.documents.calendars), ("watches", asked.documents.watches))
            if documents
        ),
    ]
    digest = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Plan(asked.file, digest, changes, asked.offsets)


def _depth_of(planned: Sequence[PlannedSchedule]) -> Callable[[PlannedSchedule], Any]:
    """Parents before the schedules that follow them; the rest in the order of the documents."""
    parents = {
        one.unsaved.schedule.id: one.unsaved.schedule.spec.trigger.follows.parents
        for one in planned
        if one.unsaved is not None and one.unsaved.schedule.spec.trigger.follows is not None
    }
    known: dict[str, int] = {}

    def depth(schedule_id: str) -> int:
        if schedule_id not in known:
            known[schedule_id] = 1 + max(map(depth, parents.get(schedule_id, ())), default=-1)
        return known[schedule_id]

    return lambda one: 0 if one.unsaved is None else depth(one.unsaved.schedule.id)
