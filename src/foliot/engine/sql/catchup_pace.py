"""The pace of catch-up: after an outage, the runs that a tenant is owed are released at a rate per queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy import Text, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.sql.settled_rows import Made
from foliot.engine.sql.tables import runs, tenants
from foliot.engine.sql.tenant_limits import CATCHUP, FRESH, wait_turns

LIMIT = "catchup_rate"
MINUTE = timedelta(minutes=1)

# Few tenants have a rate of their own; only their rows are read.
_OWN = select(tenants.c.tenant_id, tenants.c.limits).where(
    type_coerce(tenants.c.limits, Text()).contains(f'"{LIMIT}"', autoescape=True)
)


@dataclass(slots=True)
class CatchupRates:
    """Runs per minute, by tenants' rows or else by the settings; cached per process."""

    default: int | None = None
    own: Mapping[str, int | None] = field(default_factory=dict)
    read_at: datetime | None = None

    async def refresh(self, conn: AsyncConnection, now: datetime) -> None:
        if self.read_at is None or not timedelta() <= now - self.read_at < FRESH:
            stated = [(tenant, limits.get(LIMIT)) for tenant, limits in await conn.execute(_OWN)]
            self.own = {tenant: rate for tenant, rate in stated if rate is None or isinstance(rate, int)}
            self.read_at = now

    def of(self, tenant_id: str) -> int | None:
        return self.own.get(tenant_id, self.default)


async def paced(
    conn: AsyncConnection, dialect: Dialect, rates: CatchupRates, made: Sequence[Made], now: datetime
) -> Sequence[Made]:
    """The same runs; those that catch up begin one after another, behind those that wait already.

    The tenants' turns are locked until the runs are committed, so that no two tickers give out the same moments.
    """
    if not any(run.catchup for _, _, run in made):
        return made
    await rates.refresh(conn, now)
    limited = sorted({due.tenant_id for due, _, run in made if run.catchup and rates.of(due.tenant_id)})
    if not limited:
        return made
    await wait_turns(conn, dialect, limited, CATCHUP)
    waiting = select(runs.c.tenant_id, runs.c.lane, func.max(runs.c.ready_at)).where(
        dialect.among(runs.c.tenant_id, limited), runs.c.lane.is_not(None), runs.c.catchup.is_(True)
    )
    rows = await conn.execute(waiting.group_by(runs.c.tenant_id, runs.c.lane))
    last: dict[tuple[str, str], datetime] = {(tenant, lane): at for tenant, lane, at in rows}
    found = []
    for due, spec, run in made:
        rate = rates.of(due.tenant_id) if run.catchup else None
        if not rate:
            found.append((due, spec, run))
            continue
        key = due.tenant_id, spec.queue
        at = max(now, last[key] + MINUTE / rate) if key in last else now
        last[key] = at
        found.append((due, spec, replace(run, ready_at=max(run.ready_at, at))))
    return found
