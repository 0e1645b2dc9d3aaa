"""Use cases of jobs: runs and schedules of crawls and article batches, with the statuses of a crawl API."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from foliot.commands.envelope import QueryContext, query, requires
from foliot.core.access import Caller, Thing, Verb, require
from foliot.core.errors import Conflict, Invalid, NotFound
from foliot.core.ids import SCHEDULE
from foliot.db.database import Database, Transaction
from foliot.engine.model.run import CLAIMABLE, OPEN, RunState
from foliot.engine.model.run_sort import RunSort
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.run_items import RunItemsPage
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.articles.model import KIND as ARTICLES
from foliot.features.articles.model import ArticleCounts
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.crawls.model import CRAWL, JobSubject
from foliot.features.jobs.sql import SqlJobs
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules

T = TypeVar("T")

KINDS = frozenset({CRAWL, ARTICLES})
"""Kinds of actions whose runs are jobs."""


class JobStatus(StrEnum):
    """The status of a job, as the crawl API names it."""

    PENDING = "pending"
    RUNNING = "running"
    FINISHED = "finished"
    ERROR = "error"
    CANCELLED = "cancelled"


STATUS: Mapping[RunState, JobStatus] = {
    RunState.QUEUED: JobStatus.PENDING,
    RunState.RETRYING: JobStatus.PENDING,
    RunState.RUNNING: JobStatus.RUNNING,
    RunState.SUCCESS: JobStatus.FINISHED,
    RunState.PARTIAL: JobStatus.FINISHED,
    RunState.DEGRADED: JobStatus.FINISHED,
    RunState.FAILED: JobStatus.ERROR,
    RunState.DEAD_LETTER: JobStatus.ERROR,
    RunState.CANCELLED: JobStatus.CANCELLED,
}
"""The status for each state of a run."""


class ArticleJobStatus(StrEnum):
    """The status of a batch of articles, as the article API names it."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


ARTICLE_STATUS: Mapping[JobStatus, ArticleJobStatus] = {
    JobStatus.PENDING: ArticleJobStatus.PENDING,
    JobStatus.RUNNING: ArticleJobStatus.IN_PROGRESS,
    JobStatus.FINISHED: ArticleJobStatus.COMPLETED,
    JobStatus.ERROR: ArticleJobStatus.FAILED,
    JobStatus.CANCELLED: ArticleJobStatus.CANCELLED,
}


_ALIASES = {"in_progress": JobStatus.RUNNING, "completed": JobStatus.FINISHED, "failed": JobStatus.ERROR}
"""Names that other schedulers use for the same statuses."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job: a run, or a schedule with its newest run."""

    id: str
    run: RunView | None
    schedule: Schedule | None = None
    counts: ArticleCounts | None = None
    """Progress of a batch of articles."""
    subject: JobSubject | None = None

    @property
    def word(self) -> JobStatus | ArticleJobStatus:
        """Its status, under the name of its API."""
        return ARTICLE_STATUS[self.status] if self.kind == ARTICLES else self.status

    @property
    def moving(self) -> str:
        """The name of its status while it is in progress."""
        return (ArticleJobStatus.IN_PROGRESS if self.kind == ARTICLES else JobStatus.RUNNING).value

    @property
    def kind(self) -> str:
        return self.run.kind if self.run is not None else self.schedule.spec.kind if self.schedule is not None else ""

    @property
    def status(self) -> JobStatus:
        """The newest run's. A schedule that never ran is pending; a deleted one is cancelled, if nothing runs."""
        runs = self.run is not None and not self.run.state.final
        if self.schedule is not None and self.schedule.status is ScheduleStatus.DELETED and not runs:
            return JobStatus.CANCELLED
        return JobStatus.PENDING if self.run is None else STATUS[self.run.state]

    @property
    def next_run(self) -> datetime | None:
        """When its schedule fires next, or its run is retried."""
        if self.schedule is not None:
            return self.schedule.next_run_at
        waits = self.run is not None and self.run.state is RunState.RETRYING
        return self.run.ready_at if self.run is not None and waits else None

    @property
    def created_at(self) -> datetime | None:
        found = self.schedule or self.run
        return None if found is None else found.created_at

    @property
    def updated_at(self) -> datetime | None:
        """When it last changed."""
        run, schedule = self.run, self.schedule
        moments = [] if run is None else [run.created_at, run.started_at, run.finished_at]
        moments += [] if schedule is None else [schedule.updated_at]
        return max((moment for moment in moments if moment is not None), default=None)

    @property
    def spider_job_id(self) -> str | None:
        return None if self.run is None else spider_job_id(self.run)

    @property
    def progress(self) -> Mapping[str, Any] | None:
        """Progress of the newest run's effect, where it reports one."""
        if self.counts is not None:
            counts = self.counts
            progress = {"total": counts.total, "completed": counts.completed, "failed": counts.failed}
            return progress | {"cancelled": counts.cancelled}
        return _inside(self.run, "progress", dict)


def spider_job_id(run: RunView) -> str | None:
    """The id of the crawl in Scrapyd."""
    return _inside(run, "jobid", str)


def _inside(run: RunView | None, name: str, kind: type[T]) -> T | None:
    handle = None if run is None else run.handle
    found = handle.get(name) if isinstance(handle, Mapping) else None
    return found if isinstance(found, kind) else None


@dataclass(frozen=True, slots=True)
class CancelledParts:
    """A cancelled job: how many of its runs were waiting, and how many are being stopped."""

    job_id: str
    removed: int
    stopping: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Read, list and cancel jobs, and read their items."""

    store: Database
    runs: Runs
    schedules: Schedules

    @query(Verb.READ, Thing.RUN)
    async def get(self, ctx: QueryContext, job_id: str) -> JobRecord:
        """By a run's id, or a schedule's with its newest run."""
        _check_schedule(ctx.caller, job_id)
        async with ctx.read() as tx:
            return await _find(tx, ctx.caller, job_id)

    @query(Verb.READ, Thing.RUN)
    async def whole(self, ctx: QueryContext, job_id: str) -> tuple[JobRecord, Sequence[str] | None]:
        """The same with the ids of its articles, in the order of the request; None for a job of another kind."""
        _check_schedule(ctx.caller, job_id)
        async with ctx.read() as tx:
            job = await _find(tx, ctx.caller, job_id)
            if job.kind != ARTICLES:
                return job, None
            return job, [] if job.run is None else await SqlArticles(tx).ids(job.run.id)

    @query(Verb.READ, Thing.RUN)
    async def list(
        self,
        ctx: QueryContext,
        status: str | None = None,
        *,
        kind: str | None = None,
        limit: int = 50,
        skip: int = 0,
        sort: RunSort | None = None,
    ) -> tuple[Sequence[JobRecord], int]:
        """Runs, newest first or in an order, and how many there are. What is planned is in the list of schedules."""
        states = states_of(status)
        async with ctx.read() as tx:
            kinds = KINDS if kind is None else {kind}
            ids, total = await SqlJobs(tx).find(ctx.tenant_id, kinds, states, limit, skip, sort)
            found = await SqlRuns(tx).several(ctx.tenant_id, ids)
            counts = await _counts(tx, found)
            about = await SqlJobs(tx).subjects(ids)
        return [JobRecord(run.id, run, counts=counts.get(run.id), subject=about.get(run.id)) for run in found], total

    @requires(Verb.READ, Thing.RUN)
    async def active(self, caller: Caller, limit: int) -> Sequence[JobRecord]:
        """Runs that have not ended, newest first."""
        found, _ = await self.list(caller, ",".join(sorted(OPEN)), limit=limit)
        return found

    @query(Verb.READ, Thing.RUN)
    async def after(self, ctx: QueryContext, job_id: str, limit: int) -> Sequence[JobRecord]:
        """Runs that were created after this one, oldest first; also those that have ended meanwhile."""
        async with ctx.read() as tx:
            ids = await SqlJobs(tx).after(ctx.tenant_id, KINDS, job_id, limit)
            found = await SqlRuns(tx).several(ctx.tenant_id, ids) if ids else []
            counts = await _counts(tx, found)
        return [JobRecord(run.id, run, counts=counts.get(run.id)) for run in found]

    @query(Verb.READ, Thing.RUN)
    async def results(self, ctx: QueryContext, job_id: str, skip: int, limit: int) -> tuple[JobRecord, RunItemsPage]:
        """The items so far of the newest attempt of the job's newest run."""
        _check_schedule(ctx.caller, job_id)
        async with ctx.read() as tx:
            job = await _find(tx, ctx.caller, job_id)
            return job, await _items(tx, ctx.caller, job, skip, limit)

    @query(Verb.READ, Thing.RUN)
    async def items(self, ctx: QueryContext, job: JobRecord, skip: int, limit: int) -> RunItemsPage:
        """The same for a job that was read before: all pages are then of the same attempt."""
        async with ctx.read() as tx:
            return await _items(tx, ctx.caller, job, skip, limit)

    @query(Verb.READ, Thing.RUN)
    async def of_schedule(self, ctx: QueryContext, job: JobRecord, run_id: str) -> JobRecord:
        """The schedule's job with another of its runs in place of the newest; as it was when there is no such run."""
        async with ctx.read() as tx:
            run = await SqlRuns(tx).get(ctx.tenant_id, run_id)
        return job if run is None or run.schedule_id != job.id else replace(job, run=run)

    @requires(Verb.WRITE, Thing.RUN)
    async def cancel(self, caller: Caller, job_id: str) -> CancelledParts:
        """Waiting runs end now, running ones are asked to stop; a schedule is deleted. `Conflict` when it has ended."""
        job = await self.get(caller, job_id)
        if job.schedule is not None:
            return await self._cancel_schedule(caller, job.schedule)
        run = job.run
        if run is None or run.state.final:
            raise Conflict(f"job {job_id} has already ended: {job.status.value}")
        run = await self.runs.cancel(caller, run.id)
        if run.kind == ARTICLES:
            async with self.store.read(caller.tenant_id) as tx:
                counts = await SqlArticles(tx).counts([run.id])
            return CancelledParts(job_id, counts[run.id].cancelled if run.id in counts else 1, 0)
        return CancelledParts(job_id, int(run.state.final), int(not run.state.final))

    @requires(Verb.WRITE, Thing.SCHEDULE)
    async def _cancel_schedule(self, caller: Caller, schedule: Schedule) -> CancelledParts:
        open_runs = await self._open_runs(caller, schedule.id)
        if schedule.status in {ScheduleStatus.DELETED, ScheduleStatus.COMPLETED} and not open_runs:
            raise Conflict(f"job {schedule.id} has already ended: its schedule is {schedule.status.value}")
        # First delete the schedule so that no more are created, then cancel those there are.
        await self.schedules.delete(caller, schedule.id)
        for run in open_runs:
            if run.state not in CLAIMABLE:
                with suppress(Conflict):
                    await self.runs.cancel(caller, run.id)
        waiting = sum(run.state in CLAIMABLE for run in open_runs)
        return CancelledParts(schedule.id, waiting, len(open_runs) - waiting)

    async def _open_runs(self, caller: Caller, schedule_id: str) -> Sequence[RunView]:
        async with self.store.read(caller.tenant_id) as tx:
            ids = await SqlRuns(tx).open_ids(schedule_id, waiting_only=False)
            return await SqlRuns(tx).several(caller.tenant_id, ids)


def _check_schedule(caller: Caller, job_id: str) -> None:
    """A job that is a schedule needs the permission to read schedules too."""
    if _is_schedule(job_id):
        require(caller, Verb.READ, Thing.SCHEDULE)


def _is_schedule(job_id: str) -> bool:
    return job_id.startswith(f"{SCHEDULE}_")


async def _items(tx: Transaction, caller: Caller, job: JobRecord, skip: int, limit: int) -> RunItemsPage:
    if job.run is None:
        return RunItemsPage((), 0)
    return await SqlJobs(tx).items(caller.tenant_id, job.run.id, job.run.attempt, skip, limit)


async def _counts(tx: Transaction, runs: Sequence[RunView]) -> Mapping[str, ArticleCounts]:
    """Progress of the article batches among these."""
    ids = [run.id for run in runs if run.kind == ARTICLES]
    return await SqlArticles(tx).counts(ids) if ids else {}


async def _find(tx: Transaction, caller: Caller, job_id: str) -> JobRecord:
    if _is_schedule(job_id):
        schedule = await SqlSchedules(tx).get(caller.tenant_id, job_id)
        if schedule is not None and schedule.spec.kind in KINDS:
            newest = await SqlRuns(tx).find(caller.tenant_id, PageRequest(1), schedule_id=job_id)
            counts = await _counts(tx, newest)
            run = newest[0] if newest else None
            about = await SqlJobs(tx).subjects([one.id for one in newest])
            parts = (None, None) if run is None else (counts.get(run.id), about.get(run.id))
            return JobRecord(job_id, run, schedule, *parts)
    else:
        run = await SqlRuns(tx).get(caller.tenant_id, job_id)
        if run is not None and run.kind in KINDS:
            about = await SqlJobs(tx).subjects([job_id])
            return JobRecord(job_id, run, None, (await _counts(tx, [run])).get(job_id), about.get(job_id))
    raise NotFound("job", job_id)


def states_of(status: str | None) -> Collection[RunState]:
    """The states that a filter means: a status, in any case, or a state of runs; all of them when there is none."""
    if not status:
        return frozenset(RunState)
    if "," in status:
        return {state for part in status.split(",") for state in states_of(part)}
    word = status.lower()
    if word in set(RunState) - {RunState.FAILED}:
        return {RunState(word)}
    wanted = _ALIASES.get(word, word)
    found = {state for state, called in STATUS.items() if called == wanted}
    if not found:
        known = dict.fromkeys([*map(str, JobStatus), *_ALIASES, *map(str, RunState)])
        raise Invalid("status_filter", f"must be one of {', '.join(known)}", got=status)
    return found
