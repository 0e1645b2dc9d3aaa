"""Inserts runs that have already ended, and deletes schedules with everything that belongs to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Text, delete, func, literal, or_, select, type_coerce, update

from foliot.core.failure_fingerprint import fingerprint
from foliot.db.database import Statements
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import UNMADE_STEPS, Ended, Key, count_unmade
from foliot.engine.model.run import FAILURES, RunState, order_key
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.follow_tables import follow_ups, follows
from foliot.engine.sql.log_chunks import LogChunkWriter
from foliot.engine.sql.schedules import schedule_of
from foliot.engine.sql.tables import (
    attempts,
    crawl_items,
    ledger,
    log_chunks,
    runs,
    schedule_stats,
    schedules,
    spans,
    versions,
)
from foliot.features.alerts.tables import alert_rules, alert_streaks, alerts
from foliot.features.alerts.tables import deliveries as alert_deliveries
from foliot.features.articles.tables import article_jobs, articles, items
from foliot.features.bulk.tables import bulk_items, bulks
from foliot.features.demo.model.week import ErasedRows, PastAccount, PastAttempt, PastRun
from foliot.features.prices.sql import prices
from foliot.features.schedules.tables import declared

BATCH = 1000


@dataclass(slots=True)
class _RunPosition:
    """The state of a run between two attempts, as the writer of log chunks reads it."""

    id: str
    tenant_id: str
    event_seq: int = 1
    attempt: int = 0
    log_bytes: int = 0
    log_dropped: int = 0


class _EndedPast:
    """What is counted of a run."""

    def __init__(self, run: PastRun) -> None:
        self.id, self.tenant_id, self.schedule_id = run.id, run.schedule.tenant_id, run.schedule.id
        self.created_at, self.scheduled_for, self.due_at = run.created_at, run.new.scheduled_for, run.new.ready_at
        self.started_at = run.attempts[0].started_at


@dataclass(frozen=True, slots=True)
class SqlPast(Statements):
    """Statements of the demo."""

    async def write(self, accounts: Sequence[PastAccount]) -> None:
        """Insert the rows that executing these runs would have left, in a handful of statements."""
        await self._settle(accounts)
        lived = [run for account in accounts for run in account.runs]
        for start in range(0, len(lived), BATCH):
            await self._write(lived[start : start + BATCH])
        ended = [(_EndedPast(run), run.attempts[-1].ending.state, run.attempts[-1].ending.at) for run in lived]
        await quarter_counts.add_ended(self.conn, self.dialect, ended)
        budget, counts = StepBudget(UNMADE_STEPS), Counter[Key]()
        missed: dict[tuple[str, str], datetime] = {}
        for account in accounts:
            due, spec = account.last.due, account.last.spec
            trigger = None if spec is None else spec.trigger
            counts += count_unmade(due.tenant_id, trigger, account.ledger, budget)
            for entry in account.ledger:
                if entry.fate is LedgerKind.MISSED:
                    missed[due.id, due.tenant_id] = entry.last
        await self.dialect.insert_all(self.conn, quarter_counts.unmade_rows(counts, missed))

    async def _settle(self, accounts: Sequence[PastAccount]) -> None:
        plans = [account.last for account in accounts]
        if not plans:
            return
        values: dict[str, list[Any]] = {
            "next_at": [plan.next_at for plan in plans],
            "fired": [plan.fired for plan in plans],
            "status": [plan.status.value for plan in plans],
            "gap_first": [plan.gap_first for plan in plans],
            "gap_reason": [plan.gap_reason for plan in plans],
            "last_run_at": [plan.last_run_at for plan in plans],
        }
        await self.dialect.update(self.conn, schedules, {"id": [plan.due.id for plan in plans]}, values)
        entries = [(account.last.due, entry) for account in accounts for entry in account.ledger]
        if entries:
            columns = {
                "schedule_id": [due.id for due, _ in entries],
                "first_at": [entry.first for _, entry in entries],
                "fate": [entry.fate.value for _, entry in entries],
                "tenant_id": [due.tenant_id for due, _ in entries],
                "last_at": [entry.last for _, entry in entries],
                "count": [entry.count for _, entry in entries],
                "version": [due.version for due, _ in entries],
                "reason": [entry.reason.value for _, entry in entries],
            }
            await self.dialect.insert(self.conn, ledger, columns, conflict="add")
        done = [plan for plan in plans if plan.next_at is None]
        if done:
            ended = {"end_at": [plan.span_end for plan in done], "open_of": [None] * len(done)}
            await self.dialect.update(self.conn, spans, {"open_of": [plan.due.id for plan in done]}, ended)

    async def _write(self, lived: Sequence[PastRun]) -> None:
        scribe = LogChunkWriter.new()
        tried: dict[str, list[Any]] = {name: [] for name in _TRIED}
        made: dict[str, list[Any]] = {name: [] for name in _RUN}
        for run in lived:
            row, seqs = _RunPosition(run.id, run.schedule.tenant_id), (0, 0)
            for attempt in run.attempts:
                seqs = _live(row, attempt, scribe)
                _add(tried, _attempt(row, attempt, seqs))
            _add(made, _run(run, row, seqs))
        await self.dialect.insert(self.conn, runs, made)
        await self.dialect.insert(self.conn, attempts, tried)
        if scribe.columns["run_id"]:
            await self.dialect.insert(self.conn, log_chunks, scribe.columns)

    async def count_runs(self, tenant_id: str, schedule_ids: Sequence[str]) -> int:
        if not schedule_ids:
            return 0
        mine = (runs.c.tenant_id == tenant_id, self.dialect.among(runs.c.schedule_id, schedule_ids))
        return int(await self.conn.scalar(select(func.count()).select_from(runs).where(*mine)) or 0)

    async def readdress(self, tenant_id: str, schedule_ids: Sequence[str], old: str, new: str) -> None:
        """Replace `old` by `new` in their actions, in all versions and runs: this server's URL has changed."""
        whose = ((schedules, schedules.c.id), (versions, versions.c.schedule_id), (runs, runs.c.schedule_id))
        for table, column in whose if schedule_ids else ():
            # Documents are JSON text: the URL is replaced in place.
            moved = func.replace(table.c.action, literal(old, Text), literal(new, Text))
            where = (
                table.c.tenant_id == tenant_id,
                self.dialect.among(column, schedule_ids),
                type_coerce(table.c.action, Text).contains(old, autoescape=True),
            )
            await self.conn.execute(update(table).where(*where).values(action=moved))

    async def erase(
        self, tenant_id: str, schedule_ids: Sequence[str], rule_id: str = "", monitor_ids: Sequence[str] = ()
    ) -> ErasedRows:
        """The schedules and the alert rule, and everything that belongs to them; of the monitors, their alerts.

        Changes made to them stay in the audit log.
        """
        if not schedule_ids:
            return ErasedRows(0, 0)
        gone = (schedules.c.tenant_id == tenant_id, self.dialect.among(schedules.c.id, schedule_ids))
        # Lock the schedules first, as the ticker does: a run created before is seen below, and none is created after.
        await self.conn.execute(self.dialect.lock(select(schedules.c.id).where(*gone).order_by(schedules.c.id)))
        erased = 0
        acted = await self._acted_on(tenant_id, schedule_ids)
        gone_runs: list[Ended] = []
        async for rows in self._lived(tenant_id, schedule_ids):
            ids = [row.id for row in rows]
            acted |= await self._acted_on(tenant_id, ids)
            gone_runs += [(row, RunState(row.state), row.finished_at) for row in rows if row.finished_at is not None]
            await self._forget_articles(tenant_id, ids)
            for table in (log_chunks, crawl_items, items, article_jobs, prices, attempts):
                await self.conn.execute(delete(table).where(self.dialect.among(table.c.run_id, ids)))
            await self.conn.execute(delete(runs).where(self.dialect.among(runs.c.id, ids)))
            erased += len(ids)
        uncounted = await self._unmade(tenant_id, schedule_ids)
        for table in (ledger, spans, versions, declared, schedule_stats):
            ours = (table.c.tenant_id == tenant_id, self.dialect.among(table.c.schedule_id, schedule_ids))
            await self.conn.execute(delete(table).where(*ours))
        await self._forget_alerts(tenant_id, [*schedule_ids, *monitor_ids], rule_id)
        await self._forget_links(tenant_id, schedule_ids)
        removed = await self.conn.execute(delete(schedules).where(*gone))
        await self._forget_bulks(acted)
        await quarter_counts.add_ended(self.conn, self.dialect, gone_runs, by=-1)
        await quarter_counts.add(self.conn, self.dialect, uncounted)
        await quarter_counts.forget_nothing(self.conn, tenant_id)
        return ErasedRows(removed.rowcount, erased)

    async def _forget_alerts(self, tenant_id: str, schedule_ids: Sequence[str], rule_id: str) -> None:
        """Alerts about these, and the rules that they declare."""
        about = self.dialect.among(alerts.c.subject_id, schedule_ids)
        ids = list(
            (await self.conn.execute(select(alerts.c.id).where(alerts.c.tenant_id == tenant_id, about))).scalars()
        )
        await self.conn.execute(delete(alert_deliveries).where(self.dialect.among(alert_deliveries.c.alert_id, ids)))
        await self.conn.execute(delete(alerts).where(self.dialect.among(alerts.c.id, ids)))
        for table, ours in (
            (alert_streaks, self.dialect.among(alert_streaks.c.subject_id, schedule_ids)),
            (alert_rules, self.dialect.among(alert_rules.c.schedule_id, schedule_ids)),
            (alert_rules, alert_rules.c.id == rule_id),
        ):
            await self.conn.execute(delete(table).where(table.c.tenant_id == tenant_id, ours))

    async def _forget_links(self, tenant_id: str, schedule_ids: Sequence[str]) -> None:
        """Who of these follows whom, and what became of the ends that they followed."""
        for column in (follows.c.parent_id, follows.c.child_id, follow_ups.c.schedule_id, follow_ups.c.parent_id):
            ours = (column.table.c.tenant_id == tenant_id, self.dialect.among(column, schedule_ids))
            await self.conn.execute(delete(column.table).where(*ours))

    async def _lived(self, tenant_id: str, schedule_ids: Sequence[str]) -> AsyncIterator[Sequence[Any]]:
        """Batches of the remaining runs."""
        mine = (runs.c.tenant_id == tenant_id, self.dialect.among(runs.c.schedule_id, schedule_ids))
        columns = (*quarter_counts.COUNTED, runs.c.state, runs.c.finished_at)
        query = self.dialect.lock(select(*columns).where(*mine).order_by(runs.c.id).limit(BATCH))
        while rows := (await self.conn.execute(query)).all():
            yield rows

    async def _unmade(self, tenant_id: str, schedule_ids: Sequence[str]) -> Counter[Key]:
        """What their ledger entries have added to the counts, to be taken from them."""
        query = select(schedules).where(self.dialect.among(schedules.c.id, schedule_ids))
        triggers = {row.id: schedule_of(row).spec.trigger for row in await self.conn.execute(query)}
        mine = (ledger.c.tenant_id == tenant_id, self.dialect.among(ledger.c.schedule_id, schedule_ids))
        budget, counts = StepBudget(UNMADE_STEPS), Counter[Key]()
        for row in await self.conn.execute(select(ledger, ledger.c["count"].label("instants")).where(*mine)):
            entry = LedgerEntry(row.first_at, row.last_at, row.instants, LedgerKind(row.fate), LedgerReason(row.reason))
            counts.update(count_unmade(tenant_id, triggers.get(row.schedule_id), [entry], budget, by=-1))
        return counts

    async def _acted_on(self, tenant_id: str, ids: Sequence[str]) -> set[str]:
        """Bulk operations that included these."""
        mine = (bulk_items.c.tenant_id == tenant_id, self.dialect.among(bulk_items.c.thing_id, ids))
        return set((await self.conn.execute(select(bulk_items.c.bulk_id).where(*mine).distinct())).scalars())

    async def _forget_bulks(self, ids: set[str]) -> None:
        """Those of them that included nothing which still exists."""
        if not ids:
            return
        there = or_(
            select(runs.c.id).where(runs.c.id == bulk_items.c.thing_id).exists(),
            select(schedules.c.id).where(schedules.c.id == bulk_items.c.thing_id).exists(),
        )
        kept = select(bulk_items.c.bulk_id).where(self.dialect.among(bulk_items.c.bulk_id, sorted(ids)), there)
        alone = sorted(ids - set((await self.conn.execute(kept.distinct())).scalars()))
        if alone:
            await self.conn.execute(delete(bulk_items).where(self.dialect.among(bulk_items.c.bulk_id, alone)))
            await self.conn.execute(delete(bulks).where(self.dialect.among(bulks.c.id, alone)))

    async def _forget_articles(self, tenant_id: str, run_ids: Sequence[str]) -> None:
        """Articles that no other job has requested."""
        wanted = select(items.c.article_id).where(self.dialect.among(items.c.run_id, run_ids)).distinct()
        ids = list((await self.conn.execute(wanted)).scalars())
        if not ids:
            return
        others = select(items.c.article_id).where(
            self.dialect.among(items.c.article_id, ids), ~self.dialect.among(items.c.run_id, run_ids)
        )
        shared = set((await self.conn.execute(others.distinct())).scalars())
        alone = [one for one in ids if one not in shared]
        if alone:
            own = (articles.c.tenant_id == tenant_id, self.dialect.among(articles.c.id, alone))
            await self.conn.execute(delete(articles).where(*own))


def _live(row: _RunPosition, attempt: PastAttempt, scribe: LogChunkWriter) -> tuple[int, int]:
    """The event numbers of its start and its end; its lines have those between."""
    row.event_seq, row.attempt = row.event_seq + 1, row.attempt + 1
    began = row.event_seq
    written = scribe.tell(row, attempt.ending.lines, attempt.ending.at)
    row.event_seq, row.log_bytes, row.log_dropped = written.seq + 1, written.size, written.dropped
    return began, row.event_seq


_TRIED = (
    "run_id", "epoch", "tenant_id", "number", "worker", "outcome", "state", "started_at", "ended_at", "started_seq",
    "ended_seq", "error", "response", "retry_at",
)  # fmt: skip


def _attempt(row: _RunPosition, attempt: PastAttempt, seqs: tuple[int, int]) -> Iterator[Any]:
    ending = attempt.ending
    yield from (row.id, ending.fence.epoch, row.tenant_id, row.attempt, attempt.worker, ending.outcome)
    yield from (ending.state.value, attempt.started_at, ending.at, *seqs)
    yield from (ending.error, ending.response, ending.ready_at)


_RUN = (
    "id", "tenant_id", "user_id", "schedule_id", "version", "kind", "state", "scheduled_for", "ready_at", "queue",
    "priority", "order_key", "attempt", "max_attempts", "timeout_seconds", "epoch", "token", "worker", "event_seq",
    "started_seq", "final_seq", "log_bytes", "log_dropped", "created_at", "started_at", "due_at", "attempt_at",
    "finished_at", "took_us", "result", "error", "fingerprint",
)  # fmt: skip


def _run(run: PastRun, row: _RunPosition, seqs: tuple[int, int]) -> Iterator[Any]:
    schedule, spec, last = run.schedule, run.schedule.spec, run.attempts[-1]
    ending, ready_at = last.ending, _ready(run)
    alike = fingerprint(spec.kind, ending.error, ending.host) if ending.state in FAILURES else None
    yield from (run.id, schedule.tenant_id, schedule.user_id, schedule.id, schedule.version, spec.kind)
    yield from (ending.state.value, run.new.scheduled_for, ready_at, spec.queue)
    yield from (spec.priority, order_key(ready_at, spec.priority), row.attempt, spec.retry.max_attempts)
    yield from (spec.timeout_seconds, ending.fence.epoch, ending.fence.token, last.worker, row.event_seq)
    yield from (seqs[0], seqs[1], row.log_bytes, row.log_dropped, run.created_at, run.attempts[0].started_at)
    took = (ending.at - run.attempts[0].started_at) // timedelta(microseconds=1)
    yield from (run.new.ready_at, last.started_at, ending.at, took, ending.result, ending.error, alike)


def _ready(run: PastRun) -> datetime:
    """When its last attempt could begin: a retry has moved it."""
    return run.new.ready_at if len(run.attempts) == 1 else run.attempts[-2].ending.ready_at or run.new.ready_at


def _add(columns: dict[str, list[Any]], values: Iterator[Any]) -> None:
    for column, value in zip(columns.values(), values, strict=True):
        column.append(value)
