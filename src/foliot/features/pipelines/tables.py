"""Tables of the pipelines that files define."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, String, Table, UniqueConstraint

from foliot.db.columns import Document, Moment, key, prose
from foliot.db.metadata import metadata

pipelines = Table(
    "pipelines",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(100), primary_key=True),
    Column("file", String(1024), nullable=False),
    # Which of its file's pipelines it is.
    Column("place", Integer, nullable=False),
    # The last definition that was in order: what runs, whatever the file says meanwhile.
    Column("definition", Document),
    # Its steps as people may see them.
    Column("steps", Document, nullable=False),
    Column("fault", Document),
    Column("yaml", prose(), nullable=False),
    Column("schedule_id", key(40)),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

# Runs that no schedule made. Those that say whose first they are stay for ever: a revision has one such run, whenever
# and wherever it is read again.
pipeline_runs = Table(
    "pipeline_runs",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(100), primary_key=True),
    Column("run_id", key(40), primary_key=True),
    Column("first_of", key(64)),
    UniqueConstraint("tenant_id", "name", "first_of"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
