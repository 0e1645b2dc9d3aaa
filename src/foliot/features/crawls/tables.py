"""Tables of crawls: who asked for the same a moment ago, and what crawls brought home."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, Table

from foliot.db.columns import Moment, blob, key
from foliot.db.metadata import metadata, tenant

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

# Chunks are keyed by the number of their last item, so that one step down the key finds where the next one begins.
crawl_items = Table(
    "crawl_items",
    metadata,
    Column("run_id", key(40), primary_key=True),
    # A crawl that is tried again begins anew; what the try before it brought home is not mixed in.
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("last_item", BigInteger, primary_key=True, autoincrement=False),
    tenant(),
    Column("first_item", BigInteger, nullable=False),
    # What this attempt's items take in the store, this chunk included.
    Column("bytes_through", BigInteger, nullable=False),
    # Empty: these items found no room, and are only counted.
    Column("data", blob(), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("first_item > 0 AND last_item >= first_item", name="range"),
)
