"""What settled plans write besides the row of the schedule: runs, ledger entries, counts and the end of spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import RUN, new_id
from foliot.db.dialects import Dialect
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import UNMADE_STEPS, Key, count_unmade
from foliot.engine.model.run import RunState, order_key
from foliot.engine.model.schedule import ScheduleSpec, ScheduleStatus
from foliot.engine.model.settle import DueSchedule, NewRun, SchedulePlan
from foliot.engine.sql import quarter_counts, run_items
from foliot.engine.sql.tables import ledger, runs, spans

Made = tuple[DueSchedule, ScheduleSpec, NewRun]


@cache
def _open(dialect: Dialect) -> Select[Any]:
    columns = (runs.c.open_of, runs.c.id, runs.c.state, runs.c.buffered_of)
    return select(*columns).where(dialect.listed(runs.c.open_of, "ids")).order_by(runs.c.id)


async def open_runs(conn: AsyncConnection, dialect: Dialect, schedule_ids: Sequence[str]) -> dict[str, list[OpenRun]]:
    """The open runs of each of these schedules, oldest first."""
    if not schedule_ids:
        return {}
    found: dict[str, list[OpenRun]] = {}
    rows = await conn.execute(_open(dialect), {"ids": list(schedule_ids)})
    for schedule_id, run_id, state, buffered in rows:
        found.setdefault(schedule_id, []).append(OpenRun(run_id, RunState(state), buffered is not None))
    return found


async def account(conn: AsyncConnection, dialect: Dialect, plans: Sequence[SchedulePlan]) -> None:
    """Write the ledger entries of plans, and count them."""
    entries = [(plan.due, entry) for plan in plans for entry in plan.ledger]
    if not entries:
        return
    columns = {
        "schedule_id": [due.id for due, _ in entries],
        "first_at": [entry.first for _, entry in entries],
        "fate": [entry.fate.value for _, entry in entries],
        "tenant_id": [due.tenant_id for due, _ in entries],
        "last_at": [entry.last for _, entry in entries],
        "count": [entry.count for _, entry in entries],
        "version": [due.version for due, _ in entries],
        "reason": [entry.reason.value for _, entry in entries],
        "skipped_by": [entry.by for _, entry in entries],
        "note": [entry.note for _, entry in entries],
    }
    missed = {(due.id, due.tenant_id): entry.last for due, entry in entries if entry.fate is LedgerKind.MISSED}
    counts = quarter_counts.unmade_rows(_unmade(plans), missed)
    await dialect.insert_all(conn, [(ledger, columns, "add"), *counts])


async def complete(conn: AsyncConnection, dialect: Dialect, plans: Sequence[SchedulePlan]) -> None:
    """End the spans of schedules that may make no more runs."""
    done = [plan for plan in plans if plan.status is ScheduleStatus.COMPLETED]
    if not done:
        return
    ended = {"end_at": [plan.span_end for plan in done], "open_of": [None] * len(done)}
    await dialect.update(conn, spans, {"open_of": [plan.due.id for plan in done]}, ended)


def _unmade(plans: Sequence[SchedulePlan]) -> Counter[Key]:
    """In which quarters the instants lie that make no run. An entry that goes on from the last one begins there, but
    what it adds begins with the first instant that was due.
    """
    counts, budget = Counter[Key](), StepBudget(UNMADE_STEPS)
    for plan in plans:
        added = [replace(entry, first=max(entry.first, plan.due.next_at)) for entry in plan.ledger]
        trigger = None if plan.spec is None or plan.spec.trigger.follows else plan.spec.trigger
        counts += count_unmade(plan.due.tenant_id, trigger, added, budget)
    return counts


def created(made: Sequence[Made], now: datetime) -> dict[str, list[Any]]:
    """The columns of new runs."""
    count = len(made)
    columns: dict[str, list[Any]] = {
        "id": [new_id(RUN) for _ in made],
        "tenant_id": [due.tenant_id for due, _, _ in made],
        "user_id": [due.user_id for due, _, _ in made],
        "schedule_id": [due.id for due, _, _ in made],
        "open_of": [due.id for due, _, _ in made],
        "version": [due.version for due, _, _ in made],
        "kind": [spec.kind for _, spec, _ in made],
        "state": [RunState.QUEUED.value] * count,
        "scheduled_for": [run.scheduled_for for _, _, run in made],
        "ready_at": [run.ready_at for _, _, run in made],
        "queue": [spec.queue for _, spec, _ in made],
        "priority": [spec.priority for _, spec, _ in made],
        # What catches up waits behind what is on time.
        "order_key": [
            order_key(max(run.ready_at, now) if run.catchup else run.ready_at, spec.priority, catchup=run.catchup)
            for _, spec, run in made
        ],
        "lane": [None if run.buffered else spec.queue for _, spec, run in made],
        "buffered_of": [due.id if run.buffered else None for due, _, run in made],
        "max_attempts": [spec.retry.max_attempts for _, spec, _ in made],
        "timeout_seconds": [spec.timeout_seconds for _, spec, _ in made],
        "catchup": [run.catchup or None for _, _, run in made],
        "created_at": [now] * count,
    }
    return run_items.without_lane(columns, columns["kind"])
