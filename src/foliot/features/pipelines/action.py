"""The pipeline action: looks up the definition, builds its transforms, and runs the chain."""

from __future__ import annotations

import asyncio
import difflib
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from foliot.core.document import Fields
from foliot.core.errors import Invalid, InvalidMany, Unavailable
from foliot.core.parent_template import ParentRun, ParentValueMissing, filled, mentions_parent
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.expectations.model.facts import EXPECT, QUALITY, QUARANTINE, RELEASE
from foliot.features.expectations.model.judge import DataVerdict
from foliot.features.expectations.model.read import read_expect
from foliot.features.expectations.profile import ItemProfile
from foliot.features.expectations.usecases import DataJudge
from foliot.features.pipelines.chain.check import TransformCatalogue, build_steps
from foliot.features.pipelines.chain.context import StepContext, StepCounts, StepFailed, Transform
from foliot.features.pipelines.chain.fetch import FetchFailed
from foliot.features.pipelines.chain.run import ChainFailed, ChainRun, is_permanent, told
from foliot.features.pipelines.model import (
    PIPELINE,
    Item,
    PipelineDefinition,
    PipelineDefinitions,
    StepResources,
    Unreadable,
)
from foliot.features.pipelines.spool import ItemSpool

SOFT = 1500 / 1620
"""Soft time limit as a share of the timeout: 25 of 27 minutes."""
LONGEST_NAME = 200
LONGEST_TRACE = 16_000
LONGEST = 1000
MOST_NAMED = 50
KEPT_AT_ONCE = 2000
"""Withheld items that one transaction stores."""


class PipelineAction:
    """Runs a pipeline of the tenant."""

    kind = PIPELINE
    timeout = timedelta(minutes=30)

    def __init__(
        self,
        *,
        definitions: PipelineDefinitions,
        catalogue: TransformCatalogue,
        outside: StepResources,
        judge: DataJudge,
    ) -> None:
        self._definitions = definitions
        self._judge = judge
        self._catalogue = catalogue
        self._outside = outside

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        fields = Fields.of("", config)
        name = fields.value("pipeline")
        expect = fields.value(EXPECT)
        fields.finish()
        if name is None:
            raise Invalid("pipeline", "is required")
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or "\x00" in name:
            raise Invalid("pipeline", "must be the name of a pipeline", got=name if isinstance(name, str) else None)
        stored: dict[str, Any] = {"pipeline": name}
        return stored if expect is None else stored | {EXPECT: read_expect(expect)}

    async def examine(self, tenant_id: str, config: Mapping[str, Any]) -> str | None:
        """`Invalid` when the tenant has no pipeline of this name; the message lists those that it has."""
        name = str(config.get("pipeline"))
        names = await self._definitions.names(tenant_id)
        if name in names:
            return None
        if not names:
            raise Invalid("pipeline", "is not defined: there are no pipelines, see PIPELINES_CONFIG", got=name)
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}? Known are" if close else "known are"
        listed = ", ".join(names[:MOST_NAMED]) + (" and others" if len(names) > MOST_NAMED else "")
        raise Invalid("pipeline", f"is not defined; {hint} {listed}", got=name)

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        """The pipeline is its own target, whatever its steps wait for."""
        return AttemptTarget(f"pipeline:{config.get('pipeline')}")

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Runs the stored definition once."""
        name = str(ctx.config.get("pipeline"))
        definition = await self._definitions.find(ctx.tenant_id, name)
        if definition is None:
            said = f"the pipeline {name!r} no longer exists: its file does not define it"
            return Failed(AttemptError("unknown_pipeline", said), permanent=True)
        return await self.perform_definition(ctx, definition)

    async def perform_definition(self, ctx: ActionContext, definition: PipelineDefinition) -> Outcome:
        """Runs this definition once; with expectations, its sinks get nothing before the data have met them."""
        if any(mentions_parent(step.kwargs) for step in definition.steps):
            try:
                definition = _with_parent(definition, await ctx.parent())
            except ParentValueMissing as missing:
                return Failed(AttemptError("parent_value_missing", str(missing)), permanent=True)
        try:
            steps = build_steps(definition.steps, self._catalogue)
        except InvalidMany as wrong:
            # Not permanent: another worker may have the transforms, where this one lacks a module or has a broken one.
            listed = "; ".join(str(one) for one in wrong.errors)[:LONGEST]
            return Failed(
                AttemptError("bad_pipeline", f"this worker cannot create the steps of {definition.name}: {listed}")
            )
        run = _PipelineRun(
            ctx=ctx,
            definition=definition,
            steps=[(step, self._context(ctx, definition, at)) for at, step in enumerate(steps)],
            judge=self._judge,
        )
        ctx.log(f"{definition.name}, revision {definition.revision}: {_drawn(definition)}")
        patience = ctx.timeout * SOFT
        limit = asyncio.timeout(patience.total_seconds())
        try:
            async with limit:
                return await run.whole()
        except TimeoutError:
            if not limit.expired():
                raise
            return Failed(AttemptError("timeout", f"did not finish within {patience.total_seconds():g} s"))
        except ChainFailed as failed:
            return _failure(ctx, failed)

    def _context(self, ctx: ActionContext, definition: PipelineDefinition, at: int) -> StepContext:
        spec = definition.steps[at]
        return StepContext(
            pipeline=definition.name,
            step=spec.name,
            run_id=ctx.run_id,
            tenant_id=ctx.tenant_id,
            attempt=ctx.attempt,
            now=ctx.now,
            on_error=spec.on_error,
            outside=self._outside,
            tally=StepCounts(spec.name),
            say=ctx.log,
            hide=ctx.hide,
            parent=ctx.parent,
        )


def _with_parent(definition: PipelineDefinition, parent: ParentRun | None) -> PipelineDefinition:
    steps = tuple(replace(step, kwargs=filled(step.kwargs, parent)) for step in definition.steps)
    return replace(definition, steps=steps)


@dataclass(slots=True, kw_only=True)
class _PipelineRun:
    """One run of a definition, in one part or, where sinks must wait for the judgement, in two."""

    ctx: ActionContext
    definition: PipelineDefinition
    steps: list[tuple[Transform, StepContext]]
    judge: DataJudge

    async def whole(self) -> Outcome:
        expect = self.ctx.config.get(EXPECT) or self.definition.expect
        if (released := self.ctx.config.get(RELEASE)) is not None:
            return await self._release(str(released))
        if not expect:
            return await self._unjudged()
        return await self._judged(expect)

    @property
    def _tallies(self) -> list[StepCounts]:
        return [step.tally for _, step in self.steps]

    @property
    def _sinks_at(self) -> int:
        """Where the sinks begin; steps between two sinks wait with them."""
        return next((at for at, (step, _) in enumerate(self.steps) if step.sink), len(self.steps))

    async def _part(
        self,
        steps: list[tuple[Transform, StepContext]],
        source: AsyncIterator[Item] | None = None,
        keep: Callable[[Item], None] | None = None,
    ) -> int:
        def tell(_: Sequence[Mapping[str, Any]]) -> None:
            _tell(self.ctx, [tally.as_dict() for tally in self._tallies])

        return await ChainRun(steps=steps, tell=tell, source=source, keep=keep).run()

    async def _unjudged(self) -> Outcome:
        """Without expectations; the coverage of its fields is counted, so that some can be suggested."""
        profile, began = ItemProfile({}, every_field=True), time.monotonic()
        count = await self._part(self.steps, keep=profile.add)
        outcome = _success(self.ctx, self.definition, self._tallies, count)
        facts = profile.facts(errors=outcome.result["failed"], seconds=time.monotonic() - began)
        return replace(outcome, result={**outcome.result, QUALITY: facts.to_dict()})

    async def _judged(self, expect: Mapping[str, Any]) -> Outcome:
        before, sinks = self.steps[: self._sinks_at], self.steps[self._sinks_at :]
        profile, spool = ItemProfile(expect), ItemSpool()
        began = time.monotonic()

        def keep(item: Item) -> None:
            profile.add(item)
            if sinks:
                spool.add(item)

        try:
            count = await self._part(before, keep=keep)
            failed = sum(step.tally.failed for _, step in before)
            facts = profile.facts(errors=failed, seconds=time.monotonic() - began)
            verdict = await self.judge.judge(self.ctx.tenant_id, self.ctx.schedule_id, expect, facts)
            if (problem := verdict.problem) is not None:
                return await self._withheld(verdict, problem, count, spool)
            count = await self._part(sinks, source=spool.items()) if sinks else count
        finally:
            spool.close()
        outcome = _success(self.ctx, self.definition, self._tallies, count)
        return replace(outcome, result=verdict.into(outcome.result))

    async def _withheld(self, verdict: DataVerdict, problem: AttemptError, count: int, spool: ItemSpool) -> Outcome:
        """The sinks keep what they have; the items are kept with the run, to be released or dropped."""
        for group in spool.groups(KEPT_AT_ONCE):
            await self.judge.keep(self.ctx.tenant_id, self.ctx.run_id, group)
        self.ctx.log(problem.message, level="warning")
        if spool.count:
            self.ctx.log(f"{spool.count:,} items are withheld from the sinks: release or drop them", level="warning")
        outcome = _success(self.ctx, self.definition, self._tallies, count)
        result = verdict.into({**outcome.result, QUARANTINE: {"items": spool.count}})
        return replace(outcome, result=result, degraded=problem)

    async def _release(self, run_id: str) -> Outcome:
        """Writes the withheld items of an earlier run to the sinks."""
        sinks = self.steps[self._sinks_at :]
        self.ctx.log(f"Writing the withheld items of {run_id} to {', '.join(step.step for _, step in sinks)}")
        source = self.judge.items(self.ctx.tenant_id, run_id)
        count = await self._part(sinks, source=source)
        return _success(self.ctx, self.definition, [step.tally for _, step in sinks], count)


def _drawn(definition: PipelineDefinition) -> str:
    return " → ".join(step.name for step in definition.steps)


def _tell(ctx: ActionContext, tallies: Sequence[Mapping[str, Any]]) -> None:
    if ctx.progress is not None:
        ctx.progress(steps=list(tallies))


def _success(
    ctx: ActionContext, definition: PipelineDefinition, tallies: Sequence[StepCounts], count: int
) -> Succeeded:
    failed = sum(tally.failed for tally in tallies)
    for tally in tallies:
        left_out = f", {tally.failed:,} failed" if tally.failed else ""
        ctx.log(f"{tally.name}: {tally.taken:,} in, {tally.given:,} out{left_out}, {tally.seconds:.2f} s")
    result = {
        "pipeline": definition.name,
        "revision": definition.revision,
        "items": count,
        "failed": failed,
        "steps": [tally.as_dict() for tally in tallies],
    }
    return Succeeded(result=result, partial=failed > 0)


def _failure(ctx: ActionContext, failed: ChainFailed) -> Failed:
    cause = failed.cause
    said = f"{failed.step}: {told(cause)}".encode("utf-8", "replace").decode()[:LONGEST]
    if not isinstance(cause, StepFailed | FetchFailed | Unreadable | Invalid | Unavailable):
        # No traceback for those: their message says everything, and the trace of `Unavailable` may name an address.
        trace = "".join(traceback.format_exception(cause))[-LONGEST_TRACE:]
        ctx.log(trace.encode("utf-8", "replace").decode().rstrip(), level="error")
    after = cause.retry_after if isinstance(cause, StepFailed) else None
    return Failed(
        AttemptError("step_failed", said),
        permanent=is_permanent(cause),
        retry_after=None if after is None else timedelta(seconds=max(after, 0.001)),
    )
