"""Cheap change markers, by which a subscription finds out whether a list has changed."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.insights.model.history import RunsRevision
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.runs.sql import SqlLogs
from foliot.features.schedules.usecases.schedules import find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMarkers:
    """A marker changes if, and only if, the list would."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.RUN)
    async def runs(self, ctx: QueryContext) -> RunsRevision:
        async with ctx.read() as tx:
            return await SqlHistory(tx).change_marker(ctx.tenant_id, self.clock.now())

    @query(Verb.READ, Thing.SCHEDULE)
    async def schedules(self, ctx: QueryContext) -> tuple[object, ...]:
        async with ctx.read() as tx:
            return await SqlHistory(tx).revision(ctx.tenant_id)

    @query(Verb.READ, Thing.RUN)
    async def attempt(self, ctx: QueryContext, run_id: str, seq: int) -> int | None:
        """The attempt that wrote the event after this one; None when none had begun."""
        async with ctx.read() as tx:
            await find_run(tx, ctx.caller, run_id)
            begun = [number for start, number in await SqlLogs(tx).starts(run_id) if start <= seq]
        return begun[-1] if begun else None
