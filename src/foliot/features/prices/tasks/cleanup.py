"""`cleanup_old_execution_records`: deletes a tenant's old runs and prices in small transactions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.sql.retention import SqlRetention
from foliot.features.prices.sql import SqlPrices
from foliot.features.tasks.model.context import TaskContext

BATCH = 500

Days = Annotated[int, Field(ge=1, le=36_500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCleanup:
    """Deletes rows of the tenant only; the engine's retention applies independently of it."""

    store: Database
    clock: Clock
    retention_days: int

    async def run(
        self,
        ctx: TaskContext,
        *,
        days: Days | None = None,
        price_days: Days = 365,
        batch: Annotated[int, Field(ge=1, le=BATCH)] = BATCH,
    ) -> dict[str, Any]:
        """Delete the tenant's ended runs that are older than `days` (by default what the settings keep), and its
        prices that are older than `price_days`. Open runs and dead letters without an answer stay.
        """
        now = self.clock.now()
        kept = self.retention_days if days is None else days
        before, prices_before = now - timedelta(days=kept), now - timedelta(days=price_days)
        runs = await self._runs(ctx, before, batch)
        prices = await self._prices(ctx, prices_before, batch)
        ctx.logger.info(
            "Deleted %d runs older than %d days and %d prices older than %d", runs, kept, prices, price_days
        )
        return {
            "runs": runs,
            "prices": prices,
            "runs_before": before.isoformat(),
            "prices_before": prices_before.isoformat(),
        }

    async def _runs(self, ctx: TaskContext, before: datetime, batch: int) -> int:
        gone, place, more = 0, "", True
        while more:
            async with self.store.begin(ctx.tenant_id) as tx:
                count, following = await SqlRetention(tx).prune(before, batch, place, tenant_id=ctx.tenant_id)
            gone, place, more = gone + count, following or "", following is not None
            if count:
                ctx.progress(runs=gone)
        return gone

    async def _prices(self, ctx: TaskContext, before: datetime, batch: int) -> int:
        gone, more = 0, True
        while more:
            async with self.store.begin(ctx.tenant_id) as tx:
                count = await SqlPrices(tx).prune(ctx.tenant_id, before, batch)
            gone, more = gone + count, count >= batch
            if count:
                ctx.progress(prices=gone)
        return gone
