"""Lists and counts stay flat as tables grow; logs are bounded; repeated answers keep their headers.

Revision ID: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OPEN = ("queued", "retrying", "running")


def upgrade() -> None:
    """Add columns and indexes, and count what has ended so far."""
    # Only ended runs: on PostgreSQL every change of an open run would write to these indexes anew.
    for column in ("queue", "kind"):
        op.create_index(
            f"ix_runs_{column}",
            "runs",
            ["tenant_id", column, "id"],
            unique=False,
            postgresql_where=sa.text("finished_at IS NOT NULL"),
            sqlite_where=sa.text("finished_at IS NOT NULL"),
        )
    op.create_index(
        "ix_schedules_fault",
        "schedules",
        ["fault_next_at"],
        unique=False,
        postgresql_where=sa.text("fault_next_at IS NOT NULL"),
        sqlite_where=sa.text("fault_next_at IS NOT NULL"),
    )
    op.add_column("runs", sa.Column("log_bytes", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("runs", sa.Column("log_dropped", sa.BigInteger(), server_default="0", nullable=False))
    if op.get_bind().dialect.name == "sqlite":
        # The rule of every other moment of this table; Alembic cannot say it of a column that is added.
        rule = "due_at IS NULL OR (length(due_at) = 26 AND datetime(due_at) IS NOT NULL)"
        op.execute(f"ALTER TABLE runs ADD COLUMN due_at VARCHAR(26) CONSTRAINT due_at_readable CHECK ({rule})")
    else:
        op.add_column("runs", sa.Column("due_at", Moment(), nullable=True))
    op.add_column("requests", sa.Column("headers", Document(), nullable=True))
    tallies = op.create_table(
        "tallies",
        sa.Column("name", key(64), nullable=False),
        sa.Column("slot", sa.SmallInteger(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", "slot", name=op.f("pk_tallies")),
    )
    runs = sa.table("runs", sa.column("state"))
    ended = sa.select(runs.c.state, sa.func.count()).where(runs.c.state.not_in(OPEN)).group_by(runs.c.state)
    counted = [{"name": f"runs.{state}", "slot": 0, "value": count} for state, count in op.get_bind().execute(ended)]
    if counted:
        op.bulk_insert(tallies, counted)


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("tallies")
    op.drop_column("requests", "headers")
    for column in ("due_at", "log_dropped", "log_bytes"):
        op.drop_column("runs", column)
    op.drop_index("ix_schedules_fault", "schedules")
    op.drop_index("ix_runs_kind", "runs")
    op.drop_index("ix_runs_queue", "runs")
