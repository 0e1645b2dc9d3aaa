"""Use cases of data quality: series and suggestions of a schedule, and the quarantine of a degraded run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Thing, Verb
from foliot.core.errors import Conflict
from foliot.core.ids import RUN
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.run import MANUAL_QUEUE, Origin
from foliot.engine.model.views import RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.expectations.model.facts import RELEASE, DataFacts, Quarantine, QuarantineState, Spread
from foliot.features.expectations.model.judge import DataVerdict, Suggestion, bands, judge_data, suggestions
from foliot.features.expectations.profile import ItemProfile
from foliot.features.expectations.sql import GOOD, RunQuality, SqlExpectations, stored_items
from foliot.features.schedules.usecases.schedules import find_run, find_schedule
from foliot.wakeups.feed import RUNS_TOPIC, Feed, run_topic

SHOWN = 100
"""Runs of a schedule whose facts are shown."""
PIPELINE_KIND = "pipeline"
"""Its sinks are written by a run of their own when withheld data are released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataJudge:
    """Judges the data of a run by the earlier runs of its schedule, and keeps what is withheld."""

    store: Database | None
    """None where runs are not stored: there is no baseline, and nothing is kept."""
    clock: Clock

    async def judge(
        self, tenant_id: str, schedule_id: str | None, expect: Mapping[str, Any], facts: DataFacts
    ) -> DataVerdict:
        history: Sequence[DataFacts] = ()
        if self.store is not None:
            async with self.store.read(tenant_id) as tx:
                history = await SqlExpectations(tx).baseline(tenant_id, schedule_id)
        return DataVerdict(facts, judge_data(expect, facts, history, self.clock.now()))

    async def keep(self, tenant_id: str, run_id: str, items: Sequence[Any]) -> None:
        """Keeps items that are withheld from the sinks; nothing for a run that is not stored, as at a terminal."""
        if self.store is not None:
            async with self.store.begin(tenant_id) as tx:
                await SqlExpectations(tx).keep(tenant_id, run_id, items)

    async def items(self, tenant_id: str, run_id: str) -> AsyncIterator[Any]:
        """The stored items of a run."""
        if self.store is not None:
            async for item in stored_items(self.store, tenant_id, run_id):
                yield item


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleQuality:
    """The data of a schedule's newest runs, their baseline, and expectations that fit them."""

    runs: Sequence[RunQuality]
    """Newest first."""
    baseline: Spread | None
    """Of the number of items."""
    good_runs: int
    suggestions: Sequence[Suggestion]
    bands: Mapping[str, Spread] = field(default_factory=dict)
    """The baseline of errors, duration and coverage too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataQuality:
    """Shows the quality of data, and releases or drops what is withheld."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]

    @query(Verb.READ, Thing.SCHEDULE)
    async def of_schedule(self, ctx: QueryContext, schedule_id: str) -> ScheduleQuality:
        """The facts of its newest runs, with the baseline."""
        async with ctx.read() as tx:
            await find_schedule(tx, ctx.caller, schedule_id)
            runs = await SqlExpectations(tx).series(ctx.tenant_id, schedule_id, SHOWN)
            good = await SqlExpectations(tx).baseline(ctx.tenant_id, schedule_id)
            sample = None
            if not any(facts.coverage for facts in good):
                sample = await self._sampled(tx, ctx.tenant_id, runs)
        spreads = bands(good)
        return ScheduleQuality(
            runs=runs,
            baseline=spreads.get("items"),
            good_runs=len(good),
            suggestions=suggestions(good, sample),
            bands=spreads,
        )

    async def _sampled(self, tx: Transaction, tenant_id: str, runs: Sequence[RunQuality]) -> DataFacts | None:
        """The coverage of the first stored items of the newest good run; None where items are not stored."""
        newest = next((run.run_id for run in runs if run.state in GOOD), None)
        attempt = None if newest is None else await SqlExpectations(tx).attempt_of(tenant_id, newest)
        if newest is None or attempt is None:
            return None
        profile = ItemProfile({}, every_field=True)
        for item in await SqlExpectations(tx).read(tenant_id, newest, attempt, 0):
            profile.add(item)
        return profile.facts()

    @query(Verb.READ, Thing.RUN)
    async def quarantine(self, ctx: QueryContext, run_id: str) -> Quarantine:
        """What became of the data of a degraded run."""
        async with ctx.read() as tx:
            await find_run(tx, ctx.caller, run_id)
            return _degraded(await SqlExpectations(tx).withheld(ctx.tenant_id, run_id))

    @command(Verb.RUN, Thing.RUN)
    async def release(self, ctx: CommandContext, run_id: str, once: IdempotentRequest = EACH_TIME) -> Quarantine:
        """Accepts the data: a run of its own writes those of a pipeline to its sinks."""
        run, held = await self._held(ctx, run_id)
        release_id = None
        if run.kind == PIPELINE_KIND:
            self.limiter.run(ctx.caller, ctx.limits)
            release_id = self.new_id(RUN)
            await SqlRuns(ctx.tx).add([_release_request(ctx, run, release_id)], ctx.now)
            ctx.wake(RUNS_TOPIC)
        return await self._decide(ctx, replace(held, state=QuarantineState.RELEASED, release_id=release_id))

    @command(Verb.RUN, Thing.RUN)
    async def drop(self, ctx: CommandContext, run_id: str, once: IdempotentRequest = EACH_TIME) -> Quarantine:
        """Deletes the withheld items; the run stays degraded."""
        _, held = await self._held(ctx, run_id)
        await SqlExpectations(ctx.tx).drop_items(ctx.tenant_id, run_id)
        return await self._decide(ctx, replace(held, state=QuarantineState.DROPPED))

    async def _held(self, ctx: CommandContext, run_id: str) -> tuple[RunView, Quarantine]:
        tx = await ctx.begin(self.limiter)
        run = await find_run(tx, ctx.caller, run_id)
        await SqlExpectations(tx).lock_run(ctx.tenant_id, run_id)
        held = _degraded(await SqlExpectations(tx).withheld(ctx.tenant_id, run_id))
        if held.state is not QuarantineState.HELD:
            raise Conflict(f"the data of run {run_id} were already {held.state} by {held.decided_by}")
        return run, held

    async def _decide(self, ctx: CommandContext, decided: Quarantine) -> Quarantine:
        decided = replace(decided, decided_at=ctx.now, decided_by=ctx.caller.user_id)
        await SqlExpectations(ctx.tx).decide(ctx.tenant_id, decided)
        became = {"quarantine": decided.state.value, "items": decided.items, "release_id": decided.release_id}
        ctx.audit(AuditedChange("quarantine", Thing.RUN, decided.run_id, {"quarantine": "held"}, became))
        ctx.wake(run_topic(decided.run_id))
        return decided


def _degraded(held: Quarantine | None) -> Quarantine:
    if held is None:
        raise Conflict("the run is not degraded: none of its data is withheld")
    return held


def _release_request(ctx: CommandContext, run: RunView, release_id: str) -> RunRequest:
    """A run of the same pipeline that begins at its first sink, with the withheld items."""
    action = {**(run.action or {}), RELEASE: run.id}
    if run.action is None and isinstance(run.result, Mapping):
        action[PIPELINE_KIND] = run.result.get(PIPELINE_KIND)
    return RunRequest(
        id=release_id,
        tenant_id=ctx.tenant_id,
        user_id=ctx.caller.user_id,
        kind=run.kind,
        origin=Origin.MANUAL,
        queue=MANUAL_QUEUE,
        priority=run.priority,
        max_attempts=run.max_attempts,
        timeout_seconds=None,
        action=action,
        parent_id=run.id,
    )
