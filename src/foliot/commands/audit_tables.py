"""Tables of the audit log and its hash chain."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Table, UniqueConstraint, text

from foliot.db.columns import Document, Moment, key
from foliot.db.metadata import metadata, tenant

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
    # The tenant while the entry is unchained; then NULL, so that the partial index holds unchained entries alone.
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
