"""Finds runs and schedules among very many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.query import Query
from foliot.domain.run import RunState
from foliot.domain.schedule import Schedule
from foliot.ports import Page, RunView
from foliot.ports.searching import Cell, LetterGroup, Suggestion, Window
from foliot.store import letters, schedule_sieve, suggestions
from foliot.store.columns import Moment
from foliot.store.dialects import Dialect
from foliot.store.elapsed import Elapsed, two_digits
from foliot.store.runs import NAME, view_of
from foliot.store.sieve import Sieve, late
from foliot.store.tables import runs


@dataclass(frozen=True, slots=True)
class SqlSearching:
    """What a filter finds."""

    conn: AsyncConnection
    dialect: Dialect

    async def runs(self, tenant_id: str, query: Query, page: Page, now: datetime) -> list[RunView]:
        sieve = await Sieve.of(self.conn, self.dialect, tenant_id, query, now)
        found: list[RunView] = []
        for conditions in sieve.ways():
            wanted = select(runs, NAME).where(*conditions).order_by(runs.c.id.desc()).limit(page.limit)
            if page.cursor is not None:
                wanted = wanted.where(runs.c.id < page.cursor)
            found += [view_of(row) for row in await self.conn.execute(wanted)]
        return sorted(found, key=lambda run: run.id, reverse=True)[: page.limit]

    async def count(self, tenant_id: str, query: Query, now: datetime) -> dict[RunState, int]:
        sieve = await Sieve.of(self.conn, self.dialect, tenant_id, query, now)
        counted = select(runs.c.state, func.count()).where(*sieve.where()).group_by(runs.c.state)
        return {RunState(state): number for state, number in await self.conn.execute(counted)}

    async def series(self, tenant_id: str, query: Query, window: Window, now: datetime) -> list[Cell]:
        sieve = await Sieve.of(self.conn, self.dialect, tenant_id, query, now)
        width = int(window.width.total_seconds() * 1000)
        cut = (
            (Elapsed(literal(window.start, Moment()), runs.c.created_at) // width).label("bucket"),
            runs.c.state.label("state"),
            case((late(now), 1), else_=0).label("late"),
            two_digits(Elapsed(runs.c.started_at, runs.c.finished_at)).label("took"),
        )
        # Named once in a subquery: no database is left to find out that what is grouped by is what is shown.
        cells = select(*cut).where(*sieve.where()).subquery()
        counted = select(*cells.c, func.count().label("runs")).group_by(*cells.c)
        return [
            Cell(int(row.bucket), RunState(row.state), bool(row.late), _whole(row.took), row.runs)
            for row in await self.conn.execute(counted)
        ]

    async def schedules(self, tenant_id: str, query: Query, page: Page) -> list[Schedule]:
        return await schedule_sieve.find(self.conn, tenant_id, query, page)

    async def several_schedules(self, tenant_id: str, ids: Sequence[str]) -> list[Schedule]:
        return await schedule_sieve.several(self.conn, self.dialect, tenant_id, ids)

    async def count_schedules(self, tenant_id: str, query: Query) -> int:
        return await schedule_sieve.count(self.conn, tenant_id, query)

    async def letters(self, tenant_id: str, query: Query, page: Page, now: datetime) -> tuple[list[LetterGroup], int]:
        sieve = await Sieve.of(self.conn, self.dialect, tenant_id, query, now)
        return await letters.groups(self.conn, self.dialect, sieve, page)

    async def suggest(self, tenant_id: str, field: str, text: str, limit: int) -> list[Suggestion]:
        return await _SUGGEST[field](self.conn, tenant_id, text, limit)

    async def recent(self, tenant_id: str, column: str) -> list[str]:
        return await suggestions.recent(self.conn, tenant_id, column)


_SUGGEST = {
    "schedule": suggestions.scheduled,
    "tag": suggestions.tags,
    "run": suggestions.identified,
    "pipeline": suggestions.piped,
}


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
