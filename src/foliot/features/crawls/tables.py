"""The table of recent requests for crawls, by fingerprint."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Table

from foliot.db.columns import Moment, key
from foliot.db.metadata import metadata

# One row for each recent request: an equal request finds its job here.
crawl_requests = Table(
    "crawl_requests",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("fingerprint", key(64), primary_key=True),
    # The id of a run, or of a schedule for a request with a trigger.
    Column("job_id", key(40), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "expires_at"),
)
