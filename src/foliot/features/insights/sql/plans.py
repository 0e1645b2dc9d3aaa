"""What active schedules have planned, grouped in the database: many schedules share a trigger and a next instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, func, null, select

from foliot.core.errors import Invalid
from foliot.core.time.trigger import TriggerType
from foliot.db.database import Statements
from foliot.engine.model.planned_counts import FiringState
from foliot.engine.model.schedule import ScheduleStatus, load_spec
from foliot.engine.sql.tables import schedules
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.sql import schedules as schedule_sieve
from foliot.features.insights.model.plans import PlannedGroup, PlannedGroups

MOST_PLANS = 20_000
"""Groups that are read; of more, these stand for all."""
KEPT = timedelta(seconds=10)
FEW = 2000
"""Schedules that are grouped anew for every answer."""
MOST_KEPT = 20
"""Tenants whose groups are kept."""


@dataclass(frozen=True, slots=True)
class KeptPlans:
    """The groups of one tenant, when they were read, and when a schedule was last edited then."""

    at: datetime
    edited: datetime | None
    groups: PlannedGroups


@dataclass(frozen=True, slots=True)
class PlanCache:
    """The groups of tenants with very many schedules, for a few seconds."""

    tenants: dict[str, KeptPlans] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SqlPlans(Statements):
    """Groups of schedules that are due alike."""

    async def every(self, tenant_id: str, now: datetime) -> PlannedGroups:
        """Of all active schedules, labelled. Of very many, the groups of up to `KEPT` ago, if no schedule was edited
        since: firing moves them on, and counting them reads every schedule.
        """
        mine = self.tx.cache(PlanCache).tenants
        edited = await self.conn.scalar(
            select(func.max(schedules.c.updated_at)).where(schedules.c.tenant_id == tenant_id)
        )
        kept = mine.pop(tenant_id, None)
        if kept is None or kept.edited != edited or not timedelta() <= now - kept.at <= KEPT:
            kept = KeptPlans(now, edited, await self.groups(tenant_id, FilterQuery(), labelled=True))
        if kept.groups.number > FEW:
            mine[tenant_id] = kept
            if len(mine) > MOST_KEPT:
                del mine[next(iter(mine))]
        return kept.groups

    async def groups(self, tenant_id: str, query: FilterQuery, *, labelled: bool = False) -> PlannedGroups:
        """Of the active schedules that match; `labelled` tells those of other tags, kinds or queues apart."""
        column = schedules.c
        # Of one-off and cron triggers the anchor has no effect; fired runs count only where they are limited.
        anchor = case((column.type == TriggerType.INTERVAL, column.anchor), else_=null())
        fired = case((column.spec.contains('"max_runs":null', autoescape=True), 0), else_=column.fired)
        keys: list[Any] = [column.spec, column.next_at, column.skip_at, anchor.label("base"), fired.label("used")]
        keys += [column.kind, column.tags] if labelled else []
        active = (column.status == ScheduleStatus.ACTIVE, column.fault.is_(None), column.next_at.is_not(None))
        each = select(*keys, column.anchor.label("anchor")).where(*schedule_sieve.conditions(tenant_id, query), *active)
        # A subquery: some databases do not recognise that the grouped expression is the selected one.
        cut = each.subquery()
        labels = [cut.c[key.name] for key in keys]
        wanted = select(*labels, func.count().label("number"), func.min(cut.c.anchor).label("anchor"))
        wanted = wanted.group_by(*labels).limit(MOST_PLANS + 1)
        rows = list(await self.conn.execute(wanted))
        more = len(rows) > MOST_PLANS
        found = [group for row in rows[:MOST_PLANS] if (group := _group(row, labelled=labelled)) is not None]
        return PlannedGroups(found, more)


def _group(row: Any, *, labelled: bool) -> PlannedGroup | None:
    try:
        spec = load_spec(row.spec, row.anchor)
    except Invalid:
        return None
    state = FiringState(spec.trigger, row.next_at, row.skip_at, spec.max_runs, row.used)
    tags = tuple(tag for tag in row.tags.split("\n") if tag) if labelled else ()
    return PlannedGroup(state, row.number, row.kind if labelled else "", tags, spec.queue)
