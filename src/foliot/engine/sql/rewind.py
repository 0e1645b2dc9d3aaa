"""Moves a schedule back that a wrong clock had moved ahead: its spans, its ledger, and the runs made too early."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.planned_counts import StepBudget
from foliot.engine.model.quarter_counts import UNMADE_STEPS, count_unmade
from foliot.engine.model.run import RunState, order_key
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import RewindResult
from foliot.engine.sql import quarter_counts
from foliot.engine.sql.tables import ledger, runs, schedules, spans

_TICK = timedelta(microseconds=1)


async def rewind(
    conn: AsyncConnection, dialect: Dialect, schedule: Schedule, now: datetime, cut: Sequence[LedgerEntry]
) -> RewindResult:
    """Nothing of this schedule lies beyond `now` afterwards. `cut`: the entries across it, as they end there."""
    await _spans(conn, schedule.id, now)
    await _ledger(conn, dialect, schedule, now, cut)
    early = await _detach(conn, dialect, schedule.id, now)
    mine = (runs.c.schedule_id == schedule.id, runs.c.scheduled_for <= now)
    last: datetime | None = await conn.scalar(select(func.max(runs.c.scheduled_for)).where(*mine))
    values = {"next_at": schedule.next_at, "last_run_at": last, "updated_at": now, "gap_first": None}
    if early:
        values["ahead_until"] = max(early)
    row = update(schedules).where(schedules.c.id == schedule.id, schedules.c.tenant_id == schedule.tenant_id)
    await conn.execute(row.values(**values, gap_reason=None))
    return RewindResult(early, last)


async def _spans(conn: AsyncConnection, schedule_id: str, now: datetime) -> None:
    mine = spans.c.schedule_id == schedule_id
    await conn.execute(delete(spans).where(mine, spans.c.start_at > now, spans.c.open_of.is_(None)))
    await conn.execute(update(spans).where(mine, spans.c.end_at > now).values(end_at=now))
    await conn.execute(update(spans).where(mine, spans.c.start_at > now).values(start_at=now))


async def _ledger(
    conn: AsyncConnection, dialect: Dialect, schedule: Schedule, now: datetime, cut: Sequence[LedgerEntry]
) -> None:
    mine = ledger.c.schedule_id == schedule.id
    columns = (ledger.c.first_at, ledger.c.last_at, ledger.c["count"].label("instants"), ledger.c.fate, ledger.c.reason)
    kept = {(entry.first, entry.fate): entry.count for entry in cut}
    beyond = [
        LedgerEntry(
            max(row.first_at, now + _TICK),
            row.last_at,
            row.instants - kept.get((row.first_at, LedgerKind(row.fate)), 0),
            LedgerKind(row.fate),
            LedgerReason(row.reason),
        )
        for row in await conn.execute(select(*columns).where(mine, ledger.c.last_at > now))
    ]
    await conn.execute(delete(ledger).where(mine, ledger.c.first_at > now))
    for entry in cut:
        this = (mine, ledger.c.first_at == entry.first, ledger.c.fate == entry.fate.value)
        await conn.execute(update(ledger).where(*this).values(last_at=entry.last, count=entry.count))
    gone = count_unmade(schedule.tenant_id, schedule.spec.trigger, beyond, StepBudget(UNMADE_STEPS), by=-1)
    await quarter_counts.add(conn, dialect, gone)


async def _detach(conn: AsyncConnection, dialect: Dialect, schedule_id: str, now: datetime) -> list[datetime]:
    """The runs stay, with the instant they were made for, which counts as settled when its time comes."""
    fired = (runs.c.id, runs.c.scheduled_for, runs.c.priority, runs.c.lane, runs.c.ready_at, runs.c.order_key)
    columns = (*fired, runs.c.poll_at, runs.c.state)
    query = select(*columns).where(runs.c.schedule_id == schedule_id, runs.c.scheduled_for > now)
    rows = (await conn.execute(dialect.lock(query.order_by(runs.c.scheduled_for)))).all()
    if not rows:
        return []
    # A waiting one would wait until its instant, and block every other until then.
    unopened = [row.poll_at is not None and row.state == RunState.QUEUED for row in rows]
    waits = [(row.lane is not None or batch) and row.ready_at > now for row, batch in zip(rows, unopened, strict=True)]
    ready = [now if late else row.ready_at for row, late in zip(rows, waits, strict=True)]
    values = {
        "fills": [row.scheduled_for for row in rows],
        "scheduled_for": [None] * len(rows),
        "ready_at": ready,
        "order_key": [
            order_key(now, row.priority) if late else row.order_key for row, late in zip(rows, waits, strict=True)
        ],
    }
    if any(unopened):
        values["poll_at"] = [at if batch else row.poll_at for row, at, batch in zip(rows, ready, unopened, strict=True)]
    await dialect.update(conn, runs, {"id": [row.id for row in rows]}, values)
    return [row.scheduled_for for row in rows]
