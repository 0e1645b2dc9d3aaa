"""The table of secrets."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table

from foliot.db.columns import Document, Moment, blob, key
from foliot.db.metadata import metadata

secrets = Table(
    "secrets",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(64), primary_key=True),
    Column("version", Integer, primary_key=True),
    # The id of the master key.
    Column("sealed_with", key(16), nullable=False),
    Column("sealed", blob(), nullable=False),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    # When the next version replaced it; both sign for a while.
    Column("retired_at", Moment),
    # Hosts it may be sent to; null is any.
    Column("hosts", Document),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "sealed_with"),
)
