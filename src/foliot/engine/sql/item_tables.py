"""The table of the items that a run produced."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table

from foliot.db.columns import blob, key
from foliot.db.metadata import WITH_RUN, metadata, tenant

# Chunks are keyed by the number of their last item, so that one index lookup finds where the next one begins.
crawl_items = Table(
    "crawl_items",
    metadata,
    Column("run_id", key(40), primary_key=True),
    # A crawl that is retried starts from scratch; the items of the attempt before it are not mixed in.
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("last_item", BigInteger, primary_key=True, autoincrement=False),
    tenant(),
    Column("first_item", BigInteger, nullable=False),
    # Stored bytes of this attempt's items, this chunk included.
    Column("bytes_through", BigInteger, nullable=False),
    # Empty: these items were beyond the limit, and are only counted.
    Column("data", blob(), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("first_item > 0 AND last_item >= first_item", name="range"),
    info=WITH_RUN,
)
