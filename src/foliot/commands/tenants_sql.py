"""Statements on the limits of tenants and on their usage.

The limits and the egress allow-list of a tenant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update

from foliot.core.errors import Invalid
from foliot.core.limits import read_own
from foliot.db.database import Statements
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest
from foliot.engine.sql import tenant_limits as stored
from foliot.engine.sql.tables import runs, schedules, tenants
from foliot.engine.sql.tenant_limits import SCHEDULES, wait_turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """The limits of one tenant where they differ from the settings; without a row, the settings apply."""

    tenant_id: str
    limits: Mapping[str, int | None] = field(default_factory=dict)
    """Only the limits that are set for this tenant."""
    egress_allow: Sequence[str] | None = ()
    """Hosts that its actions may call; empty: those the operator allows to all tenants. None: it cannot be read."""
    updated_by: str | None = None
    updated_at: datetime | None = None


COUNTED = (ScheduleStatus.ACTIVE.value, ScheduleStatus.PAUSED.value)
"""States that count towards the limit; schedules that have ended or were deleted do not."""


@dataclass(frozen=True, slots=True)
class SqlTenants(Statements):
    """One row for each tenant with limits of its own."""

    async def get(self, tenant_id: str, *, lock: bool = False) -> Tenant | None:
        query = select(tenants).where(tenants.c.tenant_id == tenant_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _tenant(row)

    async def put(self, tenant: Tenant) -> None:
        values: dict[str, Any] = {
            "limits": dict(tenant.limits),
            "egress_allow": list(tenant.egress_allow or ()),
            "updated_by": tenant.updated_by,
            "updated_at": tenant.updated_at,
        }
        row = {name: [value] for name, value in values.items()}
        await self.dialect.insert(self.conn, tenants, {"tenant_id": [tenant.tenant_id], **row}, conflict="ignore")
        await self.conn.execute(update(tenants).where(tenants.c.tenant_id == tenant.tenant_id).values(**values))

    async def find(self, page: PageRequest) -> list[Tenant]:
        """Tenants with limits of their own, ordered by id."""
        query = select(tenants).order_by(tenants.c.tenant_id).limit(page.limit)
        if page.cursor is not None:
            query = query.where(tenants.c.tenant_id > page.cursor)
        return [_tenant(row) for row in await self.conn.execute(query)]

    async def count_schedules(self, tenant_id: str, *, lock: bool = False) -> int:
        """Schedules that are active or paused. With `lock`, other locking counts wait until this transaction ends."""
        if lock:
            await wait_turn(self.conn, self.dialect, tenant_id, SCHEDULES)
        query = select(func.count()).select_from(schedules)
        query = query.where(schedules.c.tenant_id == tenant_id, schedules.c.status.in_(COUNTED))
        return (await self.conn.execute(query)).scalar_one()

    async def stored_bytes(self, tenant_id: str) -> int:
        """Bytes of schedules, their versions and the runs' own input, including this transaction's writes."""
        return await stored.total(self.conn, tenant_id)

    async def count_running(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(runs)
        query = query.where(runs.c.tenant_id == tenant_id, runs.c.state == RunState.RUNNING.value)
        return (await self.conn.execute(query)).scalar_one()


def _tenant(row: Any) -> Tenant:
    allow = row.egress_allow
    readable = isinstance(allow, list) and all(isinstance(entry, str) for entry in allow)
    return Tenant(
        tenant_id=row.tenant_id,
        limits=_own(row.limits),
        egress_allow=tuple(allow) if readable else None,
        updated_by=row.updated_by,
        updated_at=row.updated_at,
    )


def _own(limits: object) -> dict[str, int | None]:
    """The limits in the column; a damaged document counts as none, so that the settings apply."""
    try:
        return read_own("limits", limits)
    except Invalid:
        return {}
