"""Tables of API keys, stream tickets and browser sessions."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, String, Table

from foliot.core.access import Role
from foliot.db.columns import Document, Moment, key
from foliot.db.metadata import metadata, one_of, tenant

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
