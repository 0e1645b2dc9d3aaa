"""Finds problems through partial indexes; its cost does not grow with the number of stored runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select

from foliot.db.database import Statements
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.sql.retention import waiting_by_queue
from foliot.engine.sql.tables import ledger, runs, schedule_stats, schedules
from foliot.features.filters.sql.schedules import alive
from foliot.features.insights.model.attention import MissedInstants, ScheduleMoment, UnansweredLetters
from foliot.features.mutes.sql import muted
from foliot.features.schedules.sql import message_of


@dataclass(frozen=True, slots=True)
class SqlTroubles(Statements):
    """Problems of one tenant."""

    async def failing(self, tenant_id: str, since: datetime, limit: int) -> list[ScheduleMoment]:
        """Schedules whose newest ended run failed, latest first: active ones, and completed ones if it ended since."""
        stats = schedule_stats.c
        query = (
            select(schedules.c.id, schedules.c.name, stats.failing_at)
            .join_from(schedule_stats, schedules, schedules.c.id == stats.schedule_id)
            .where(stats.tenant_id == tenant_id, stats.failing_at.is_not(None), alive(since))
            .order_by(stats.failing_at.desc(), stats.schedule_id)
            .limit(limit)
        )
        return [ScheduleMoment(row.id, row.name, row.failing_at) for row in await self.conn.execute(query)]

    async def overdue(self, tenant_id: str, before: datetime, limit: int) -> tuple[int, list[ScheduleMoment]]:
        """How many active schedules have an unsettled instant before this moment, and the first of them."""
        # The partial index holds what is due: fewer rows than the tenant has schedules.
        mine = func.coalesce(schedules.c.tenant_id, "") == tenant_id
        late = (schedules.c.next_at < before, schedules.c.next_at.is_not(None), mine)
        query = select(schedules.c.id, schedules.c.name, schedules.c.next_at).where(*late)
        query = query.order_by(schedules.c.next_at, schedules.c.id).limit(limit)
        first = [ScheduleMoment(row.id, row.name, row.next_at) for row in await self.conn.execute(query)]
        if len(first) < limit:
            return len(first), first
        return await self.conn.scalar(select(func.count()).select_from(schedules).where(*late)) or 0, first

    async def missed(self, tenant_id: str, since: datetime, until: datetime, limit: int) -> list[MissedInstants]:
        """Schedules whose last missed instant lies in this range, latest first."""
        stats = schedule_stats.c
        latest = (
            select(stats.schedule_id, schedules.c.name, stats.missed_at)
            .join_from(schedule_stats, schedules, schedules.c.id == stats.schedule_id)
            .where(stats.tenant_id == tenant_id, stats.missed_at >= since, stats.missed_at <= until)
            .where(schedules.c.status != ScheduleStatus.DELETED)
            .order_by(stats.missed_at.desc(), stats.schedule_id)
            .limit(limit)
        )
        named = {row.schedule_id: row.name for row in await self.conn.execute(latest)}
        if not named:
            return []
        query = (
            select(
                ledger.c.schedule_id,
                func.sum(ledger.c["count"]).label("instants"),
                func.min(ledger.c.first_at).label("first"),
                func.max(ledger.c.last_at).label("last"),
                func.max(ledger.c.reason).label("reason"),
            )
            .where(self.dialect.among(ledger.c.schedule_id, list(named)), _of(tenant_id))
            .where(ledger.c.last_at >= since, ledger.c.last_at <= until, ledger.c.fate == LedgerKind.MISSED)
            .group_by(ledger.c.schedule_id)
        )
        found = {
            row.schedule_id: MissedInstants(
                row.schedule_id, named[row.schedule_id], int(row.instants), row.first, row.last, row.reason
            )
            for row in await self.conn.execute(query)
        }
        return [found[one] for one in named if one in found]

    async def letters(self, tenant_id: str, most: int, now: datetime) -> UnansweredLetters | None:
        """Unresolved dead letters of groups that are not muted."""
        unanswered = (
            runs.c.tenant_id == tenant_id,
            runs.c.state == RunState.DEAD_LETTER,
            runs.c.resolved_by.is_(None),
        )
        query = select(runs.c.id, runs.c.fingerprint, runs.c.finished_at).where(*unanswered)
        if silent := await muted(self.conn, tenant_id, now):
            heard = ~self.dialect.among(runs.c.fingerprint, silent)
            query = query.where(or_(runs.c.fingerprint.is_(None), heard))
        rows = (await self.conn.execute(query.order_by(runs.c.id.desc()).limit(most))).all()
        if not rows:
            return None
        ((common, alike),) = Counter(row.fingerprint for row in rows).most_common(1)
        sample = next(row.id for row in rows if row.fingerprint == common)
        error = await self.conn.scalar(select(runs.c.error).where(runs.c.id == sample))
        oldest = min(row.finished_at for row in rows)
        return UnansweredLetters(len(rows), oldest, rows[0].id, alike, message_of(error))

    async def damaged(self, tenant_id: str, limit: int) -> list[ScheduleMoment]:
        query = (
            select(schedules.c.id, schedules.c.name, schedules.c.fault_next_at, schedules.c.fault)
            .where(schedules.c.fault_next_at.is_not(None), func.coalesce(schedules.c.tenant_id, "") == tenant_id)
            .order_by(schedules.c.fault_next_at, schedules.c.id)
            .limit(limit)
        )
        return [
            ScheduleMoment(row.id, row.name, row.fault_next_at, row.fault or "")
            for row in await self.conn.execute(query)
        ]

    async def waiting(self, tenant_id: str) -> dict[str, tuple[int, datetime]]:
        # SQLite, without statistics, must not use the index by tenant: it would read every ended run.
        """How many runs wait in each queue, and since when the oldest has been ready."""
        mine = func.coalesce(runs.c.tenant_id, "") == tenant_id
        return await waiting_by_queue(self.conn, mine)


def _of(tenant_id: str) -> ColumnElement[bool]:
    """SQLite, without statistics, must not begin with the index by tenant."""
    return func.coalesce(ledger.c.tenant_id, "") == tenant_id
