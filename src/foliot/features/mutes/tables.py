"""The table of mutes."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, String, Table

from foliot.db.columns import Moment, key
from foliot.db.metadata import metadata

mutes = Table(
    "mutes",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("fingerprint", key(16), primary_key=True),
    Column("user_id", key(200), nullable=False),
    Column("muted_at", Moment, nullable=False),
    # An expired row is not deleted at once: readers compare the time.
    Column("muted_until", Moment, nullable=False),
    Column("reason", String(500), nullable=False, server_default=""),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
