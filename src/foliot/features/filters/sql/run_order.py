"""Runs in an order, page by page (keyset pagination).

Ended runs have indexes of their times and durations; open ones are few, and sorted as they are read. Both are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, literal, select

from foliot.core.sort import written
from foliot.db.database import Statements
from foliot.db.keyset import KeysetPlace, beyond
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.run_sort import RunSort, RunSortKey
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.run_rows import SEEN, view_of
from foliot.engine.sql.tables import runs
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql.runs import RunConditions

Condition = ColumnElement[bool]
_COLUMNS: dict[RunSortKey, ColumnElement[Any]] = {
    RunSortKey.SCHEDULED_FOR: runs.c.scheduled_for,
    RunSortKey.STARTED_AT: runs.c.started_at,
    RunSortKey.DURATION: runs.c.took_us,
}


@dataclass(frozen=True, slots=True)
class RunSegment:
    """Disjoint sets of conditions, each of which an index answers: by a value and then by id, or by id alone."""

    ways: Sequence[Sequence[Condition]]
    by: ColumnElement[Any] | None = None
    down: bool = False

    def after(self, place: KeysetPlace) -> Condition:
        if self.by is None:
            return runs.c.id < place.id if self.down else runs.c.id > place.id
        return beyond(self.by, runs.c.id, place, down=self.down)

    def order(self) -> list[ColumnElement[Any]]:
        if self.by is None:
            return [runs.c.id.desc() if self.down else runs.c.id.asc()]
        return [self.by.desc() if self.down else self.by.asc(), runs.c.id]

    def merged(self, rows: list[Any]) -> list[Any]:
        """Rows of several ways in their common order."""
        if self.by is None:
            return sorted(rows, key=lambda row: row.id, reverse=self.down)
        rows = sorted(rows, key=lambda row: row.id)
        return sorted(rows, key=lambda row: row.sorted_by, reverse=self.down)


@dataclass(frozen=True, slots=True)
class SqlRunOrder(Statements):
    """Lists of runs in an order."""

    async def page(
        self, tenant_id: str, query: FilterQuery, sort: RunSort, page: PageRequest, now: datetime
    ) -> list[tuple[RunView, str]]:
        """A page of those that match; each run with the cursor of what follows it."""
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, query, now)
        every = segments(sieve, sort)
        place = None if page.cursor is None else KeysetPlace.read(page.cursor, len(every))
        found: list[tuple[RunView, str]] = []
        for number in range(0 if place is None else place.segment, len(every)):
            if len(found) == page.limit:
                break
            segment = every[number]
            after = [segment.after(place)] if place is not None and number == place.segment else []
            rows = await self._rows(segment, after, page.limit - len(found))
            found += [(view_of(row), KeysetPlace(number, now, row.id, written(row.sorted_by)).write()) for row in rows]
        return found

    async def _rows(self, segment: RunSegment, after: Sequence[Condition], limit: int) -> list[Any]:
        value = literal("") if segment.by is None else segment.by
        rows: list[Any] = []
        for conditions in segment.ways:
            wanted = select(*SEEN, value.label("sorted_by")).where(*conditions, *after)
            rows += (await self.conn.execute(wanted.order_by(*segment.order()).limit(limit))).all()
        return segment.merged(rows)[:limit] if len(segment.ways) > 1 else rows


def segments(sieve: RunConditions, sort: RunSort) -> list[RunSegment]:
    wanted = sieve.states()
    states = list(RunState) if wanted is None else wanted
    common = sieve.conditions()
    match sort.key:
        case RunSortKey.CREATED_AT:
            return [RunSegment(sieve.ways(), down=sort.down)]
        case RunSortKey.STATE:
            ordered = sorted(states, reverse=sort.down)
            return [RunSegment([[*common, runs.c.state == state]], down=True) for state in ordered]
        case RunSortKey.SCHEDULED_FOR | RunSortKey.STARTED_AT | RunSortKey.DURATION:
            column = _COLUMNS[sort.key]
            ways = _ways(sieve, states)
            there = [[*way, column.is_not(None)] for way in ways]
            missing = [[*way, column.is_(None)] for way in ways]
            return [RunSegment(there, column, sort.down), RunSegment(missing, down=True)]


def _ways(sieve: RunConditions, states: Sequence[RunState]) -> list[list[Condition]]:
    """Ended runs, whose indexes have the order, and open ones, state by state."""
    common = sieve.conditions()
    ended = [state for state in states if state.final]
    ways = []
    if ended:
        every = len(ended) == sum(state.final for state in RunState)
        among = [] if every else [runs.c.state.in_(sorted(ended))]
        ways.append([*common, and_(runs.c.finished_at.is_not(None), *among)])
    return ways + [[*common, runs.c.state == state] for state in sorted(set(states) & OPEN)]
