"""Use cases: why a run happened, waits or failed, and what became of a time of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.commands.audit_sql import SqlAuditLog
from foliot.commands.envelope import QueryContext, query
from foliot.commands.limits import Limiter
from foliot.core.access import Thing, Verb, may
from foliot.core.limits import TenantLimits
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import LedgerEntry, LedgerReason, VersionSpan
from foliot.engine.model.node import NodeState
from foliot.engine.model.queue import QueuePause
from foliot.engine.model.run import CLAIMABLE
from foliot.engine.model.schedule import Schedule, ScheduleSpec
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.follows import SqlFollowUps
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns, with_attempts
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.explanations.model.facts import Explanation, Fact, FactCode, clock
from foliot.features.explanations.model.instant import (
    MINUTE,
    InstantEvidence,
    RecordedChange,
    explain_instant,
    instant_near,
    span_at,
)
from foliot.features.explanations.model.run import RunEvidence, explain_run
from foliot.features.explanations.sql import SqlExplanations
from foliot.features.schedules.usecases.change import DAMAGED
from foliot.features.schedules.usecases.schedules import find_run, find_schedule
from foliot.features.workers.usecases import WorkerView, read_worker

TICK = timedelta(microseconds=1)
AROUND = timedelta(seconds=2)
"""Audit entries of the change that began a span are this near to it."""
MOST_CHANGES = 10
MOST_PARENT_RUNS = 20
PARENTS_BEFORE = timedelta(hours=1)
"""How far before the asked time the end of a parent's run may lie."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a waiting run may wait for outside its own rows."""

    limits: TenantLimits
    live: Sequence[WorkerView]

    def workers_of(self, queue: str) -> int:
        """How many live processes take the queue: a number, which says nothing of other tenants."""
        return sum(one.takes(queue) for one in self.live)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """Answers from rows that exist already: runs, attempts, ledger, spans, versions and the audit log."""

    store: Database
    clock: Clock
    limiter: Limiter
    default_zone: str = "UTC"

    @query(Verb.READ, Thing.RUN)
    async def of_run(self, ctx: QueryContext, run_id: str) -> Explanation:
        """Why this run exists, and what it does, waits for or failed with."""
        around = await self._surroundings(ctx)
        async with ctx.read() as tx:
            run = await find_run(tx, ctx.caller, run_id)
            facts = list(await self._run_facts(ctx, tx, run, around))
        return Explanation.of(facts)

    @query(Verb.READ, Thing.SCHEDULE)
    async def of_schedule(self, ctx: QueryContext, schedule_id: str, at: datetime | None) -> Explanation:
        """What became of the time `at`; without it, of the newest scheduled time."""
        now = self.clock.now()
        around = await self._surroundings(ctx)
        async with ctx.read() as tx:
            schedule = await find_schedule(tx, ctx.caller, schedule_id)
            if schedule.spec.trigger.follows is not None:
                return Explanation.of(await self._followed(ctx, tx, schedule, at or now, around))
            spans = await SqlSchedules(tx).spans(schedule_id)
            specs = await SqlSchedules(tx).specs(schedule_id)
            asked = at or _newest(schedule, spans, specs, now)
            span = span_at(spans, asked)
            spec = None if span is None else specs.get(span.version)
            instant = instant_near(spec.trigger, asked) if isinstance(spec, ScheduleSpec) else None
            if (run := await self._run_of(tx, schedule, instant or asked, exact=instant is not None)) is not None:
                return Explanation.of(await self._run_facts(ctx, tx, run, around))
            entry = None if instant is None else await _entry(tx, schedule_id, instant)
            overlapped = entry is not None and entry.reason is LedgerReason.OVERLAP
            known = InstantEvidence(
                schedule=schedule,
                spans=spans,
                specs=specs,
                instant=instant,
                entry=entry,
                other=await SqlExplanations(tx).open_at(ctx.tenant_id, schedule_id, instant or asked)
                if overlapped
                else None,
                changes=await self._changes(ctx, tx, schedule_id, spans, span),
                default_zone=self.default_zone,
                damaged=DAMAGED,
            )
        return Explanation.of(explain_instant(asked, known, now))

    async def _run_of(self, tx: Transaction, schedule: Schedule, at: datetime, *, exact: bool) -> RunView | None:
        """The run of this instant; without one, a run that another version made within this minute."""
        until = at + (TICK if exact else MINUTE)
        found = await SqlSchedules(tx).instants(schedule.id, at, until, 1)
        return None if not found else await SqlRuns(tx).get(schedule.tenant_id, found[0][1])

    async def _surroundings(self, ctx: QueryContext) -> Surroundings:
        """Read before the transaction: one that waited for a second connection could wait for itself."""
        limits = await self.limiter.of(ctx.tenant_id)
        now = self.clock.now()
        async with ctx.read(across_tenants=True) as tx:
            workers = [read_worker(row, now) for row in await SqlRetention(tx).nodes()]
        return Surroundings(limits, [one for one in workers if one.state is NodeState.LIVE])

    async def _run_facts(self, ctx: QueryContext, tx: Transaction, run: RunView, around: Surroundings) -> list[Fact]:
        (run,) = await with_attempts(tx, [run], whole=True)
        spec = None
        if run.schedule_id is not None:
            found = (await SqlSchedules(tx).specs(run.schedule_id)).get(run.version or 0)
            spec = found if isinstance(found, ScheduleSpec) else None
        waits = run.state in CLAIMABLE and not run.buffered
        known = RunEvidence(
            run=run,
            zone=self.default_zone if spec is None else spec.trigger.rule.zone,
            spec=spec,
            parents=await SqlFollowUps(tx).parents(ctx.tenant_id, run.id) if run.scheduled_for is None else (),
            predecessor=await SqlExplanations(tx).predecessor(ctx.tenant_id, run.schedule_id, run.id)
            if run.buffered and run.schedule_id is not None
            else None,
            pause=await _pause(tx, run.queue) if waits else None,
            workers=around.workers_of(run.queue) if waits else None,
            running=await SqlExplanations(tx).running(ctx.tenant_id) if waits else 0,
            cap=around.limits.concurrent_runs if waits else None,
            operator=may(ctx.caller, Verb.READ, Thing.INSTALLATION),
        )
        return list(explain_run(known, self.clock.now()))

    async def _changes(
        self,
        ctx: QueryContext,
        tx: Transaction,
        schedule_id: str,
        spans: list[VersionSpan],
        span: VersionSpan | None,
    ) -> list[RecordedChange]:
        """The audit entries of the changes that began this span and the next, or ended the last."""
        if not may(ctx.caller, Verb.READ, Thing.AUDIT_LOG):
            return []
        edges = {one for one in ((span.start, span.end) if span else (spans[-1].end if spans else None,)) if one}
        found = []
        for edge in sorted(edges):
            page = PageRequest(limit=MOST_CHANGES)
            start, end = edge - AROUND, edge + AROUND
            found += await SqlAuditLog(tx).find(ctx.tenant_id, page, start=start, end=end, thing_id=schedule_id)
        return [RecordedChange(one.id, one.at, one.verb, one.user_id) for one in found]

    async def _followed(
        self, ctx: QueryContext, tx: Transaction, schedule: Schedule, at: datetime, around: Surroundings
    ) -> list[Fact]:
        """A schedule that follows others: the newest end of a parent's run before this time, and what became of it."""
        rule = schedule.spec.trigger.follows
        made = await SqlFollowUps(tx).records(schedule.id, at - PARENTS_BEFORE, at + MINUTE, MOST_PARENT_RUNS)
        if made and made[-1].made is not None and (run := await SqlRuns(tx).get(ctx.tenant_id, made[-1].made)):
            return await self._run_facts(ctx, tx, run, around)
        facts = []
        for parent in rule.parents if rule is not None else ():
            page = PageRequest(limit=1)
            newest = await SqlRuns(tx).find(ctx.tenant_id, page, schedule_id=parent)
            facts += [_parent_fact(schedule, run) for run in newest]
        return facts or [
            Fact(None, FactCode.NOT_DUE, f"{schedule.spec.trigger.summary}: no run of theirs has ended.", {})
        ]


def _parent_fact(schedule: Schedule, run: RunView) -> Fact:
    """The newest run of a parent, and whether its end is one that is followed."""
    rule, zone = schedule.spec.trigger.follows, schedule.spec.trigger.rule.zone
    proof = {"run_id": run.id, "schedule_id": schedule.id, "parent_id": run.schedule_id}
    name = run.schedule_name or run.schedule_id
    if run.finished_at is None:
        words = f"Run {run.id} of {name} has not ended ({run.state.value}): this schedule runs when it has."
        return Fact(run.created_at, FactCode.WAITING_PREDECESSOR, words, proof)
    if rule is None or rule.outcome.wants(run.state.value, changed=bool(run.changed)):
        words = (
            f"Run {run.id} of {name} ended as {run.state.value} at {clock(run.finished_at, zone)}; others are awaited."
        )
        return Fact(run.finished_at, FactCode.WAITING_PREDECESSOR, words, proof)
    words = (
        f"The newest run of {name}, {run.id}, ended as {run.state.value} at {clock(run.finished_at, zone)}; this "
        f"schedule follows only {rule.outcome.value}."
    )
    return Fact(run.finished_at, FactCode.PARENT_NOT_SUCCESSFUL, words, proof)


def _newest(
    schedule: Schedule, spans: list[VersionSpan], specs: dict[int, ScheduleSpec | str], now: datetime
) -> datetime:
    """The newest instant before now that the triggers name; else the next one, or now."""
    for span in reversed(spans):
        spec = specs.get(span.version)
        if isinstance(spec, ScheduleSpec):
            until = (now if span.end is None else min(now, span.end)) + TICK
            if found := spec.trigger.newest(span.start + TICK, until, 1):
                return found[0]
    return schedule.next_at or now


async def _entry(tx: Transaction, schedule_id: str, instant: datetime) -> LedgerEntry | None:
    found = await SqlSchedules(tx).ledger(schedule_id, instant, instant + TICK)
    return found[0][1] if found else None


async def _pause(tx: Transaction, queue: str) -> QueuePause | None:
    found = await SqlQueues(tx).get(queue)
    return found if found.paused_at is not None else None
