"""Tables of keys, secrets, tickets, tenants and the trail of who changed what."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, String, Table, UniqueConstraint, text

from foliot.domain.access import Role
from foliot.store.columns import Document, Moment, blob, key
from foliot.store.tables import metadata, one_of, tenant

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", String(200), nullable=False),
    Column("role", key(16), nullable=False),
    # Null: everything that the role allows.
    Column("scopes", Document),
    # HMAC of the key; the key itself is shown once and kept nowhere.
    Column("digest", key(64), nullable=False, unique=True),
    # Which pepper made the digest.
    Column("pepper", key(16), nullable=False),
    # The first characters of the key, for people who look for the one that leaked.
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
    # Who the ticket stands for.
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

secrets = Table(
    "secrets",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(64), primary_key=True),
    Column("version", Integer, primary_key=True),
    # Which master key sealed it.
    Column("sealed_with", key(16), nullable=False),
    Column("sealed", blob(), nullable=False),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    # When the next version took over; both sign for a while.
    Column("retired_at", Moment),
    # Where it may be sent; null is anywhere.
    Column("hosts", Document),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "sealed_with"),
)

tenants = Table(
    "tenants",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    # What differs from the limits of the settings.
    Column("limits", Document, nullable=False),
    # Where its actions may go; empty: wherever the operator lets anybody go.
    Column("egress_allow", Document, nullable=False),
    Column("updated_by", key(200), nullable=False),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

# Rows to lock and nothing more: those who count a tenant's things before they add one take turns.
turns = Table(
    "turns",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("thing", key(16), primary_key=True),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

trail = Table(
    "trail",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("at", Moment, nullable=False),
    Column("user_id", key(200), nullable=False),
    Column("key_id", key(40)),
    Column("door", key(16), nullable=False),
    Column("verb", key(32), nullable=False),
    Column("thing", key(32), nullable=False),
    Column("thing_id", key(200), nullable=False),
    Column("was", Document),
    Column("became", Document),
    # The tenant while the entry waits for its place in the chain.
    Column("waiting_of", key(64)),
    Column("seq", BigInteger),
    Column("digest", key(64)),
    UniqueConstraint("tenant_id", "seq"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("(seq IS NULL) = (waiting_of IS NOT NULL)", name="waiting"),
    CheckConstraint("(seq IS NULL) = (digest IS NULL)", name="chained"),
    CheckConstraint("waiting_of IS NULL OR waiting_of = tenant_id", name="own"),
    Index(
        "ix_trail_waiting",
        "waiting_of",
        "id",
        postgresql_where=text("waiting_of IS NOT NULL"),
        sqlite_where=text("waiting_of IS NOT NULL"),
    ),
    Index(None, "tenant_id", "id"),
    Index(None, "tenant_id", "thing_id", "id"),
)

trail_heads = Table(
    "trail_heads",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("digest", key(64), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
