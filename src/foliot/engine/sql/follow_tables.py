"""Tables of schedules that follow others: who follows whom, and what became of each end of a parent's run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Integer, Table, delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.metadata import FORGET_RUNS, Moment, key, metadata, one_of, tenant, where_set
from foliot.engine.model.ledger import LedgerKind, LedgerReason


async def _forget(conn: AsyncConnection, dialect: Any, table: Table, runs: Sequence[Any]) -> None:
    """A row goes with the parent's run. Of a child's run that is pruned first, the row says so."""
    ids = [run.id for run in runs]
    await conn.execute(delete(table).where(dialect.among(table.c.run_id, ids)))
    pruned = update(table).where(dialect.among(table.c.made, ids))
    await conn.execute(pruned.values(made=None, fate=LedgerKind.PRUNED.value, reason=LedgerReason.RETENTION.value))


# Which schedules follow which: what the statement that ends a run looks into, and where rings are searched. Written
# with every version of a schedule of type `after`.
follows = Table(
    "follows",
    metadata,
    Column("parent_id", key(40), primary_key=True),
    Column("child_id", key(40), primary_key=True),
    tenant(),
    # Part of the present version of a schedule that is not deleted; the others go an hour after they ended.
    Column("stands", Boolean, nullable=False),
    # Ends of runs after the one moment, up to the other, are followed: while it stays unset, all later ones.
    Column("active_from", Moment, nullable=False),
    Column("active_until", Moment),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "child_id"),
    Index(None, "active_from"),
    Index("ix_follows_active_until", "active_until", **where_set("active_until")),  # type: ignore[arg-type]
)

# The end of a parent's run, as a schedule that follows it has accounted for it. The key is the guarantee: one end makes
# one run at most, whichever process writes it, and however often.
follow_ups = Table(
    "follow_ups",
    metadata,
    Column("schedule_id", key(40), primary_key=True),
    # The run that has ended, or the one that it repeats.
    Column("root_id", key(40), primary_key=True),
    # The run that has ended: the row goes with it.
    Column("run_id", key(40), nullable=False),
    tenant(),
    Column("parent_id", key(40), nullable=False),
    Column("version", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    # The run that it made; or why it made none; or, while other parents are waited for, the schedule's id.
    Column("made", key(40)),
    Column("fate", key(16)),
    Column("reason", key(32)),
    Column("waiting_of", key(40)),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("fate", LedgerKind), name="fate"),
    CheckConstraint("waiting_of IS NULL OR (made IS NULL AND fate IS NULL)", name="waiting"),
    Index("ix_follow_ups_waiting", "waiting_of", **where_set("waiting_of")),  # type: ignore[arg-type]
    Index("ix_follow_ups_made", "made", **where_set("made")),  # type: ignore[arg-type]
    Index(None, "run_id"),
    info={FORGET_RUNS: _forget},
)
