"""Runs of batches: parked by the transaction that creates their items, ended by the one that ends the last item.

No process holds the run of a batch: there is no lease, and the fence is read from the row that the transaction has
locked. Locks are taken in one order everywhere: articles, items, counters, runs. Only a batch without items is locked
before its articles, because no other transaction reaches its run through them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, and_, bindparam, func, literal_column, null, or_, select, update

from foliot.core.ids import new_id
from foliot.db.batch_statements import Change
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.run import BATCH_CHECK, OPEN, Ended, EventLine, EventType, Fence, RunState, Succeeded
from foliot.engine.model.views import ClaimedRun
from foliot.engine.sql import endings
from foliot.engine.sql.claimed_row import ROW, SqlClaimedRows
from foliot.engine.sql.log_chunks import LogChunkWriter, position_columns
from foliot.engine.sql.queues import open_to
from foliot.engine.sql.tables import log_chunks, queues, runs
from foliot.features.articles.model import KIND, ArticleCounts, EndedBatches, verdict
from foliot.features.articles.sql.views import articles_with
from foliot.features.expectations.model.facts import EXPECT, DataFacts, seconds_between
from foliot.features.expectations.model.judge import DataVerdict, judge_data
from foliot.features.expectations.model.read import fields_of
from foliot.features.expectations.sql import SqlExpectations

NUMBERED = ("id", "tenant_id", "state", "attempt", "event_seq", "log_bytes", "log_dropped")
"""Columns of a run that numbering its next events needs."""


@dataclass(frozen=True, slots=True)
class DueBatches:
    """Due batches: queued ones without items, and parked ones; when the next of the rest is due."""

    waiting: Sequence[str] = ()
    parked: Sequence[str] = ()
    next_at: datetime | None = None


@cache
def _coming(limit: int, some_queues: bool) -> Select[Any]:  # noqa: FBT001 -- part of the cache's key
    """The limit is literal in the statement: a generic plan might read every parked run."""
    paused = select(queues.c.name).where(queues.c.name == runs.c.queue, queues.c.paused_at.is_not(None)).exists()
    query = select(runs.c.id, runs.c.state, runs.c.poll_at).where(
        runs.c.poll_at.is_not(None),
        runs.c.kind == KIND,
        # A batch in a paused queue is not opened, and must not hide the others behind the limit.
        or_(runs.c.state != RunState.QUEUED, ~paused),
    )
    if some_queues:
        query = query.where(runs.c.queue.in_(bindparam("queues", expanding=True)))
    return query.order_by(runs.c.poll_at).limit(literal_column(str(limit)))


@cache
def _waiting(dialect: Dialect) -> Select[Any]:
    query = select(*ROW).where(
        runs.c.id == bindparam("run_id"),
        runs.c.kind == KIND,
        runs.c.state == RunState.QUEUED,
        runs.c.poll_at <= bindparam("now", type_=Moment()),
        # A row that an operator requeued without attempts left would violate its CHECK.
        runs.c.attempt < runs.c.max_attempts,
        *open_to(dialect),
    )
    return dialect.lock(query, skip=True)


@cache
def _start() -> Update:
    now = bindparam("b_now", type_=Moment())
    return (
        update(runs)
        .where(runs.c.id == bindparam("b_id"))
        # Assignments run left to right on MariaDB.
        .ordered_values(
            (runs.c.started_seq, runs.c.event_seq + 1),
            (runs.c.event_seq, runs.c.event_seq + 1),
            (runs.c.epoch, runs.c.epoch + 1),
            (runs.c.attempt, runs.c.attempt + 1),
            (runs.c.state, RunState.RUNNING.value),
            (runs.c.token, bindparam("b_token")),
            (runs.c.poll_at, bindparam("b_check", type_=Moment())),
            (runs.c.attempt_at, now),
            (runs.c.started_at, func.coalesce(runs.c.started_at, now)),
            (runs.c.due_at, func.coalesce(runs.c.due_at, runs.c.ready_at)),
            (runs.c.waiting, null()),
        )
    )


def numbered(jobs: Sequence[Any], lines: Mapping[str, Sequence[EventLine]]) -> list[Change]:
    """Numbers these lines among the events of each job's run, if it is open."""
    scribe = LogChunkWriter.new()
    rows = [row for row in jobs if RunState(row.state) in OPEN]
    if not rows:
        return []
    values = position_columns([scribe.tell(row, lines[row.id]) for row in rows])
    chunks: list[Change] = [Change(log_chunks, {}, scribe.columns)] if scribe.columns["run_id"] else []
    return [*chunks, Change(runs, {"id": [row.id for row in rows]}, values)]


@dataclass(frozen=True, slots=True)
class SqlBatchRuns(Statements):
    """Opens, checks and ends the runs of batches."""

    @property
    def holding(self) -> SqlClaimedRows:
        return SqlClaimedRows(self.tx)

    async def coming(self, only: Collection[str] | None, now: datetime, limit: int) -> DueBatches:
        """Due batches of these queues, the longest overdue first."""
        asked = {} if only is None else {"queues": sorted(only)}
        rows = (await self.conn.execute(_coming(limit, only is not None), asked)).all()
        due = [row for row in rows if row.poll_at <= now]
        waiting = [row.id for row in due if row.state == RunState.QUEUED]
        parked = [row.id for row in due if row.state != RunState.QUEUED]
        return DueBatches(waiting, parked, next((row.poll_at for row in rows if row.poll_at > now), None))

    async def lock_waiting(self, run_id: str, now: datetime) -> ClaimedRun | None:
        """Locks a queued batch and returns it with its configuration; None when it is no longer queued."""
        row = (await self.conn.execute(_waiting(self.dialect), {"run_id": run_id, "now": now})).first()
        if row is None:
            return None
        await self.holding.load([row])
        return self.holding.claimed(row, Fence(row.id, row.epoch + 1, new_id("tok")), row.attempt + 1, now)

    async def start(self, claimed: ClaimedRun, now: datetime) -> None:
        """Parks a locked batch: it is running without a lease."""
        fence = claimed.fence
        bound = {"b_id": fence.run_id, "b_token": fence.token, "b_now": now, "b_check": now + BATCH_CHECK}
        await self.conn.execute(_start(), bound)

    async def begin(self, run_id: str, counts: ArticleCounts, now: datetime) -> EndedBatches:
        """Writes the first event of a batch whose items were just created; ends it if none is pending."""
        said = f"{counts.total:,} articles: {counts.cached:,} are fresh, {counts.pending:,} to fetch"
        query = select(*(runs.c[name] for name in NUMBERED)).where(runs.c.id == run_id)
        rows = (await self.conn.execute(query)).all()
        await self.dialect.change(self.conn, numbered(rows, {run_id: [EventLine(now, EventType.LOG, message=said)]}))
        return await self.settle({run_id: counts}, now)

    async def settle(self, counts: Mapping[str, ArticleCounts], now: datetime) -> EndedBatches:
        """Ends those of these batches without pending items."""
        return await self.end({run_id: ended for run_id, one in counts.items() if (ended := verdict(one))}, now)

    async def end(self, outcomes: Mapping[str, Ended], now: datetime) -> EndedBatches:
        """Ends those of these batches that are running."""
        if not outcomes:
            return EndedBatches()
        running = (self.dialect.among(runs.c.id, list(outcomes)), runs.c.state == RunState.RUNNING)
        rows = (await self.conn.execute(select(*ROW).where(*running).order_by(runs.c.id))).all()
        await self.holding.load(rows)
        made = []
        for row in rows:
            claimed = self.holding.claimed(row, Fence(row.id, row.epoch, row.token), row.attempt, row.attempt_at)
            outcome = outcomes[row.id]
            if isinstance(outcome, Succeeded) and (expect := claimed.config.get(EXPECT)):
                outcome = await self._judged(claimed, outcome, expect, now)
            made.append((claimed, conclude(claimed, outcome, now)))
        ended = [ending for _, ending in made]
        stored = await endings.finish(self.conn, self.dialect, ended, now, parked=True)
        await self.tx.cache(endings.EndingHooks).after(self.tx, stored, now)
        states = stored.states
        results = [
            (claimed, ending, states[claimed.fence.run_id])
            for claimed, ending in made
            if claimed.fence.run_id in states
        ]
        return EndedBatches(results, stored.released)

    async def _judged(
        self, claimed: ClaimedRun, outcome: Succeeded, expect: Mapping[str, Any], now: datetime
    ) -> Succeeded:
        """The outcome with the verdict on the batch's articles."""
        run_id, counts = claimed.fence.run_id, outcome.result
        covered = {}
        if names := fields_of(expect):
            covered = await articles_with(self.conn, run_id, sorted(names))
        facts = DataFacts(
            items=counts["completed"],
            errors=counts["failed"],
            seconds=seconds_between(claimed.started_at, now),
            coverage=covered,
        )
        history = await SqlExpectations(self.tx).baseline(claimed.tenant_id, claimed.schedule_id)
        verdict = DataVerdict(facts, judge_data(expect, facts, history, now))
        return replace(outcome, result=verdict.into(counts), degraded=verdict.problem)

    async def standing(self, run_ids: Sequence[str]) -> tuple[list[str], list[str]]:
        """Splits these parked batches into running ones, and those whose cancellation is requested or done."""
        query = select(runs.c.id, runs.c.state, runs.c.cancel_requested).where(self.dialect.among(runs.c.id, run_ids))
        rows = (await self.conn.execute(query)).all()
        stops = [row.id for row in rows if row.cancel_requested or row.state != RunState.RUNNING]
        return [row.id for row in rows if row.id not in stops], stops

    async def check_again(self, run_ids: Sequence[str], now: datetime) -> None:
        """Sets the time of the next check of those that are running."""
        mine = and_(self.dialect.among(runs.c.id, run_ids), runs.c.poll_at.is_not(None))
        await self.conn.execute(
            update(runs).where(mine, runs.c.state == RunState.RUNNING).values(poll_at=now + BATCH_CHECK)
        )
        await self.conn.execute(update(runs).where(mine, runs.c.finished_at.is_not(None)).values(poll_at=None))
