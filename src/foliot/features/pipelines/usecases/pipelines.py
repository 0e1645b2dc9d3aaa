"""Use cases of pipelines: list, get, run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb
from foliot.core.declaration import declared, read
from foliot.core.errors import Conflict, NotFound
from foliot.core.ids import RUN
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.node import SEEN
from foliot.engine.model.run import MANUAL_QUEUE, EventType
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import RunView
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.filters.sql.lists import SqlSearch
from foliot.features.pipelines.model import FileFault, StoredPipeline
from foliot.features.pipelines.sql.pipelines import SqlPipelines
from foliot.features.pipelines.usecases.reconcile import REPORTED, request
from foliot.features.schedules.usecases.schedules import find_run
from foliot.wakeups.feed import RUNS_TOPIC, Feed

RUNS_SHOWN = 20
_LOOKED_AT = 200
"""How many of the newest events of a run are searched for its last progress."""


@declared
class PipelineRunRequest:
    """Empty: a pipeline runs as its file defines it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStatus:
    """A stored pipeline with its schedule and newest run."""

    kept: StoredPipeline
    schedule: Schedule | None
    last: RunView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineRunView:
    """A run of a pipeline, with the progress of each step."""

    run: RunView
    steps: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipelines:
    """Lists and runs pipelines. Only the file creates and changes them."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]

    @query(Verb.READ, Thing.SCHEDULE)
    async def list(self, ctx: QueryContext) -> Sequence[PipelineStatus]:
        """Every pipeline of the tenant, in the order of its file."""
        async with ctx.read() as tx:
            kept = await SqlPipelines(tx).all(ctx.tenant_id)
            # By id, not only the schedules that the file created: `get` shows each.
            ids = [one.schedule_id for one in kept if one.schedule_id is not None]
            found = await SqlSearch(tx).several_schedules(ctx.tenant_id, ids)
            schedules = {one.id: one for one in found if one.status is not ScheduleStatus.DELETED}
            newest = await SqlPipelines(tx).newest(ctx.tenant_id)
            wanted = [newest[one.name] for one in kept if one.name in newest]
            runs = {run.id: run for run in await SqlRuns(tx).several(ctx.tenant_id, wanted)}
        return [
            PipelineStatus(
                kept=one, schedule=schedules.get(one.schedule_id or ""), last=runs.get(newest.get(one.name, ""))
            )
            for one in kept
        ]

    @query(Verb.READ, Thing.SCHEDULE)
    async def faults(self, ctx: QueryContext) -> Sequence[FileFault]:
        """Faults of the file that belong to no pipeline, as the processes that read it report them."""
        async with ctx.read(across_tenants=True) as tx:
            nodes = await SqlRetention(tx).nodes(self.clock.now() - SEEN)
        reports = [node["report"].get(REPORTED) for node in nodes if isinstance(node["report"], Mapping)]
        told = [each["faults"] for each in reports if each and each["tenant_id"] == ctx.tenant_id]
        return list(dict.fromkeys(FileFault.from_dict(raw) for faults in told for raw in faults))

    @query(Verb.READ, Thing.SCHEDULE)
    async def get(self, ctx: QueryContext, name: str) -> tuple[PipelineStatus, Sequence[PipelineRunView]]:
        """One pipeline with its newest runs."""
        async with ctx.read() as tx:
            kept = await self._find(tx, ctx.caller, name)
            ids = await SqlPipelines(tx).runs(ctx.tenant_id, name, RUNS_SHOWN)
            runs = await SqlRuns(tx).several(ctx.tenant_id, ids)
            passed = [PipelineRunView(run=run, steps=await _steps(tx, run)) for run in runs]
            schedule = None
            if kept.schedule_id is not None:
                schedule = await SqlSchedules(tx).get(ctx.tenant_id, kept.schedule_id)
        return PipelineStatus(kept=kept, schedule=schedule, last=runs[0] if runs else None), passed

    @command(Verb.RUN, Thing.SCHEDULE)
    async def run(
        self, ctx: CommandContext, name: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> RunView:
        """Starts a run now, in the queue `manual`."""
        read(PipelineRunRequest, raw)
        tx = await ctx.begin(self.limiter)
        kept = await self._find(tx, ctx.caller, name)
        if kept.definition is None:
            raise Conflict(f"pipeline {name} cannot run: {kept.fault or 'it has no definition'}")
        self.limiter.run(ctx.caller, ctx.limits)
        run_id = self.new_id(RUN)
        await SqlRuns(tx).add([request(ctx.caller, run_id, name, MANUAL_QUEUE)], ctx.now)
        await SqlPipelines(tx).noted(ctx.tenant_id, name, run_id)
        run = await find_run(tx, ctx.caller, run_id)
        ctx.audit(AuditedChange("run", Thing.RUN, run_id, became={"pipeline": name}))
        ctx.wake(RUNS_TOPIC)
        return run

    @staticmethod
    async def _find(tx: Transaction, caller: Caller, name: str) -> StoredPipeline:
        kept = await SqlPipelines(tx).get(caller.tenant_id, name)
        if kept is None:
            raise NotFound("pipeline", name)
        return kept


async def _steps(tx: Transaction, run: RunView) -> Sequence[Mapping[str, Any]]:
    """The steps from the result of an ended run, else from its last progress event."""
    if isinstance(run.result, Mapping) and isinstance(run.result.get("steps"), list):
        found: Sequence[Mapping[str, Any]] = run.result["steps"]
        return found
    if run.started_at is None:
        return ()
    events = await SqlRuns(tx).events(run.id, max(run.event_seq - _LOOKED_AT, 0), _LOOKED_AT)
    told = [event.data for event in events if event.type is EventType.PROGRESS and event.data is not None]
    steps = [data["steps"] for data in told if isinstance(data.get("steps"), list)]
    return steps[-1] if steps else ()
