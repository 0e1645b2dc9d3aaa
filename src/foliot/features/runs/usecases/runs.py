"""Use cases of runs: list, read, cancel, retry, events.

Throttles readers that catch up on a backlog: one batch at a time, and a pause after each for other requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from foliot.commands.audit import AuditedChange, differences
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Thing, Verb
from foliot.core.errors import Conflict
from foliot.core.ids import RUN
from foliot.core.ports import Clock
from foliot.core.queue_name import same_queue
from foliot.db.database import Database
from foliot.engine.model.run import Event, Origin, RunState
from foliot.engine.model.views import PageRequest, RunRequest, RunView
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.follows import SqlFollowUps
from foliot.engine.sql.runs import SqlRuns, with_attempts
from foliot.features.articles.config import options_of
from foliot.features.articles.model import KIND as ARTICLES
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.sql.batch_runs import SqlBatchRuns
from foliot.features.runs.usecases.replay import ReplayPlan, as_it_was
from foliot.features.schedules.usecases.schedules import find_run, find_schedule
from foliot.wakeups.feed import ARTICLES_TOPIC, PARKED_TOPIC, RUNS_TOPIC, Feed, run_topic

LONGEST_REST = 0.05


@dataclass(slots=True)
class ReadTurns:
    """A lock around batches: decompressing and encoding one blocks the event loop; many readers would saturate it."""

    longest_rest: float = LONGEST_REST
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def turn(self, *, needed: bool = True) -> AsyncIterator[None]:
        """Read and encode one batch inside. A reader that misses only the newest events does not need the lock."""
        if not needed:
            yield
            return
        loop = asyncio.get_running_loop()
        async with self._turn:
            began = loop.time()
            yield
            # As long as the batch took, so that catching up takes at most half of the loop's time.
            await asyncio.sleep(min(loop.time() - began, self.longest_rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """List, read, cancel and retry runs, and read their events."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]
    backlog: ReadTurns = field(default_factory=ReadTurns)
    """Readers of a long log take turns while they catch up."""

    @query(Verb.READ, Thing.RUN)
    async def list(self, ctx: QueryContext, /, page: PageRequest, **filters: str | None) -> Sequence[RunView]:
        """`filters`: state, schedule_id, kind, queue."""
        async with ctx.read() as tx:
            filters["queue"] = same_queue(filters.get("queue") or "") or None
            return await with_attempts(tx, await SqlRuns(tx).find(ctx.tenant_id, page, **filters))

    @query(Verb.READ, Thing.RUN)
    async def of_schedule(
        self, ctx: QueryContext, schedule_id: str, page: PageRequest, state: str | None
    ) -> Sequence[RunView]:
        """The runs of one schedule, newest first."""
        async with ctx.read() as tx:
            await find_schedule(tx, ctx.caller, schedule_id)
            found = await SqlRuns(tx).find(ctx.tenant_id, page, schedule_id=schedule_id, state=state)
            return await with_attempts(tx, found)

    @query(Verb.READ, Thing.RUN)
    async def get(self, ctx: QueryContext, run_id: str) -> RunView:
        """A run with its ended attempts."""
        async with ctx.read() as tx:
            return (await with_attempts(tx, [await find_run(tx, ctx.caller, run_id)], whole=True))[0]

    @query(Verb.READ, Thing.RUN)
    async def neighbours(self, ctx: QueryContext, run_id: str) -> tuple[str | None, str | None]:
        """The runs of its schedule right before and after it; a run without a schedule has none."""
        async with ctx.read() as tx:
            run = await find_run(tx, ctx.caller, run_id)
            if run.schedule_id is None:
                return None, None
            return await SqlRuns(tx).neighbours(ctx.tenant_id, run.schedule_id, run_id)

    @query(Verb.READ, Thing.RUN)
    async def children(self, ctx: QueryContext, run_id: str, page: PageRequest) -> Sequence[RunView]:
        """The runs that the end of this one has made."""
        async with ctx.read() as tx:
            await find_run(tx, ctx.caller, run_id)
            return await with_attempts(tx, await SqlFollowUps(tx).children(ctx.tenant_id, run_id, page))

    @query(Verb.READ, Thing.RUN)
    async def parents(self, ctx: QueryContext, run_id: str) -> Sequence[RunView]:
        """The runs whose ends have made this one."""
        async with ctx.read() as tx:
            await find_run(tx, ctx.caller, run_id)
            return await with_attempts(tx, await SqlFollowUps(tx).parents(ctx.tenant_id, run_id))

    @command(Verb.WRITE, Thing.RUN)
    async def cancel(self, ctx: CommandContext, run_id: str, once: IdempotentRequest = EACH_TIME) -> RunView:
        """A waiting run ends now, a running one is asked to stop. If it has ended first, its outcome stands."""
        tx = await ctx.begin()
        (run,) = await with_attempts(tx, [await cancel_run(ctx, run_id)])
        return run

    @command(Verb.RUN, Thing.RUN)
    async def retry(self, ctx: CommandContext, run_id: str, once: IdempotentRequest = EACH_TIME) -> RunView:
        """A new run of the same work, with the old one as its parent."""
        await ctx.begin(self.limiter)
        return await self.retry_run(ctx, run_id)

    async def retry_run(self, ctx: CommandContext, run_id: str) -> RunView:
        """The same as part of the caller's transaction, which has read the tenant's limits."""
        old = await find_run(ctx.tx, ctx.caller, run_id)
        if not old.state.final:
            raise Conflict(f"run {run_id} has not ended: {old.state.value}")
        self.limiter.run(ctx.caller, ctx.limits)
        (run,) = await repeat(ctx, [as_it_was(old)], Origin.RETRY, self.new_id)
        ctx.audit(AuditedChange("retry", Thing.RUN, run_id, became={"run_id": run.id}))
        return run

    @query(Verb.READ, Thing.RUN)
    async def events(self, ctx: QueryContext, run_id: str, after: int, limit: int) -> tuple[RunView, Sequence[Event]]:
        """The run, and its events after that number, read in one snapshot."""
        async with ctx.read() as tx:
            run = await find_run(tx, ctx.caller, run_id)
            return run, await SqlRuns(tx).events(run_id, after, limit)


async def cancel_run(ctx: CommandContext, run_id: str) -> RunView:
    """Cancel one as part of the caller's transaction."""
    tx, now = ctx.tx, ctx.now
    ctx.wake(RUNS_TOPIC, PARKED_TOPIC, run_topic(run_id))
    run = await find_run(tx, ctx.caller, run_id)
    if run.kind == ARTICLES and not run.state.final:
        # Before the run is locked: a transaction that finishes an article locks in this order.
        await SqlArticles(tx).release([run_id], now)
    run = await find_run(tx, ctx.caller, run_id, lock=True)
    if run.state.final and run.state is not RunState.CANCELLED:
        raise Conflict(f"run {run_id} has ended: {run.state.value}")
    if run.state.final:
        return run
    # A batch of articles has no effect elsewhere to stop: its articles are released above, so it ends here.
    at_once = run.kind == ARTICLES
    await SqlRuns(tx).cancel([run_id], now, f"cancelled by {ctx.caller.user_id}", at_once=at_once)
    if run.schedule_id is not None:
        await SqlClaims(tx).release(now, [run.schedule_id])
    old, run = run, await find_run(tx, ctx.caller, run_id)
    was, became = differences(_standing(old), _standing(run))
    if became:
        ctx.audit(AuditedChange("cancel", Thing.RUN, run_id, was, became))
    return run


async def repeat(
    ctx: CommandContext, courses: Sequence[ReplayPlan], origin: Origin, new_id: Callable[[str], str]
) -> list[RunView]:
    """Create runs by these plans, each a child of the run that it repeats."""
    tx, now = ctx.tx, ctx.now
    # The articles of a submitted batch are stored in its items alone.
    wanted = {
        old.id: wishes
        for old in (course.old for course in courses)
        if old.kind == ARTICLES and "articles" not in (old.action or {}) and old.schedule_id is None
        if (wishes := await SqlArticles(tx).wishes(old.id))
    }
    # The items of a batch are ready at once.
    ctx.wake(RUNS_TOPIC, *([ARTICLES_TOPIC] if wanted else []))
    requests = [
        RunRequest(
            id=new_id(RUN),
            tenant_id=ctx.tenant_id,
            user_id=ctx.caller.user_id,
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
        if items := wanted.get(course.old.id):
            counts = await SqlArticles(tx).submit(
                ctx.tenant_id, request.id, items, now, timedelta(), options_of(request.action or {})
            )
            await SqlBatchRuns(tx).begin(request.id, counts, now)
    return await SqlRuns(tx).several(ctx.tenant_id, [request.id for request in requests])


def _standing(run: RunView) -> dict[str, object]:
    return {"state": run.state.value, "cancel_requested": run.cancel_requested}
