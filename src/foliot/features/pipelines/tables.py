"""Tables of pipelines and of their runs without a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import CheckConstraint, Column, Integer, String, Table, UniqueConstraint, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.db.metadata import FORGET_RUNS, Document, Moment, key, metadata, prose
from foliot.engine.sql.tables import runs
from foliot.features.pipelines.model import PIPELINE

pipelines = Table(
    "pipelines",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(100), primary_key=True),
    Column("file", String(1024), nullable=False),
    # Position in the file.
    Column("place", Integer, nullable=False),
    # The last valid definition, which stays in effect while the file is invalid.
    Column("definition", Document),
    # Its steps for display, without secrets.
    Column("steps", Document, nullable=False),
    Column("fault", Document),
    Column("yaml", prose(), nullable=False),
    Column("schedule_id", key(40)),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

# Runs without a schedule. The first run of a revision stays for ever, because a revision runs once, whenever and
# wherever its file is read again.
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


def pipeline_of(action: Any) -> str:
    """The name of the pipeline in this action; empty when the document is damaged."""
    return str(action.get(PIPELINE, "")) if isinstance(action, Mapping) else ""


async def _forget_runs(conn: AsyncConnection, dialect: Dialect, _table: Table, old: Sequence[Any]) -> None:
    """Deletes the rows of pruned runs, except for first runs of revisions."""
    mine = [row.id for row in old if row.kind == PIPELINE and row.schedule_id is None]
    if not mine:
        return
    query = select(runs.c.id, runs.c.tenant_id, runs.c.action).where(dialect.among(runs.c.id, mine))
    for (tenant_id, name), rows in groupby(sorted(await conn.execute(query), key=_whose), key=_whose):
        this = (pipeline_runs.c.tenant_id == tenant_id, pipeline_runs.c.name == name)
        among = dialect.among(pipeline_runs.c.run_id, [row.id for row in rows])
        await conn.execute(delete(pipeline_runs).where(*this, among, pipeline_runs.c.first_of.is_(None)))


def _whose(row: Any) -> tuple[str, str]:
    return row.tenant_id, pipeline_of(row.action)


pipeline_runs.info[FORGET_RUNS] = _forget_runs
