"""One effect per idempotency key: the key's row is the first thing the effect's transaction writes.

The table of idempotency keys.

Statements on idempotency keys and the stored answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import (
    Column,
    Index,
    SmallInteger,
    Table,
    delete,
    select,
    update,
)

from foliot.core.access import Caller
from foliot.core.errors import Conflict, KeyReused
from foliot.db.database import Statements, Transaction
from foliot.db.metadata import Document, Moment, key, metadata, prose
from foliot.engine.model.views import KEYS_KEPT, StoredResponse

requests = Table(
    "requests",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("request_key", key(200), primary_key=True),
    Column("fingerprint", key(64), nullable=False),
    Column("status", SmallInteger),
    # NULL with a status: the answer contained a secret and is not stored.
    Column("body", prose()),
    Column("headers", Document),
    Column("created_at", Moment, nullable=False),
    Index(None, "created_at"),
)


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


MAX_KEY = 200


class AnsweredBefore(Exception):
    """The request with this key has already been answered; it has no second effect."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        super().__init__(f"answered before with {status}")
        self.status = status
        self.body = body
        self.headers = headers


def _no_headers(_: Any) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """The idempotency key of a request, and how its answer is stored. Without a key every request is new."""

    key: str | None = None
    fingerprint: str = ""
    status: int = 200
    render: Callable[[Any], str] = str
    """How the interface encodes the answer, so that a repeated request gets the same bytes."""
    headers: Callable[[Any], Mapping[str, str]] = _no_headers
    """The same for the headers of the answer."""
    secret: bool = False
    """The answer contains a secret: it is shown once, and not stored."""

    async def begin(self, tx: Transaction, caller: Caller, now: datetime) -> None:
        """Reserve the key; `AnsweredBefore`, `KeyReused` or `Conflict` when it was used before."""
        if self.key is None:
            return
        earlier = await SqlIdempotencyKeys(tx).begin(caller.tenant_id, self.key, self.fingerprint, now)
        if earlier is None:
            return
        if earlier.fingerprint != self.fingerprint or earlier.status is None:
            raise KeyReused(self.key)
        if earlier.body is None:
            raise Conflict(
                f"the request with the idempotency key {self.key!r} has already been answered, with a secret"
                " that is shown only once: repeat the request with another key"
            )
        raise AnsweredBefore(earlier.status, earlier.body, earlier.headers)

    async def keep(self, tx: Transaction, caller: Caller, result: object) -> None:
        """Store the answer. Errors roll the key back with everything else, so only successes are kept."""
        if self.key is None:
            return
        body, headers = (None, None) if self.secret else (self.render(result), self.headers(result))
        await SqlIdempotencyKeys(tx).answer(caller.tenant_id, self.key, self.status, body, headers)


EACH_TIME = IdempotentRequest()
