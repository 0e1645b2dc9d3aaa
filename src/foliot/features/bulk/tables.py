"""Tables of bulk actions and their items."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, SmallInteger, String, Table, text

from foliot.db.metadata import Document, Moment, key, metadata, one_of, prose, tenant, where_set
from foliot.features.bulk.model import BulkOperation, BulkOrder, BulkState

bulks = Table(
    "bulks",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("user_id", key(200), nullable=False),
    Column("key_id", key(40)),
    Column("door", key(16), nullable=False),
    Column("action", key(16), nullable=False),
    Column("filter", prose()),
    # Further parameters of the operation: which tags, which instants of which schedule.
    Column("details", Document),
    Column("ids_given", Integer, nullable=False),
    Column("sequence", key(16), nullable=False),
    Column("rate", SmallInteger, nullable=False),
    Column("stop_after", Integer),
    Column("state", key(16), nullable=False),
    Column("total", Integer, nullable=False),
    Column("ok", Integer, nullable=False, server_default=text("0")),
    Column("failed", Integer, nullable=False, server_default=text("0")),
    Column("reason", String(500), nullable=False, server_default=""),
    # The process that works on its items, and the end of its lease.
    Column("holder", key(200)),
    Column("lease_until", Moment),
    # When its next turn is; NULL when there is none.
    Column("next_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("finished_at", Moment),
    CheckConstraint(one_of("action", BulkOperation), name="action"),
    CheckConstraint(one_of("sequence", BulkOrder), name="sequence"),
    CheckConstraint(one_of("state", BulkState), name="state"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("ok + failed <= total", name="sum"),
    CheckConstraint("(next_at IS NULL) = (state <> 'running')", name="next"),
    CheckConstraint("(finished_at IS NULL) = (state IN ('running', 'paused'))", name="finished"),
    Index("ix_bulks_next_at", "next_at", **where_set("next_at")),  # type: ignore[arg-type]
    Index(None, "tenant_id", "id"),
)

bulk_items = Table(
    "bulk_items",
    metadata,
    Column("bulk_id", key(40), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    tenant(),
    Column("thing_id", key(40), nullable=False),
    Column("state", key(16), nullable=False),
    # Why it failed, and the run that it created.
    Column("message", String(500)),
    Column("run_id", key(40)),
    CheckConstraint("state IN ('pending', 'ok', 'failed')", name="state"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "bulk_id", "state", "position"),
)
