"""Everything that may be asked of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from foliot.commands.idempotency import EACH_TIME, Once
from foliot.commands.limits import Limiter
from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.errors import Conflict
from foliot.core.ids import RUN
from foliot.core.limits import Limits
from foliot.core.ports import Clock
from foliot.core.queue_name import same_queue
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.event import Event
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.views import Page, RunRequest, RunView
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.runs import SqlRuns
from foliot.features.articles.model.article import KIND as ARTICLES
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.features.audit_log.usecases import Change, differences, record
from foliot.features.runs.usecases.backlog import Backlog
from foliot.features.runs.usecases.replay import Course, as_it_was
from foliot.features.schedules.usecases.schedules import find_run, find_schedule
from foliot.wakeups.feed import ARTICLES_TOPIC, PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """List, look, cancel, repeat, follow."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]
    backlog: Backlog = field(default_factory=Backlog)
    """Whoever reads a long log from its beginning takes turns with the others who do."""

    async def list(self, caller: Caller, page: Page, **filters: str | None) -> Sequence[RunView]:
        """`filters`: state, schedule_id, kind, queue."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            filters["queue"] = same_queue(filters.get("queue") or "") or None
            return await with_attempts(tx, await SqlRuns(tx).find(caller.tenant_id, page, **filters))

    async def of_schedule(self, caller: Caller, schedule_id: str, page: Page, state: str | None) -> Sequence[RunView]:
        """The runs of one schedule, newest first."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            await find_schedule(tx, caller, schedule_id)
            found = await SqlRuns(tx).find(caller.tenant_id, page, schedule_id=schedule_id, state=state)
            return await with_attempts(tx, found)

    async def get(self, caller: Caller, run_id: str) -> RunView:
        """A run with its ended attempts."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            return (await with_attempts(tx, [await find_run(tx, caller, run_id)], whole=True))[0]

    async def neighbours(self, caller: Caller, run_id: str) -> tuple[str | None, str | None]:
        """The runs of its schedule right before and after it; a run without a schedule has none."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            run = await find_run(tx, caller, run_id)
            if run.schedule_id is None:
                return None, None
            return await SqlRuns(tx).neighbours(caller.tenant_id, run.schedule_id, run_id)

    @again
    async def cancel(self, caller: Caller, run_id: str, once: Once = EACH_TIME) -> RunView:
        """A waiting run ends now, a running one is asked to stop. If it ended first, that stands."""
        demand(caller, Verb.WRITE, Thing.RUN)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            (run,) = await with_attempts(tx, [await cancel_run(tx, caller, run_id, now)])
            await once.keep(tx, caller, run)
        self.feed.wake(RUNS_TOPIC, PARKED_TOPIC, run_topic(run_id))
        return run

    @again
    async def retry(self, caller: Caller, run_id: str, once: Once = EACH_TIME) -> RunView:
        """A new run that does the same again and names the old one as its parent."""
        demand(caller, Verb.RUN, Thing.RUN)
        limits = await self.limiter.of(caller.tenant_id)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            run = await self.retry_run(tx, caller, run_id, limits, now)
            await once.keep(tx, caller, run)
        # A batch has its items at once.
        self.feed.wake(RUNS_TOPIC, *([ARTICLES_TOPIC] if run.kind == ARTICLES else []))
        return run

    async def retry_run(self, tx: Transaction, caller: Caller, run_id: str, limits: Limits, now: datetime) -> RunView:
        """The same inside a larger change; whoever does wakes those who care afterwards."""
        old = await find_run(tx, caller, run_id)
        if not old.state.final:
            raise Conflict(f"run {run_id} has not ended: {old.state.value}")
        self.limiter.run(caller, limits)
        run = (await repeat(tx, caller, [as_it_was(old)], Origin.RETRY, self.new_id, now))[0]
        await record(tx, caller, now, Change("retry", Thing.RUN, run_id, became={"run_id": run.id}))
        return run

    async def events(self, caller: Caller, run_id: str, after: int, limit: int) -> tuple[RunView, Sequence[Event]]:
        """The run as it stands and its events after that number, read at one moment."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            run = await find_run(tx, caller, run_id)
            return run, await SqlRuns(tx).events(run_id, after, limit)


async def cancel_run(tx: Transaction, caller: Caller, run_id: str, now: datetime) -> RunView:
    """Cancel one inside a larger change; whoever does wakes those who care afterwards."""
    run = await find_run(tx, caller, run_id)
    if run.kind == ARTICLES and not run.state.final:
        # Before the run is locked: whoever finishes an article locks in this order.
        await SqlArticles(tx).forsake([run_id], now)
    run = await find_run(tx, caller, run_id, lock=True)
    if run.state.final and run.state is not RunState.CANCELLED:
        raise Conflict(f"run {run_id} has ended: {run.state.value}")
    if run.state.final:
        return run
    # Nothing goes on elsewhere for a job of articles: what it waited for is dropped above, so it ends here.
    at_once = run.kind == ARTICLES
    await SqlRuns(tx).cancel([run_id], now, f"cancelled by {caller.user_id}", at_once=at_once)
    if run.schedule_id is not None:
        await SqlClaims(tx).release(now, [run.schedule_id])
    old, run = run, await find_run(tx, caller, run_id)
    was, became = differences(_standing(old), _standing(run))
    if became:
        await record(tx, caller, now, Change("cancel", Thing.RUN, run_id, was, became))
    return run


async def with_attempts(tx: Transaction, runs: Sequence[RunView], *, whole: bool = False) -> list[RunView]:
    """The same runs, each with its ended attempts: one question for all of them."""
    # One that never started has none.
    found = await SqlRuns(tx).attempts([run.id for run in runs if run.started_at is not None], whole=whole)
    return [replace(run, attempts=tuple(found.get(run.id, ()))) for run in runs]


async def repeat(
    tx: Transaction,
    caller: Caller,
    courses: Sequence[Course],
    origin: Origin,
    new_id: Callable[[str], str],
    now: datetime,
) -> list[RunView]:
    """New runs that take these courses, each the child of the run that it repeats."""
    # What a submitted batch wants stands in its items alone.
    wanted = {
        old.id: wishes
        for old in (course.old for course in courses)
        if old.kind == ARTICLES and "articles" not in (old.action or {}) and old.schedule_id is None
        if (wishes := await SqlArticles(tx).wishes(old.id))
    }
    requests = [
        RunRequest(
            id=new_id(RUN),
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            kind=course.old.kind,
            origin=origin,
            queue=course.queue,
            priority=course.priority,
            max_attempts=course.max_attempts,
            timeout_seconds=course.timeout_seconds,
            schedule_id=course.old.schedule_id,
            version=course.version,
            action=course.action,
            parent_id=course.old.id,
            fills=course.old.fills or course.old.scheduled_for,
            parked=course.old.id in wanted,
        )
        for course in courses
    ]
    await SqlRuns(tx).add(requests, now)
    for course, request in zip(courses, requests, strict=True):
        if wishes := wanted.get(course.old.id):
            counts = await SqlArticles(tx).submit(caller.tenant_id, request.id, wishes, now, timedelta())
            await SqlBatchRuns(tx).begin(request.id, counts, now)
    return await SqlRuns(tx).several(caller.tenant_id, [request.id for request in requests])


def _standing(run: RunView) -> dict[str, object]:
    return {"state": run.state.value, "cancel_requested": run.cancel_requested}
