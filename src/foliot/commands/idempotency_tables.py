"""The table of idempotency keys."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Index,
    SmallInteger,
    Table,
)

from foliot.db.columns import Document, Moment, key, prose
from foliot.db.metadata import metadata

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
