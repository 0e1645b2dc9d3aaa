"""Runs of schedules outside any instant, because a caller asked for one now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.commands.audit import AuditedChange, entry, masked
from foliot.commands.audit_sql import AuditEntry, audit_rows
from foliot.commands.group_commit import small
from foliot.commands.limits import Limiter
from foliot.commands.tenants_sql import SqlTenants
from foliot.core.access import Caller, Thing
from foliot.core.declaration import read
from foliot.core.errors import Conflict, FoliotError
from foliot.core.ids import RUN
from foliot.core.limits import TenantLimits
from foliot.core.ports import Clock
from foliot.core.secrets import kept
from foliot.db.database import Database, Transaction
from foliot.engine.model.run import MANUAL_QUEUE, Origin
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import CheckFor, read_action
from foliot.features.schedules.model.request import RunNowRequest
from foliot.wakeups.feed import RUNS_TOPIC, Feed


@dataclass(frozen=True, slots=True)
class RunOrder:
    """A caller's request for a run of a schedule, with its overrides and the tenant's limits."""

    caller: Caller
    schedule_id: str
    raw: object
    limits: TenantLimits


@dataclass(frozen=True, slots=True)
class _StartedRun:
    """A new run with its audit entry, and the view of it to answer with."""

    run: RunRequest
    audit: AuditEntry
    view: RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNow:
    """Creates runs, one in the caller's transaction or several in one of its own."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]
    check_for: CheckFor

    async def one(self, tx: Transaction, wanted: RunOrder, schedule: Schedule) -> RunView:
        """Create a run of a schedule that is locked."""
        now = self.clock.now()
        begun = self._begin(wanted, schedule, now)
        await SqlRuns(tx).add([begun.run], now, audit_rows([begun.audit]))
        if begun.run.action is not None:
            await self.limiter.stored(tx, wanted.caller, wanted.limits)
        return begun.view

    async def several(self, tenant_id: str, group: Sequence[RunOrder]) -> Sequence[RunView | Exception | None]:
        """Group commit of concurrent requests. None for one to be run alone: its schedule is unknown or locked.

        A request that overrides a large action is run alone too: the run carries all of it, however little is changed.
        """
        begun: list[_StartedRun] = []
        answers: list[RunView | Exception | None] = []
        try:
            async with self.store.begin(tenant_id) as tx:
                now = self.clock.now()
                free = await SqlSchedules(tx).free(tenant_id, sorted({wanted.schedule_id for wanted in group}))
                for wanted in group:
                    schedule = free.get(wanted.schedule_id)
                    if schedule is None or (wanted.raw and not small(schedule.action)):
                        answers.append(None)
                        continue
                    if wanted.raw and await self._is_full(tx, wanted):
                        answers.append(None)
                        continue
                    try:
                        begun.append(self._begin(wanted, schedule, now))
                    except FoliotError as refused:
                        answers.append(refused)
                    else:
                        answers.append(begun[-1].view)
                if begun:
                    entries = audit_rows([started.audit for started in begun])
                    await SqlRuns(tx).add([started.run for started in begun], now, entries)
        except BaseException:
            self.limiter.undo_run(tenant_id, len(begun))
            raise
        if begun:
            self.feed.wake(RUNS_TOPIC)
        return answers

    async def _is_full(self, tx: Transaction, wanted: RunOrder) -> bool:
        """Whether its tenant's storage limit is reached; the request is refused when it is run alone."""
        most = wanted.limits.stored_bytes
        return most is not None and await SqlTenants(tx).stored_bytes(wanted.caller.tenant_id) >= most

    def _begin(self, wanted: RunOrder, schedule: Schedule, now: datetime) -> _StartedRun:
        if schedule.status is ScheduleStatus.DELETED:
            raise Conflict(f"schedule {schedule.id} is deleted")
        if schedule.fault is not None:
            raise Conflict(f"schedule {schedule.id} is damaged ({schedule.fault}): resume or replace it first")
        caller, spec = wanted.caller, schedule.spec
        run = RunRequest(
            id=self.new_id(RUN),
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            kind=spec.kind,
            origin=Origin.MANUAL,
            queue=MANUAL_QUEUE,
            priority=spec.priority,
            max_attempts=spec.retry.max_attempts,
            timeout_seconds=spec.timeout_seconds,
            schedule_id=schedule.id,
            version=schedule.version,
            action=self._override(schedule, wanted),
        )
        became = masked({"run_id": run.id} | ({} if run.action is None else {"action": run.action}))
        audit = entry(caller, now, AuditedChange("run_now", Thing.SCHEDULE, schedule.id, became=became))
        self.limiter.run(caller, wanted.limits)
        return _StartedRun(run, audit, run.made(now, schedule.name))

    def _override(self, schedule: Schedule, wanted: RunOrder) -> dict[str, Any] | None:
        payload = read(RunNowRequest, wanted.raw).payload
        if payload is None:
            return None
        check = self.check_for(wanted.caller)
        asked = kept("payload", {**schedule.action, **payload}, schedule.action)
        return read_action("payload", schedule.spec.kind, asked, check)
