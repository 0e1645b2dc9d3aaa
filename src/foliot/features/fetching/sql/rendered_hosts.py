"""Hosts whose pages needed a browser, by tenant: what one tenant learns changes nothing for another."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select

from foliot.db.database import Statements
from foliot.features.fetching.tables import rendered_hosts

MOST = 10_000
"""Hosts of one tenant that are read at once."""


class SqlRenderedHosts(Statements):
    """Statements of the hosts whose pages needed a browser."""

    async def of(self, tenant_id: str, now: datetime) -> set[str]:
        """The hosts that still count; of very many, those that count longest."""
        query = (
            select(rendered_hosts.c.host)
            .where(rendered_hosts.c.tenant_id == tenant_id, rendered_hosts.c.until > now)
            .order_by(rendered_hosts.c.until.desc())
            .limit(MOST)
        )
        return set((await self.conn.execute(query)).scalars())

    async def put(self, tenant_id: str, host: str, until: datetime) -> None:
        keys = {"tenant_id": [tenant_id], "host": [host]}
        await self.dialect.insert(self.conn, rendered_hosts, keys | {"until": [until]}, conflict="ignore")
        await self.dialect.update(self.conn, rendered_hosts, keys, {"until": [until]})

    async def prune(self, before: datetime, limit: int) -> None:
        """Deletes those that no longer count."""
        query = (
            select(rendered_hosts.c.tenant_id, rendered_hosts.c.host)
            .where(rendered_hosts.c.until < before)
            .limit(limit)
        )
        for tenant_id, host in (await self.conn.execute(query)).all():
            await self.conn.execute(
                delete(rendered_hosts).where(rendered_hosts.c.tenant_id == tenant_id, rendered_hosts.c.host == host)
            )
