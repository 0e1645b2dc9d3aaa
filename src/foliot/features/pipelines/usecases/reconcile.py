"""Reconciles the database with the pipelines file: applies new, changed and removed pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, unchecked_command
from foliot.core.access import Caller, Interface, Role, Thing
from foliot.core.errors import Invalid, InvalidMany, TooMany
from foliot.core.ids import RUN
from foliot.core.ports import Clock
from foliot.core.queue_name import DEFAULT_QUEUE
from foliot.db.database import Database, Transaction
from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import DEFAULT_PRIORITY, Origin, RunState
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.views import RunRequest
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.pipelines.model import (
    NAME,
    PIPELINE,
    DefinitionFile,
    FileContents,
    FileFault,
    PipelineDefinition,
    PipelineEntry,
    StoredPipeline,
)
from foliot.features.pipelines.sql.pipelines import SqlPipelines
from foliot.features.schedules.model.document import DeclaredSchedule
from foliot.features.schedules.sql import SqlDeclarations
from foliot.features.schedules.usecases.change import hold
from foliot.features.schedules.usecases.declared import Declarations, DeclarerRound, digest
from foliot.wakeups.feed import REPORT_TOPIC, RUNS_TOPIC, SCHEDULES_TOPIC, Feed

FROM_FILE = ManagedBy.FILE.value
PERIOD = 0.5
"""Poll interval in seconds: a change on which two polls agree is in effect within two seconds."""
REPORTED = "pipelines"
"""Key under which a process reports the faults of its file."""
MOST_REPORTED = 20
PATIENCE = timedelta(seconds=30)
"""Delay of the next try to create a schedule that exceeded the tenant's limit."""

_SENTENCES = {
    "loaded": "a new pipeline",
    "changed": "a pipeline has changed",
    "broken": "a pipeline has errors: its previous version continues",
    "mended": "a pipeline is valid again",
}

log = structlog.get_logger("foliot.pipelines")


def wanted(definition: PipelineDefinition) -> dict[str, Any] | None:
    """The request for the schedule of a pipeline; None when it has none."""
    if definition.draft is None:
        return None
    return {**definition.draft, "name": definition.name, "action": {"kind": PIPELINE, PIPELINE: definition.name}}


@dataclass(slots=True, kw_only=True)
class PipelineReconciler:
    """Applies the file when it changes. Idempotent: any number of processes may do so.

    An unreadable file or an invalid pipeline changes nothing but the faults that are shown: the last valid definition
    stays in effect.
    """

    store: Database
    book: DefinitionFile
    declaring: Declarations
    tenant_id: str
    name: str = "pipelines"
    topics: Sequence[str] = ()
    troubles: list[str] = field(default_factory=list)
    """Errors of the file, a sentence each."""
    faults: list[FileFault] = field(default_factory=list)
    """Those of them that belong to no pipeline: of the file as a whole, or of an entry without a valid name."""
    _waiting: list[tuple[str, int, PipelineEntry, FileFault]] = field(default_factory=list)
    """Pipelines that exceeded the tenant's limit, and the fault of each."""
    _again_at: datetime | None = None
    _told: set[str] = field(default_factory=set)
    """Messages logged since the file changed, to log each once."""

    @property
    def clock(self) -> Clock:
        return self.declaring.schedules.clock

    @property
    def feed(self) -> Feed:
        return self.declaring.schedules.feed

    async def run_once(self) -> DeclarerRound:
        now = self.clock.now()
        sheet = await self.book.look(now)
        try:
            if sheet is not None:
                await self.apply(sheet)
            elif self._again_at is not None and now >= self._again_at:
                await self._retry()
        except BaseException:
            # It may have been applied in part: the next poll applies it again, which is idempotent.
            self.book.forget()
            raise
        return DeclarerRound(PERIOD)

    async def apply(self, sheet: FileContents) -> None:
        """Applies the contents of the file."""
        faults = [] if sheet.fault is None else [sheet.fault]
        faults += [fault for one in sheet.pipelines if not NAME.fullmatch(one.name) for fault in one.faults]
        if faults != self.faults:
            self.faults = faults
            self.feed.wake(REPORT_TOPIC)
        self.troubles.clear()
        self._waiting.clear()
        self._told.clear()
        self._again_at = None
        standing, live = await self._standing()
        if sheet.fault is not None:
            self._complain(sheet.fault)
            for name in standing:
                await self._blame(self._caller, name, sheet.fault)
            return
        for place, written in enumerate(sheet.pipelines):
            before = standing.get(written.name)
            kept = self._kept(sheet.file, place, written, before, self.clock.now())
            # In a large file usually one pipeline is edited: the others cost no transaction.
            if not _stands(before, kept, live):
                await self._write(sheet.file, place, written)
        named = {written.name for written in sheet.pipelines}
        for name in standing:
            if name not in named and not sheet.partial:
                await self._remove(self._caller, name)

    def report(self) -> Mapping[str, Any]:
        """The faults, for status requests to other processes."""
        if not self.faults:
            return {}
        told = [fault.to_dict() for fault in self.faults[:MOST_REPORTED]]
        return {REPORTED: {"tenant_id": self.tenant_id, "faults": told}}

    @property
    def _caller(self) -> Caller:
        return Caller(self.tenant_id, "pipelines", Role.SYSTEM, Interface.FILE)

    async def _standing(self) -> tuple[Mapping[str, StoredPipeline], Mapping[str, Schedule]]:
        """The stored pipelines by name, and their schedules by id."""
        async with self.store.read(self.tenant_id) as tx:
            kept = await SqlPipelines(tx).all(self.tenant_id)
            return {one.name: one for one in kept}, await SqlPipelines(tx).schedules(self.tenant_id)

    async def _write(self, file: str, place: int, written: PipelineEntry) -> None:
        for fault in written.faults:
            self._complain(fault)
        if not NAME.fullmatch(written.name):
            return
        try:
            did = await self._settle(self._caller, file, place, written)
        except (Invalid, TooMany) as wrong:
            each = wrong.errors if isinstance(wrong, InvalidMany) else [wrong]
            said = f"pipeline {written.name}: its schedule cannot be created: {'; '.join(map(str, each))}"
            fault = FileFault(file=file, line=written.line, column=1, message=said)
            self._complain(fault)
            if isinstance(wrong, TooMany):
                self._waiting.append((file, place, written, fault))
                self._again_at = self.clock.now() + PATIENCE
            did = await self._settle(self._caller, file, place, replace(written, definition=None, faults=[fault]))
        if did:
            log.info(_SENTENCES[did], action=f"pipeline_{did}", pipeline=written.name)

    async def _retry(self) -> None:
        """Retries pipelines that exceeded a limit, unless another process has updated them from a newer file."""
        waiting, self._again_at = list(self._waiting), None
        self._waiting.clear()
        standing, _ = await self._standing()
        for file, place, written, fault in waiting:
            told = str(fault)
            self.troubles[:] = [each for each in self.troubles if each != told]
            if (kept := standing.get(written.name)) is not None and kept.fault == fault:
                await self._write(file, place, written)

    @unchecked_command
    async def _settle(self, ctx: CommandContext, file: str, place: int, written: PipelineEntry) -> str | None:
        """Applies one pipeline; returns what was changed, None for nothing."""
        tx = await ctx.begin(self.declaring.schedules.limiter)
        # Row lock: serialises processes that apply the same file.
        declared = await SqlDeclarations(tx).take(self.tenant_id, FROM_FILE, written.name)
        now = self.clock.now()
        before = await SqlPipelines(tx).get(self.tenant_id, written.name)
        kept = self._kept(file, place, written, before, now)
        if written.definition is not None:
            schedule = await self._schedule(ctx, written.definition, declared)
            kept = replace(kept, schedule_id=None if schedule is None else schedule.id)
            if schedule is None:
                await self._run_first(ctx, written.definition, now)
        if before is not None and replace(before, updated_at=now) == kept:
            return None
        await SqlPipelines(tx).put(kept)
        ctx.wake(SCHEDULES_TOPIC, RUNS_TOPIC)
        return _said(before, kept)

    def _kept(
        self, file: str, place: int, written: PipelineEntry, before: StoredPipeline | None, now: datetime
    ) -> StoredPipeline:
        """The new row; of an invalid pipeline, the last valid definition is kept."""
        sound = written.definition is not None
        return StoredPipeline(
            tenant_id=self.tenant_id,
            name=written.name,
            file=file,
            place=place,
            definition=written.definition if sound or before is None else before.definition,
            steps=list(written.steps) if sound or before is None else before.steps,
            fault=None if sound or not written.faults else written.faults[0],
            yaml=written.yaml,
            schedule_id=None if before is None else before.schedule_id,
            updated_at=now,
        )

    async def _schedule(
        self, ctx: CommandContext, definition: PipelineDefinition, declared: DeclaredSchedule | None
    ) -> Schedule | None:
        """Creates or updates the schedule; whether it is paused is left as it is."""
        of, raw = (FROM_FILE, definition.name), wanted(definition)
        stands = await self._stands(ctx.tx, declared)
        if raw is None:
            if stands is not None:
                await self.declaring.schedules.remove(ctx, stands)
                await SqlDeclarations(ctx.tx).drop(self.tenant_id, *of)
            return None
        if stands is None:
            return (await self.declaring.create(ctx, of, raw)).schedule
        if declared is not None and declared.wanted == digest(raw) and stands.fault is None:
            return stands
        held = await hold(ctx, stands, self.clock.now())
        changed = await self.declaring.schedules.rewrite(ctx, held, raw)
        await self.declaring.note(ctx, of, raw, changed)
        return changed

    async def _stands(self, tx: Transaction, declared: DeclaredSchedule | None) -> Schedule | None:
        if declared is None or declared.schedule_id is None:
            return None
        found = await SqlSchedules(tx).get(self.tenant_id, declared.schedule_id, lock=True)
        return None if found is None or found.status is ScheduleStatus.DELETED else found

    async def _run_first(self, ctx: CommandContext, definition: PipelineDefinition, now: datetime) -> None:
        """A pipeline without a schedule runs once per revision, however many processes read the file."""
        run_id = self.declaring.schedules.new_id(RUN)
        if not await SqlPipelines(ctx.tx).first(self.tenant_id, definition.name, definition.revision, run_id):
            return
        await SqlRuns(ctx.tx).add([request(ctx.caller, run_id, definition.name, DEFAULT_QUEUE)], now)
        became = {"pipeline": definition.name, "revision": definition.revision}
        ctx.audit(AuditedChange("run", Thing.RUN, run_id, became=became), at=now)
        ctx.wake(RUNS_TOPIC)

    @unchecked_command
    async def _blame(self, ctx: CommandContext, name: str, fault: FileFault) -> None:
        tx = await ctx.begin()
        await SqlDeclarations(tx).take(self.tenant_id, FROM_FILE, name)
        kept = await SqlPipelines(tx).get(self.tenant_id, name)
        if kept is not None and kept.fault != fault:
            await SqlPipelines(tx).put(replace(kept, fault=fault, updated_at=self.clock.now()))

    @unchecked_command
    async def _remove(self, ctx: CommandContext, name: str) -> None:
        tx = await ctx.begin()
        stands = await self._stands(tx, await SqlDeclarations(tx).take(self.tenant_id, FROM_FILE, name))
        if stands is not None:
            await self.declaring.schedules.remove(ctx, stands)
        await SqlDeclarations(tx).drop(self.tenant_id, FROM_FILE, name)
        waiting = await self._cancel(ctx, name)
        await SqlPipelines(tx).drop(self.tenant_id, name, waiting)
        ctx.wake(SCHEDULES_TOPIC, RUNS_TOPIC)
        ctx.after_commit(lambda: _log_removed(name))

    async def _cancel(self, ctx: CommandContext, name: str) -> Sequence[str]:
        """Cancels its queued runs without a schedule; runs of schedules follow their schedule."""
        waiting = await SqlPipelines(ctx.tx).waiting(self.tenant_id, name)
        if waiting:
            now = self.clock.now()
            await SqlRuns(ctx.tx).cancel(waiting, now, "its file no longer has the pipeline")
            became = {"state": RunState.CANCELLED.value, "pipeline": name}
            ctx.audit(*(AuditedChange("cancel", Thing.RUN, run_id, became=became) for run_id in waiting), at=now)
        return waiting

    def _complain(self, fault: FileFault) -> None:
        told = str(fault)
        self.troubles.append(told)
        if told not in self._told:
            self._told.add(told)
            log.error(told, action="pipeline_refused")


def _log_removed(name: str) -> None:
    log.info("its file no longer has this pipeline, so it was removed", action="pipeline_removed", pipeline=name)


def request(caller: Caller, run_id: str, name: str, queue: str) -> RunRequest:
    """The request for a run without a schedule."""
    action: Mapping[str, Any] = {PIPELINE: name}
    return RunRequest(
        id=run_id,
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        kind=PIPELINE,
        origin=Origin.MANUAL,
        queue=queue,
        priority=DEFAULT_PRIORITY,
        max_attempts=RetryPolicy().max_attempts,
        timeout_seconds=None,
        action=action,
    )


def _stands(before: StoredPipeline | None, kept: StoredPipeline, live: Mapping[str, Schedule]) -> bool:
    """Whether nothing has changed: the row equals the file, and the schedule exists."""
    if before is None or before.fault is not None or replace(before, updated_at=kept.updated_at) != kept:
        return False
    scheduled = kept.definition is not None and kept.definition.draft is not None
    stands = live.get(kept.schedule_id or "")
    return stands is not None and stands.fault is None if scheduled else kept.schedule_id is None


def _said(before: StoredPipeline | None, kept: StoredPipeline) -> str | None:
    if kept.fault is not None:
        return None if before is not None and before.fault == kept.fault else "broken"
    if before is None or before.definition is None:
        return "loaded"
    if kept.definition is not None and before.definition.revision != kept.definition.revision:
        return "changed"
    return "mended" if before.fault is not None else None
