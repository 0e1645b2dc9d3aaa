"""The table of declared schedules: one row per source and name."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Table

from foliot.db.metadata import Document, key, metadata

declared = Table(
    "declared",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    # `code`, or `preset:` and its name.
    Column("source", key(100), primary_key=True),
    Column("name", key(200), primary_key=True),
    Column("schedule_id", key(40)),
    Column("wanted", key(64), nullable=False),
    Column("made", Document, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
