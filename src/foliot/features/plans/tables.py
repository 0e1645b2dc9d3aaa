"""The table of applied documents: which things a file defines, and what it made of them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Table

from foliot.db.metadata import Document, key, metadata

applied = Table(
    "applied",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    # `schedules`, `watches`, …; a name of a kind belongs to one file.
    Column("thing", key(16), primary_key=True),
    Column("name", key(200), primary_key=True),
    Column("file", key(64), nullable=False),
    Column("thing_id", key(64), nullable=False),
    # The stored document right after it was applied, with credentials masked: a field that differs now was edited.
    Column("made", Document, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "tenant_id", "file"),
)
