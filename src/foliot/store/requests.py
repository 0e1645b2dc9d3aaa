"""Idempotency keys and what was answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.ports import Answer
from foliot.store.dialects import Dialect
from foliot.store.tables import requests

KEPT = timedelta(hours=24)
"""How long a key holds, whether it has been pruned by then or not."""


@dataclass(frozen=True, slots=True)
class SqlRequests:
    """One row per key; its insert is the first thing the effect's transaction does."""

    conn: AsyncConnection
    dialect: Dialect

    async def begin(self, tenant_id: str, key: str, fingerprint: str, now: datetime) -> Answer | None:
        row = {"tenant_id": [tenant_id], "request_key": [key], "fingerprint": [fingerprint], "created_at": [now]}
        # Waits for whoever inserted the same key and has not committed yet.
        await self.dialect.insert(self.conn, requests, row, conflict="ignore")
        query = select(requests.c.fingerprint, requests.c.status, requests.c.body, requests.c.created_at)
        query = query.where(requests.c.tenant_id == tenant_id, requests.c.request_key == key)
        found = (await self.conn.execute(self.dialect.lock(query))).one()
        if found.created_at < now - KEPT:
            where = (requests.c.tenant_id == tenant_id, requests.c.request_key == key)
            anew = {"fingerprint": fingerprint, "status": None, "body": None, "created_at": now}
            await self.conn.execute(update(requests).where(*where).values(**anew))
            return None
        if found.status is None and found.fingerprint == fingerprint:
            return None
        return Answer(found.fingerprint, found.status, found.body)

    async def answer(self, tenant_id: str, key: str, status: int, body: str) -> None:
        where = (requests.c.tenant_id == tenant_id, requests.c.request_key == key)
        await self.conn.execute(update(requests).where(*where).values(status=status, body=body))
