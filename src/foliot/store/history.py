"""What the pictures of a dashboard are drawn from, read through the indexes of runs and ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, case, func, literal, null, select, type_coerce, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.ledger import Entry, Fate, Reason
from foliot.domain.query import Query, Term
from foliot.domain.run import FAILURES, OPEN, RunState
from foliot.domain.timeline import Grouping
from foliot.domain.wellness import Ended
from foliot.ports.history import Bar, Stir, Stretch
from foliot.store.columns import Document, Moment
from foliot.store.dialects import Dialect
from foliot.store.elapsed import Elapsed
from foliot.store.sieve import Sieve
from foliot.store.tables import ledger, runs, schedules
from foliot.store.troubles import message_of

MOST_ENTRIES = 5000
"""Entries of the ledger in one picture."""


@dataclass(frozen=True, slots=True)
class SqlHistory:
    """Pictures of the past."""

    conn: AsyncConnection
    dialect: Dialect

    async def names(self, tenant_id: str, schedule_ids: Sequence[str]) -> dict[str, str]:
        query = select(schedules.c.id, schedules.c.name).where(
            self.dialect.among(schedules.c.id, schedule_ids), schedules.c.tenant_id == tenant_id
        )
        return {row.id: row.name for row in await self.conn.execute(query)} if schedule_ids else {}

    async def outcomes(
        self, tenant_id: str, schedule_ids: Sequence[str], each: int, *, why: bool = False
    ) -> dict[str, list[Ended]]:
        """One statement that goes down the index of each schedule as far as it must, and no further."""
        if not schedule_ids:
            return {}
        error = type_coerce(runs.c.error if why else null(), Document).label("error")
        columns = (runs.c.id, runs.c.schedule_id, runs.c.state, runs.c.started_at, runs.c.finished_at, error)
        # SQLite, which keeps no statistics, must not begin with the tenant.
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
        found: dict[str, list[Ended]] = {}
        for row in await self.conn.execute(union_all(*parts)):
            found.setdefault(row.schedule_id, []).append(_ended(row))
        return {schedule_id: sorted(ended, key=lambda one: one.run_id) for schedule_id, ended in found.items()}

    async def stir(self, tenant_id: str) -> Stir:
        waiting = (runs.c.tenant_id == tenant_id, runs.c.state.in_(sorted(OPEN)))
        query = select(runs.c.state, func.count(), func.sum(runs.c.epoch)).where(*waiting).group_by(runs.c.state)
        found = [(RunState(state).value, count, int(claims or 0)) for state, count, claims in await self._all(query)]
        newest = await self.conn.scalar(select(func.max(runs.c.id)).where(runs.c.tenant_id == tenant_id))
        counts = {state: count for state, count, _ in sorted(found)}
        return Stir(counts, newest, sum(claims for *_, claims in found))

    async def revision(self, tenant_id: str) -> tuple[object, ...]:
        columns = (schedules.c.status, func.count(), func.max(schedules.c.updated_at), func.sum(schedules.c.version))
        query = select(*columns).where(schedules.c.tenant_id == tenant_id).group_by(schedules.c.status)
        return tuple(
            sorted((str(status), count, str(at), int(sum_)) for status, count, at, sum_ in await self._all(query))
        )

    async def bars(self, tenant_id: str, stretch: Stretch, only: Sequence[str] | None) -> list[Bar]:
        began = func.coalesce(runs.c.started_at, runs.c.created_at, type_=Moment())
        key = {Grouping.SCHEDULE: runs.c.schedule_id, Grouping.QUEUE: runs.c.queue, Grouping.TAG: schedules.c.tags}
        columns = (
            key[stretch.by].label("key"),
            bucket(stretch).label("bucket"),
            runs.c.state.label("state"),
            began.label("began"),
            runs.c.finished_at.label("finished"),
            runs.c.id.label("id"),
        )
        wanted = select(*columns).where(*await self._made(tenant_id, stretch, only))
        if stretch.by is Grouping.TAG:
            wanted = wanted.join(schedules, schedules.c.id == runs.c.schedule_id).where(schedules.c.tags != "")
        # Named once in a subquery: no database is left to find out that what is grouped by is what is shown.
        cut = wanted.subquery()
        query = select(
            cut.c.key,
            cut.c.state,
            func.count().label("runs"),
            func.min(cut.c.began).label("began"),
            func.max(cut.c.finished).label("finished"),
            func.count(cut.c.finished).label("ended"),
            func.min(cut.c.id).label("id"),
        ).group_by(cut.c.key, cut.c.bucket, cut.c.state)
        return [
            Bar(row.key, RunState(row.state), row.runs, row.began, _end(row), row.id) for row in await self._all(query)
        ]

    async def busy(self, tenant_id: str, stretch: Stretch) -> list[str]:
        bad = func.sum(case((runs.c.state.in_(sorted(FAILURES)), 1), else_=0))
        query = (
            select(runs.c.schedule_id)
            .where(*await self._made(tenant_id, stretch), runs.c.schedule_id.is_not(None))
            .group_by(runs.c.schedule_id)
            .order_by(bad.desc(), func.count(), runs.c.schedule_id)
        )
        return [row.schedule_id for row in await self._all(query)]

    async def counts(
        self, tenant_id: str, stretch: Stretch, schedule_id: str | None = None
    ) -> list[tuple[int, RunState, int]]:
        made = await self._made(tenant_id, stretch, None if schedule_id is None else [schedule_id])
        cut = select(bucket(stretch).label("bucket"), runs.c.state.label("state")).where(*made).subquery()
        query = select(cut.c.bucket, cut.c.state, func.count().label("runs")).group_by(cut.c.bucket, cut.c.state)
        return [(int(row.bucket), RunState(row.state), row.runs) for row in await self._all(query)]

    async def unmade(
        self, tenant_id: str, start: datetime, end: datetime, schedule_id: str | None = None
    ) -> list[tuple[str, Entry]]:
        query = (
            select(ledger, ledger.c["count"].label("instants"))
            .where(ledger.c.tenant_id == tenant_id, ledger.c.last_at >= start, ledger.c.first_at < end)
            .where(ledger.c.fate.in_([Fate.MISSED, Fate.SKIPPED]))
        )
        if schedule_id is not None:
            query = query.where(ledger.c.schedule_id == schedule_id)
        found = await self._all(query.order_by(ledger.c.last_at.desc()).limit(MOST_ENTRIES))
        return [
            (row.schedule_id, Entry(row.first_at, row.last_at, row.instants, Fate(row.fate), Reason(row.reason)))
            for row in found
        ]

    async def _made(
        self, tenant_id: str, stretch: Stretch, only: Sequence[str] | None = None
    ) -> list[ColumnElement[bool]]:
        """Runs that were made in the stretch, found by their ids where those tell the time."""
        within = Query((Term("since", at=stretch.start), Term("until", at=stretch.end)))
        if only is not None:
            within = within.also(Term("schedule", tuple(only)))
        return (await Sieve.of(self.conn, self.dialect, tenant_id, within, stretch.end)).where()

    async def _all(self, query: Select[Any]) -> Sequence[Any]:
        return list((await self.conn.execute(query)).all())


def bucket(stretch: Stretch) -> ColumnElement[int]:
    """Which bucket of the stretch a run was made in."""
    return Elapsed(literal(stretch.start, Moment()), runs.c.created_at) // (stretch.width * 1000)


def _end(row: Any) -> datetime | None:
    return row.finished if row.ended == row.runs else None


def _ended(row: Any) -> Ended:
    took = None if row.started_at is None else round((row.finished_at - row.started_at).total_seconds() * 1000, 3)
    return Ended(row.id, RunState(row.state), row.finished_at, took, message_of(row.error))
