"""Schedules in an order, page by page (keyset pagination).

`urgency` lists the failing schedules by when they failed, then those that missed an instant, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    and_,
    cast,
    false,
    func,
    literal,
    not_,
    select,
)

from foliot.core.sort import written
from foliot.db.database import Statements
from foliot.db.keyset import KeysetPlace, beyond
from foliot.db.metadata import key
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.schedule_sort import ScheduleSort, SortKey, Urgency
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedules import schedule_of
from foliot.engine.sql.tables import runs, schedule_stats, schedules
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql.schedules import alive, conditions

RECENT = timedelta(hours=24)
"""A missed instant, or the failure of a completed schedule, is urgent for so long."""
OVERDUE = timedelta(seconds=60)
"""An instant is late after this."""
NAMED = 40
"""Characters of a name that it is sorted by; schedules whose names begin alike follow by id."""

Condition = ColumnElement[bool]
_BESIDE = schedules.outerjoin(schedule_stats, schedule_stats.c.schedule_id == schedules.c.id)
_FROM_STATS = schedule_stats.join(schedules, schedule_stats.c.schedule_id == schedules.c.id)


@dataclass(frozen=True, slots=True)
class Segment:
    """Schedules that meet a condition, by a value, or, without one, newest first."""

    where: Sequence[Condition] = ()
    by: ColumnElement[Any] | None = None
    down: bool = False
    source: FromClause = schedules

    def after(self, place: KeysetPlace) -> Condition:
        if self.by is None:
            return schedules.c.id < place.id
        return beyond(self.by, schedules.c.id, place, down=self.down)

    def order(self) -> list[ColumnElement[Any]]:
        if self.by is None:
            return [schedules.c.id.desc()]
        return [self.by.desc() if self.down else self.by.asc(), schedules.c.id]


@dataclass(frozen=True, slots=True)
class SqlScheduleOrder(Statements):
    """Lists of schedules in an order."""

    async def page(
        self, tenant_id: str, query: FilterQuery, sort: ScheduleSort, page: PageRequest, now: datetime
    ) -> list[tuple[Schedule, str]]:
        """A page of those that match; each schedule with the cursor of what follows it."""
        place = None if page.cursor is None else KeysetPlace.read(page.cursor, len(segments(sort, now)))
        now = now if place is None else place.now
        every = segments(sort, now)
        found: list[tuple[Schedule, str]] = []
        for number in range(0 if place is None else place.segment, len(every)):
            if len(found) == page.limit:
                break
            segment = every[number]
            wanted = self._wanted(tenant_id, query, segment)
            if place is not None and number == place.segment:
                wanted = wanted.where(segment.after(place))
            rows = await self.conn.execute(wanted.order_by(*segment.order()).limit(page.limit - len(found)))
            found += [
                (schedule_of(row), KeysetPlace(number, now, row.id, written(row.sorted_by)).write()) for row in rows
            ]
        return found

    async def ranked(
        self, tenant_id: str, query: FilterQuery, limit: int, now: datetime
    ) -> list[tuple[Schedule, Urgency]]:
        """The most urgent of those that match, each with the reason for its place."""
        found = await self.page(tenant_id, query, ScheduleSort(SortKey.URGENCY), PageRequest(limit), now)
        return [(schedule, _REASONS[KeysetPlace.read(cursor, len(_REASONS)).segment]) for schedule, cursor in found]

    def _wanted(self, tenant_id: str, query: FilterQuery, segment: Segment) -> Select[Any]:
        value = literal("") if segment.by is None else segment.by
        # SQLite keeps no statistics, and would read all schedules of the tenant and sort them.
        lite = self.dialect.name == "sqlite" and segment.by is not None
        owner = func.coalesce(schedules.c.tenant_id, "") if lite else schedules.c.tenant_id
        _, *matching = conditions(tenant_id, query)
        wanted = select(schedules, value.label("sorted_by")).select_from(segment.source)
        wanted = wanted.where(owner == tenant_id, *matching, *segment.where)
        return wanted.where(schedule_stats.c.tenant_id == tenant_id) if segment.source is _FROM_STATS else wanted


def segments(sort: ScheduleSort, now: datetime) -> list[Segment]:  # noqa: PLR0911 -- one arm for each key
    stats = schedule_stats.c
    match sort.key:
        case SortKey.URGENCY:
            return _urgency(now)
        case SortKey.FAILING:
            bad = stats.failing_at.is_not(None)
            return [
                Segment([bad], stats.failing_at, down=True, source=_FROM_STATS),
                Segment([_no(bad)], source=_BESIDE),
            ]
        case SortKey.NEXT_RUN_AT:
            return _by(schedules.c.next_at, sort.down, schedules)
        case SortKey.LAST_RUN_AT:
            return _by(schedules.c.last_run_at, sort.down, schedules)
        case SortKey.DURATION:
            return _by(stats.took_ms, sort.down, _BESIDE)
        case SortKey.NAME:
            # Cast for its collation: by code point, the same on every database.
            name = cast(func.substr(func.lower(schedules.c.name), 1, NAMED), key(NAMED))
            return [Segment((), name, sort.down)]
        case SortKey.CREATED_AT:
            return [Segment((), schedules.c.id, sort.down)]


def _by(column: ColumnElement[Any], down: bool, source: FromClause) -> list[Segment]:  # noqa: FBT001 -- of one place
    """Those with a value, then those without."""
    return [Segment([column.is_not(None)], column, down, source), Segment([column.is_(None)], source=source)]


_REASONS = (
    Urgency.FAILING,
    Urgency.MISSED,
    Urgency.LATE,
    Urgency.RUNNING,
    Urgency.RUNNING,
    Urgency.SOON,
    Urgency.IDLE,
)
"""Of each segment that `_urgency` returns."""


def _urgency(now: datetime) -> list[Segment]:
    """Failing, missed, late, running, soonest, and the rest: each schedule in the first that it belongs to."""
    stats, next_at = schedule_stats.c, schedules.c.next_at
    recent = now - RECENT
    fails = and_(stats.failing_at.is_not(None), alive(recent))
    misses = and_(stats.missed_at >= recent, schedules.c.status == ScheduleStatus.ACTIVE)
    late = and_(next_at.is_not(None), next_at < now - OVERDUE)
    calm = [_no(fails), _no(misses)]
    open_ = select(runs.c.open_of).where(runs.c.open_of.is_not(None))
    idle = ~select(runs.c.id).where(runs.c.open_of == schedules.c.id).exists()
    return [
        Segment([fails], stats.failing_at, down=True, source=_FROM_STATS),
        Segment([misses, _no(fails)], stats.missed_at, down=True, source=_FROM_STATS),
        Segment([late, *calm], next_at, source=_BESIDE),
        Segment([schedules.c.id.in_(open_), next_at >= now - OVERDUE, *calm], next_at, source=_BESIDE),
        Segment([schedules.c.id.in_(open_), next_at.is_(None), *calm], source=_BESIDE),
        Segment([next_at.is_not(None), next_at >= now - OVERDUE, idle, *calm], next_at, source=_BESIDE),
        Segment([next_at.is_(None), idle, *calm], source=_BESIDE),
    ]


def _no(condition: Condition) -> Condition:
    return not_(func.coalesce(condition, false()))
