"""Statements on idempotency keys and the stored answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from sqlalchemy import delete, select, update

from foliot.commands.idempotency_tables import requests
from foliot.db.transaction import Statements
from foliot.engine.model.views import KEYS_KEPT, StoredResponse


@dataclass(frozen=True, slots=True)
class SqlIdempotencyKeys(Statements):
    """One row per key; its insert is the first thing the effect's transaction does."""

    async def begin(self, tenant_id: str, key: str, fingerprint: str, now: datetime) -> StoredResponse | None:
        """Reserve the key inside this transaction; returns the stored answer when there is one."""
        values = {"tenant_id": [tenant_id], "request_key": [key], "fingerprint": [fingerprint], "created_at": [now]}
        # Blocks on an uncommitted transaction that inserted the same key.
        await self.dialect.insert(self.conn, requests, values, conflict="ignore")
        columns = (requests.c.fingerprint, requests.c.status, requests.c.body, requests.c.headers)
        query = select(*columns, requests.c.created_at)
        query = query.where(requests.c.tenant_id == tenant_id, requests.c.request_key == key)
        row = (await self.conn.execute(self.dialect.lock(query))).one()
        # An expired key counts no longer, even if it has not been pruned yet.
        if row.created_at < now - KEYS_KEPT:
            where = (requests.c.tenant_id == tenant_id, requests.c.request_key == key)
            anew = {"fingerprint": fingerprint, "status": None, "body": None, "headers": None, "created_at": now}
            await self.conn.execute(update(requests).where(*where).values(**anew))
            return None
        if row.status is None and row.fingerprint == fingerprint:
            return None
        return StoredResponse(row.fingerprint, row.status, row.body, row.headers or {})

    async def answer(
        self, tenant_id: str, key: str, status: int, body: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        where = (requests.c.tenant_id == tenant_id, requests.c.request_key == key)
        kept = {"status": status, "body": body, "headers": dict(headers) if headers else None}
        await self.conn.execute(update(requests).where(*where).values(**kept))

    async def prune(self, before: datetime, limit: int) -> int:
        """Delete keys that were used before this moment; returns how many."""
        query = select(requests.c.tenant_id, requests.c.request_key).where(requests.c.created_at < before).limit(limit)
        old = (await self.conn.execute(query)).all()
        for tenant_id, group in groupby(sorted(old), key=lambda row: row.tenant_id):
            keys = [row.request_key for row in group]
            where = (requests.c.tenant_id == tenant_id, self.dialect.among(requests.c.request_key, keys))
            await self.conn.execute(delete(requests).where(*where, requests.c.created_at < before))
        return len(old)
