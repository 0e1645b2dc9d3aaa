"""Queries of runs and schedules by a filter: lists, counts, series and samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, func, literal, select

from foliot.db.clock import Elapsed, two_digits
from foliot.db.database import Statements
from foliot.db.metadata import Moment
from foliot.engine.model.quarter_counts import QUARTER, quarter
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.run_sort import RunSort
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.schedule_sort import ScheduleSort, Urgency
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.run_rows import SEEN, view_of
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.sql.tables import runs
from foliot.features.filters.model import BucketWindow, FilterQuery, RunColumns, StateCount, TimingCount
from foliot.features.filters.sql import counts as counting
from foliot.features.filters.sql import points
from foliot.features.filters.sql import schedules as schedule_sieve
from foliot.features.filters.sql.run_order import SqlRunOrder
from foliot.features.filters.sql.runs import RunConditions, late
from foliot.features.filters.sql.schedule_order import SqlScheduleOrder


@dataclass(frozen=True, slots=True)
class SqlSearch(Statements):
    """Runs and schedules that match a filter."""

    async def runs(self, tenant_id: str, query: FilterQuery, page: PageRequest, now: datetime) -> list[RunView]:
        """Newest first."""
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, query, now)
        views: list[RunView] = []
        for conditions in sieve.ways():
            wanted = select(*SEEN).where(*conditions).order_by(runs.c.id.desc()).limit(page.limit)
            if page.cursor is not None:
                wanted = wanted.where(runs.c.id < page.cursor)
            views += [view_of(row) for row in await self.conn.execute(wanted)]
        return sorted(views, key=lambda run: run.id, reverse=True)[: page.limit]

    async def count(self, tenant_id: str, query: FilterQuery, now: datetime) -> dict[RunState, int]:
        """How many there are in each state; exact."""
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, query, now)
        counts: dict[RunState, int] = {}
        if sieve.plain():
            counts = await counting.by_state(self.conn, self.dialect, tenant_id, _wanted(sieve), *sieve.times())
            sieve = await sieve.only(OPEN)
        for conditions in sieve.ways():
            # Grouped by an unindexed expression: otherwise SQLite would scan all runs in the order of their states.
            each = select(func.coalesce(runs.c.state, "").label("name")).where(*conditions).subquery()
            counted = select(each.c.name, func.count()).group_by(each.c.name)
            for name, number in await self.conn.execute(counted):
                counts[RunState(name)] = counts.get(RunState(name), 0) + number
        return counts

    async def series(self, tenant_id: str, query: FilterQuery, window: BucketWindow, now: datetime) -> list[StateCount]:
        """Counts by state over time, by creation."""
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, query, now)
        counts: list[StateCount] = []
        if sieve.plain():
            tiles = counting.cut(window.start, window.end, window.width)
            ended = await counting.by_tile(self.conn, self.dialect, tenant_id, tiles, _wanted(sieve))
            counts = [StateCount(place, state, number) for place, state, number in ended]
            sieve = await sieve.only(OPEN)
        # Aliased in a subquery: some databases do not recognise that the grouped expression is the selected one.
        cells = select(_bucket(window), runs.c.state.label("state")).where(*sieve.where()).subquery()
        counted = select(*cells.c, func.count().label("runs")).group_by(*cells.c)
        rows = await self.conn.execute(counted)
        return [*counts, *(StateCount(int(row.bucket), RunState(row.state), row.runs) for row in rows)]

    async def timings(
        self, tenant_id: str, query: FilterQuery, window: BucketWindow, share: float, now: datetime
    ) -> list[TimingCount]:
        """Durations and lateness of a random sample, which is always the same."""
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, query, now)
        drawn = [] if share >= 1 else [points.drawn(share)]
        took = Elapsed(runs.c.started_at, runs.c.finished_at).label("took")
        cut = (_bucket(window), case((late(now), 1), else_=0).label("late"), took)
        # Computed once for each run, though the outer query uses it repeatedly.
        each = select(*cut).where(*sieve.where(), *drawn).cte("each_run")
        for name in ("sqlite", "postgresql"):
            each = each.prefix_with("MATERIALIZED", dialect=name)
        cells = select(each.c.bucket, each.c.late, two_digits(each.c.took).label("took")).subquery()
        counted = select(*cells.c, func.count().label("runs")).group_by(*cells.c)
        return [
            TimingCount(int(row.bucket), bool(row.late), _whole(row.took), row.runs)
            for row in await self.conn.execute(counted)
        ]

    async def kept_timings(self, tenant_id: str, query: FilterQuery, window: BucketWindow) -> list[TimingCount] | None:
        """Durations and lateness of all ended runs, from the histograms that are kept; None where those do not do."""
        quarters = timedelta() == (window.start - quarter(window.start)) == window.width % QUARTER
        if not quarters or any(term.key not in {"since", "until"} for term in query.terms):
            return None
        found = await counting.durations(self.conn, self.dialect, tenant_id, window.start, window.end, window.width)
        return [TimingCount(place, took is None, took, number) for place, took, number in found]

    async def begun(self, tenant_id: str, query: FilterQuery, now: datetime) -> dict[RunState, tuple[int, int]]:
        """How many there are in each state, and how many of them have begun; exact."""
        return await points.begun(self.conn, await RunConditions.of(self.conn, self.dialect, tenant_id, query, now))

    async def points(
        self, tenant_id: str, query: FilterQuery, start: datetime, shares: Mapping[RunState, float], now: datetime
    ) -> RunColumns:
        """Runs that have begun: of each state a share, from none (0) to all (1); a random sample, always the same."""
        sieve = await RunConditions.of(self.conn, self.dialect, tenant_id, query, now)
        return await points.points(self.conn, sieve, start, shares)

    async def schedules(self, tenant_id: str, query: FilterQuery, page: PageRequest) -> list[Schedule]:
        """Newest first; deleted ones only if the filter names them."""
        return await SqlSchedules(self.tx).named(await schedule_sieve.find(self.conn, tenant_id, query, page))

    async def sorted_runs(
        self, tenant_id: str, query: FilterQuery, sort: RunSort, page: PageRequest, now: datetime
    ) -> list[tuple[RunView, str]]:
        """In this order; each with the cursor of what follows it."""
        return await SqlRunOrder(self.tx).page(tenant_id, query, sort, page, now)

    async def sorted_schedules(
        self, tenant_id: str, query: FilterQuery, sort: ScheduleSort, page: PageRequest, now: datetime
    ) -> list[tuple[Schedule, str]]:
        """In this order; each with the cursor of what follows it."""
        found = await SqlScheduleOrder(self.tx).page(tenant_id, query, sort, page, now)
        named = await SqlSchedules(self.tx).named([schedule for schedule, _ in found])
        return [(schedule, cursor) for schedule, (_, cursor) in zip(named, found, strict=True)]

    async def ranked_schedules(
        self, tenant_id: str, query: FilterQuery, limit: int, now: datetime
    ) -> list[tuple[Schedule, Urgency]]:
        """The most urgent, each with the reason for its place."""
        return await SqlScheduleOrder(self.tx).ranked(tenant_id, query, limit, now)

    async def several_schedules(self, tenant_id: str, ids: Sequence[str]) -> list[Schedule]:
        """Those that exist, deleted ones too, in the order of the ids."""
        found = await schedule_sieve.several(self.conn, self.dialect, tenant_id, ids)
        return await SqlSchedules(self.tx).named(found)

    async def count_schedules(self, tenant_id: str, query: FilterQuery) -> int:
        return await schedule_sieve.count(self.conn, tenant_id, query)


def _wanted(sieve: RunConditions) -> list[RunState]:
    wanted = sieve.states()
    return list(RunState) if wanted is None else wanted


def _bucket(window: BucketWindow) -> Any:
    width = int(window.width.total_seconds() * 1000)
    return (Elapsed(literal(window.start, Moment()), runs.c.created_at) // width).label("bucket")


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
