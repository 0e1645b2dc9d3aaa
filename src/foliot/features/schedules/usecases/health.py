"""Reads the health of schedules, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.errors import Invalid
from foliot.db.database import Database
from foliot.features.schedules.model.health import SHOWN, ScheduleOutcomes
from foliot.features.schedules.sql.health import SqlScheduleHealth

MOST = 100
"""Schedules that one request may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleHealthReader:
    """Reads the last outcomes of schedules."""

    store: Database

    @query(Verb.READ, Thing.SCHEDULE, (Verb.READ, Thing.RUN))
    async def of(self, ctx: QueryContext, schedule_ids: Sequence[str]) -> Sequence[ScheduleOutcomes]:
        """In the order asked for; schedules that do not exist, or belong to another tenant, are left out."""
        wanted = list(dict.fromkeys(schedule_ids))
        if not 1 <= len(wanted) <= MOST:
            raise Invalid("ids", f"must name 1 to {MOST} schedules, with commas between them", got=len(wanted))
        async with ctx.read() as tx:
            known = await SqlScheduleHealth(tx).names(ctx.tenant_id, wanted)
            found = await SqlScheduleHealth(tx).outcomes(ctx.tenant_id, list(known), SHOWN)
        return [ScheduleOutcomes(one, found.get(one, ())) for one in wanted if one in known]
