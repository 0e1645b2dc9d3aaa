"""Outcomes and durations of the newest runs per schedule: one statement, one row for each schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, literal, null, select, type_coerce, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.columns import Document
from foliot.db.elapsed import Elapsed
from foliot.db.transaction import Statements
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import runs, schedules
from foliot.features.filters.model.query import FilterQuery, FilterTerm
from foliot.features.filters.sql.runs import RunConditions
from foliot.features.schedules.model.health import BAD, GOOD, SLOW, EndedRun, ScheduleRecord, two_digits


async def recent_records(conn: AsyncConnection, made: Sequence[ColumnElement[bool]], most: int) -> list[ScheduleRecord]:
    """Aggregates the newest `most` runs that meet these conditions, per schedule."""
    newest = (
        select(runs.c.schedule_id, runs.c.state, Elapsed(runs.c.started_at, runs.c.finished_at).label("took"))
        .where(*made, runs.c.schedule_id.is_not(None), runs.c.state.in_(sorted(GOOD | BAD)))
        .order_by(runs.c.id.desc())
        .limit(most)
        .subquery()
    )
    mine = newest.c.schedule_id
    # Runs that never started have no duration, and sort behind those that have.
    order = (case((newest.c.took.is_(None), 1), else_=0), newest.c.took)
    placed = select(
        *newest.c,
        func.row_number().over(partition_by=mine, order_by=order).label("place"),
        func.count(newest.c.took).over(partition_by=mine).label("timed"),
    ).subquery()
    slow = and_(placed.c.took.is_not(None), placed.c.place * 100 >= placed.c.timed * round(SLOW * 100))
    query = select(
        placed.c.schedule_id,
        func.count().label("runs"),
        func.sum(case((placed.c.state.in_(sorted(BAD)), 1), else_=0)).label("bad"),
        func.min(case((slow, placed.c.took))).label("p95"),
    ).group_by(placed.c.schedule_id)
    return [
        ScheduleRecord(row.schedule_id, row.runs, int(row.bad), None if row.p95 is None else two_digits(int(row.p95)))
        for row in await conn.execute(query)
    ]


@dataclass(frozen=True, slots=True)
class SqlScheduleHealth(Statements):
    """Reads names and last outcomes of schedules."""

    async def names(self, tenant_id: str, schedule_ids: Sequence[str]) -> dict[str, str]:
        """The names of the tenant's schedules among these, deleted ones too."""
        query = select(schedules.c.id, schedules.c.name).where(
            self.dialect.among(schedules.c.id, schedule_ids), schedules.c.tenant_id == tenant_id
        )
        return {row.id: row.name for row in await self.conn.execute(query)} if schedule_ids else {}

    async def outcomes(
        self, tenant_id: str, schedule_ids: Sequence[str], each: int, *, why: bool = False
    ) -> dict[str, list[EndedRun]]:
        """The last ended runs of each of these schedules, oldest first; `why` they failed only if asked for.

        One statement that scans the index of each schedule no further than it must.
        """
        if not schedule_ids:
            return {}
        error = type_coerce(runs.c.error if why else null(), Document).label("error")
        columns = (runs.c.id, runs.c.schedule_id, runs.c.state, runs.c.started_at, runs.c.finished_at, error)
        # SQLite keeps no statistics, and would otherwise choose the tenant's index.
        mine = (func.coalesce(runs.c.tenant_id, literal("")) == tenant_id, runs.c.finished_at.is_not(None))
        parts = [
            select(
                select(*columns)
                .where(runs.c.schedule_id == schedule_id, *mine)
                .order_by(runs.c.id.desc())
                .limit(each)
                .subquery()
            )
            for schedule_id in schedule_ids
        ]
        found: dict[str, list[EndedRun]] = {}
        for row in await self.conn.execute(union_all(*parts)):
            found.setdefault(row.schedule_id, []).append(_ended(row))
        return {schedule_id: sorted(ended, key=lambda one: one.run_id) for schedule_id, ended in found.items()}

    async def recent_records(self, tenant_id: str, since: datetime, most: int) -> list[ScheduleRecord]:
        """How the newest `most` runs of schedules ended that were created since then; one record per schedule."""
        within = FilterQuery((FilterTerm("since", at=since),))
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, within, since)
        return await recent_records(self.conn, sieve.where(), most)


def _ended(row: Any) -> EndedRun:
    took = None if row.started_at is None else round((row.finished_at - row.started_at).total_seconds() * 1000, 3)
    return EndedRun(row.id, RunState(row.state), row.finished_at, took, message_of(row.error))


def message_of(error: Any) -> str:
    """The message of a stored error, however damaged."""
    return str(error.get("message") or error.get("code") or "") if isinstance(error, Mapping) else ""
