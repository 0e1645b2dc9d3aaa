"""Quick looks for those who want to know whether anything is new."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.insights.model.history import Stir
from foliot.features.insights.sql.history import SqlHistory
from foliot.features.runs.sql.log_pages import SqlLogs
from foliot.features.schedules.usecases.schedules import find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpses:
    """Each answer differs from the one before if, and only if, a list would."""

    store: Database
    clock: Clock

    async def runs(self, caller: Caller) -> Stir:
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlHistory(tx).stir(caller.tenant_id, self.clock.now())

    async def schedules(self, caller: Caller) -> tuple[object, ...]:
        demand(caller, Verb.READ, Thing.SCHEDULE)
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlHistory(tx).revision(caller.tenant_id)

    async def attempt(self, caller: Caller, run_id: str, seq: int) -> int | None:
        """Which attempt of the run wrote what came right after this event; None when none had begun."""
        demand(caller, Verb.READ, Thing.RUN)
        async with self.store.read(caller.tenant_id) as tx:
            await find_run(tx, caller, run_id)
            begun = [number for start, number in await SqlLogs(tx).starts(run_id) if start <= seq]
        return begun[-1] if begun else None
