"""The table of host sessions."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table

from foliot.db.metadata import Document, Moment, blob, key, metadata, prose

host_sessions = Table(
    "host_sessions",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("host", key(255), primary_key=True),
    Column("name", key(64), primary_key=True),
    # Page of the sign-in, steps of the browser there, and how often: secrets are named, not contained.
    Column("login", Document),
    # Cookies as one encrypted document, and the id of the master key.
    Column("sealed_with", key(16)),
    Column("sealed", blob()),
    Column("cookies", Integer, nullable=False, server_default="0"),
    Column("signed_in_at", Moment),
    Column("tried_at", Moment),
    Column("problem", prose()),
    Column("created_by", key(200), nullable=False),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "sealed_with"),
)
