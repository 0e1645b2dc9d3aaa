"""Statements of API keys, stream tickets and browser sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    Index,
    String,
    Table,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from foliot.auth.identity import KeyDigest, KeyRecord, StoredSession, StoredTicket
from foliot.core.access import Role
from foliot.db.database import Statements
from foliot.db.metadata import Document, Moment, key, metadata, one_of, tenant
from foliot.engine.model.views import PageRequest

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", String(200), nullable=False),
    Column("role", key(16), nullable=False),
    # Null: everything that the role allows.
    Column("scopes", Document),
    # HMAC of the key; the key itself is shown once and not stored.
    Column("digest", key(64), nullable=False, unique=True),
    # The id of the pepper of the digest.
    Column("pepper", key(16), nullable=False),
    # The first characters of the key, by which a leaked one can be identified.
    Column("hint", key(16), nullable=False),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("last_used_at", Moment),
    Column("revoked_at", Moment),
    Column("revoked_by", key(200)),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("role", Role), name="role"),
    Index(None, "tenant_id", "id"),
)


tickets = Table(
    "tickets",
    metadata,
    Column("digest", key(64), primary_key=True),
    tenant(),
    # The caller whom the ticket authenticates.
    Column("caller", Document, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "expires_at"),
)


sessions = Table(
    "sessions",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("user_id", key(200), nullable=False),
    Column("begun_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "tenant_id", "user_id"),
    Index(None, "expires_at"),
)


@dataclass(frozen=True, slots=True)
class SqlKeys(Statements):
    """Reads and writes API keys, stream tickets and browser sessions."""

    async def add(self, key: KeyRecord, made: KeyDigest) -> None:
        await self.conn.execute(
            insert(api_keys).values(
                id=key.id,
                tenant_id=key.tenant_id,
                name=key.name,
                role=key.role.value,
                scopes=None if key.scopes is None else sorted(key.scopes),
                digest=made.digest,
                pepper=made.pepper,
                hint=key.hint,
                created_by=key.created_by,
                created_at=key.created_at,
                expires_at=key.expires_at,
            )
        )

    async def find(self, tenant_id: str, page: PageRequest) -> list[KeyRecord]:
        """Newest first, revoked and expired ones too."""
        query = select(api_keys).where(api_keys.c.tenant_id == tenant_id)
        if page.cursor is not None:
            query = query.where(api_keys.c.id < page.cursor)
        return [_key(row) for row in await self.conn.execute(query.order_by(api_keys.c.id.desc()).limit(page.limit))]

    async def get(self, tenant_id: str, key_id: str) -> KeyRecord | None:
        query = select(api_keys).where(api_keys.c.id == key_id, api_keys.c.tenant_id == tenant_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else _key(row)

    async def lock_live(self, tenant_id: str, now: datetime) -> int:
        """How many of the tenant's keys are valid now; locks the count, so that two creations cannot pass the limit."""
        live = (api_keys.c.tenant_id == tenant_id, _counts(now))
        await self.conn.execute(self.dialect.lock(select(api_keys.c.id).where(*live).order_by(api_keys.c.id)))
        # A second statement, for the first does not see what was inserted while it waited for the lock.
        return (await self.conn.execute(select(func.count()).select_from(api_keys).where(*live))).scalar_one()

    async def by_digests(self, digests: Sequence[str]) -> list[tuple[KeyRecord, KeyDigest]]:
        """Of any tenant, for the tenant is known only once the digest has matched."""
        query = select(api_keys).where(self.dialect.among(api_keys.c.digest, digests))
        return [(_key(row), KeyDigest(row.pepper, row.digest)) for row in await self.conn.execute(query)]

    async def by_id(self, key_id: str) -> KeyRecord | None:
        """Of any tenant, for a caller who was authenticated by it."""
        row = (await self.conn.execute(select(api_keys).where(api_keys.c.id == key_id))).first()
        return None if row is None else _key(row)

    async def reprint(self, key_id: str, old: KeyDigest, new: KeyDigest) -> None:
        """Store the digest by the newest pepper, unless another process did."""
        where = (api_keys.c.id == key_id, api_keys.c.digest == old.digest)
        await self.conn.execute(update(api_keys).where(*where).values(digest=new.digest, pepper=new.pepper))

    async def revoke(self, tenant_id: str, key_id: str, now: datetime, user_id: str) -> bool:
        # No row: it is not the tenant's, or was revoked concurrently.
        """Whether this revoked it; False when it was revoked before, or is no key of the tenant."""
        where = (api_keys.c.id == key_id, api_keys.c.tenant_id == tenant_id, api_keys.c.revoked_at.is_(None))
        done = await self.conn.execute(update(api_keys).where(*where).values(revoked_at=now, revoked_by=user_id))
        return done.rowcount == 1

    async def note_use(self, used: Mapping[str, datetime]) -> None:
        """When each was last used; never moves back."""
        if used:
            # In order of id, so that two processes cannot deadlock.
            await self.conn.execute(_NOTE_USE, [{"b_id": key_id, "b_at": used[key_id]} for key_id in sorted(used)])

    async def put_ticket(self, digest: str, ticket: StoredTicket) -> None:
        values = {"tenant_id": ticket.tenant_id, "caller": dict(ticket.caller), "expires_at": ticket.expires_at}
        await self.conn.execute(insert(tickets).values(digest=digest, **values))

    async def take_ticket(self, digests: Sequence[str]) -> StoredTicket | None:
        """Deletes and returns the ticket: of concurrent requests, one gets it."""
        row = (await self.conn.execute(select(tickets).where(self.dialect.among(tickets.c.digest, digests)))).first()
        if row is None:
            return None
        taken = await self.conn.execute(delete(tickets).where(tickets.c.digest == row.digest))
        if taken.rowcount != 1:
            # Another request took it between our two statements.
            return None
        return StoredTicket(tenant_id=row.tenant_id, caller=row.caller, expires_at=row.expires_at)

    async def prune_tickets(self, before: datetime, limit: int) -> int:
        """Delete unused tickets that expired before this moment."""
        query = select(tickets.c.digest).where(tickets.c.expires_at < before).order_by(tickets.c.expires_at)
        old = (await self.conn.execute(self.dialect.lock(query.limit(limit), skip=True))).scalars().all()
        if old:
            await self.conn.execute(delete(tickets).where(self.dialect.among(tickets.c.digest, old)))
        return len(old)

    async def begin_session(self, session: StoredSession) -> None:
        await self.conn.execute(insert(sessions).values(**asdict(session)))

    async def has_session(self, tenant_id: str, session_id: str) -> bool:
        query = select(sessions.c.id).where(sessions.c.id == session_id, sessions.c.tenant_id == tenant_id)
        return (await self.conn.execute(query)).first() is not None

    async def end_session(self, tenant_id: str, session_id: str) -> bool:
        """Whether this ended it; False when it had ended before, or is none of the tenant's."""
        where = (sessions.c.id == session_id, sessions.c.tenant_id == tenant_id)
        return (await self.conn.execute(delete(sessions).where(*where))).rowcount == 1

    async def end_sessions(self, tenant_id: str, user_id: str) -> int:
        """How many sessions of this user there were."""
        where = (sessions.c.tenant_id == tenant_id, sessions.c.user_id == user_id)
        return (await self.conn.execute(delete(sessions).where(*where))).rowcount

    async def prune_sessions(self, before: datetime, limit: int) -> int:
        """Delete sessions that expired before this moment."""
        query = select(sessions.c.id).where(sessions.c.expires_at < before).order_by(sessions.c.expires_at)
        old = (await self.conn.execute(self.dialect.lock(query.limit(limit), skip=True))).scalars().all()
        if old:
            await self.conn.execute(delete(sessions).where(self.dialect.among(sessions.c.id, old)))
        return len(old)


_NOTE_USE = (
    update(api_keys)
    .where(
        api_keys.c.id == bindparam("b_id"),
        or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < bindparam("b_at", type_=Moment())),
    )
    .values(last_used_at=bindparam("b_at", type_=Moment()))
)


def _counts(now: datetime) -> ColumnElement[bool]:
    unexpired = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now)
    return api_keys.c.revoked_at.is_(None) & unexpired


def _key(row: Any) -> KeyRecord:
    return KeyRecord(
        id=row.id,
        tenant_id=row.tenant_id,
        name=row.name,
        role=Role(row.role),
        scopes=_scopes(row.scopes),
        hint=row.hint,
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        revoked_by=row.revoked_by,
    )


def _scopes(document: Any) -> frozenset[str] | None:
    """A damaged document grants nothing."""
    if document is None:
        return None
    return frozenset(map(str, document)) if isinstance(document, list) else frozenset()
