"""Limits on the concurrent runs of a tenant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Text, func, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import runs, tenants
from foliot.engine.sql.tenant_turns import RUNS, try_turns

FRESH = timedelta(seconds=5)
"""Seconds until a changed limit takes effect everywhere."""

# Few tenants have a limit of their own; only their rows are read.
_OWN = select(tenants.c.tenant_id, tenants.c.limits).where(
    type_coerce(tenants.c.limits, Text()).contains('"concurrent_runs"', autoescape=True)
)


@dataclass(slots=True)
class ConcurrencyLimits:
    """The limits of tenants' rows, or else of the settings; cached per process."""

    default: int | None = None
    own: Mapping[str, int | None] = field(default_factory=dict)
    read_at: datetime | None = None

    async def refresh(self, conn: AsyncConnection, now: datetime) -> None:
        if self.read_at is not None and timedelta() <= now - self.read_at < FRESH:
            return
        stated = await conn.execute(_OWN)
        self.own = {one: limits["concurrent_runs"] for one, limits in stated if _states_cap(limits)}
        self.read_at = now

    def capped(self, tenant_ids: Collection[str]) -> list[str]:
        """Those of these tenants that have a limit; without any there is nothing to count."""
        if not self.own and self.default is None:
            return []
        return sorted(one for one in tenant_ids if self.own.get(one, self.default) is not None)

    async def rooms(self, conn: AsyncConnection, dialect: Dialect, tenant_ids: Collection[str]) -> dict[str, int]:
        """How many more runs each limited tenant may start now; tenants without an entry are unlimited."""
        capped = self.capped(tenant_ids)
        if not capped:
            return {}
        query = select(runs.c.tenant_id, func.count().label("running")).where(
            dialect.among(runs.c.tenant_id, capped),
            runs.c.state == RunState.RUNNING.value,
            # Parked runs occupy no slot.
            runs.c.handle.is_(None),
        )
        counted = await conn.execute(query.group_by(runs.c.tenant_id))
        running = {row.tenant_id: row.running for row in counted}
        return {one: max((self.own.get(one, self.default) or 0) - running.get(one, 0), 0) for one in capped}

    async def within(self, conn: AsyncConnection, dialect: Dialect, rows: Sequence[Any]) -> Sequence[Any]:
        """Of rows about to be claimed, the first ones within their tenants' limits.

        The tenant's turn is locked until the claim is committed, so that no two claims count the same free slots.
        """
        capped = self.capped({row.tenant_id for row in rows})
        if not capped:
            return rows
        held = await try_turns(conn, dialect, capped, RUNS)
        rooms = dict.fromkeys(capped, 0) | await self.rooms(conn, dialect, held)
        return first_of_each(rows, rooms)


def first_of_each(found: Sequence[Any], rooms: Mapping[str, int]) -> list[Any]:
    """In the order given, no more of a tenant's than its limit allows. Each has a `tenant_id`."""
    left, kept = dict(rooms), []
    for one in found:
        room = left.get(one.tenant_id)
        if room is None:
            kept.append(one)
        elif room > 0:
            kept.append(one)
            left[one.tenant_id] = room - 1
    return kept


def _states_cap(limits: object) -> bool:
    """A damaged row is ignored: the settings apply."""
    if not isinstance(limits, Mapping) or "concurrent_runs" not in limits:
        return False
    cap = limits["concurrent_runs"]
    return cap is None or (isinstance(cap, int) and not isinstance(cap, bool) and cap >= 0)
