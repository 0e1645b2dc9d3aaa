"""Tables of crawls: who asked for the same a moment ago, and what crawls brought home."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Table

from foliot.db.columns import Moment, key
from foliot.db.metadata import metadata

# One row for each request that was made lately: whoever makes the same again finds its job here.
crawl_requests = Table(
    "crawl_requests",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("fingerprint", key(64), primary_key=True),
    # A run's id, or a schedule's when a moment or a rhythm was asked for.
    Column("job_id", key(40), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "expires_at"),
)
