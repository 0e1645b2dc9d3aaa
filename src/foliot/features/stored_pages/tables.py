"""Tables of stored pages: facts, and bodies by their digest."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, SmallInteger, Table

from foliot.db.metadata import Document, Moment, blob, key, metadata, one_of, prose, tenant
from foliot.features.stored_pages.model import BodyPlace

pages = Table(
    "pages",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("url", prose(), nullable=False),
    Column("host", key(255), nullable=False),
    Column("fetched_at", Moment, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("content_type", key(200), nullable=False),
    Column("headers", Document, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("stored_bytes", Integer, nullable=False),
    Column("rendered", Boolean, nullable=False),
    Column("source_kind", key(16), nullable=False),
    Column("source_id", key(40), nullable=False),
    Column("body_hash", key(64), nullable=False),
    # The document after its scripts have run, where a browser rendered it.
    Column("dom_hash", key(64)),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "tenant_id", "id"),
    Index(None, "tenant_id", "host", "id"),
    Index(None, "tenant_id", "body_hash"),
    Index(None, "expires_at"),
)

# Equal bodies of one tenant are stored once.
page_bodies = Table(
    "page_bodies",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("hash", key(64), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("place", key(16), nullable=False),
    Column("data", blob()),
    Column("stored_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("place", BodyPlace), name="place"),
    CheckConstraint("(data IS NOT NULL) = (place = 'database')", name="data"),
)

# Pages that were deleted before their time, because a tenant's quota was full.
page_drops = Table(
    "page_drops",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("pages", BigInteger, nullable=False),
    Column("first_at", Moment, nullable=False),
    Column("last_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
