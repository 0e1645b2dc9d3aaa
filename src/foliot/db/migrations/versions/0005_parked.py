"""Runs whose effect goes on elsewhere: what is needed to look at them again, and when that is due.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
PARKED = "poll_at IS NULL OR (handle IS NOT NULL AND lease_until IS NULL)"
EXPIRED = """UPDATE runs SET lease_until = '2000-01-01 00:00:00.000000', poll_at = NULL
WHERE poll_at IS NOT NULL AND state = 'running'"""


def upgrade() -> None:
    """Add the columns, the rule between them, and the index of what is due."""
    op.add_column("runs", sa.Column("handle", Document(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        # Alembic cannot state a rule of a column that it adds here.
        readable = f"CONSTRAINT poll_at_readable CHECK ({READABLE.format('poll_at')})"
        parked = f"CONSTRAINT ck_runs_parked CHECK ({PARKED})"
        op.execute(f"ALTER TABLE runs ADD COLUMN poll_at VARCHAR(26) {readable} {parked}")
    else:
        op.add_column("runs", sa.Column("poll_at", Moment(), nullable=True))
        op.create_check_constraint(op.f("ck_runs_parked"), "runs", PARKED)
    op.add_column("runs", sa.Column("lost_looks", sa.SmallInteger(), server_default="0", nullable=False))
    op.create_index(
        "ix_runs_poll",
        "runs",
        ["poll_at"],
        unique=False,
        postgresql_where=sa.text("poll_at IS NOT NULL"),
        sqlite_where=sa.text("poll_at IS NOT NULL"),
    )


def downgrade() -> None:
    """Take them away again; nobody could look at what is parked, so its lease has run out."""
    op.execute(EXPIRED)
    op.drop_index("ix_runs_poll", "runs")
    if op.get_bind().dialect.name != "sqlite":
        op.drop_constraint(op.f("ck_runs_parked"), "runs", type_="check")
    op.drop_column("runs", "lost_looks")
    op.drop_column("runs", "poll_at")
    op.drop_column("runs", "handle")
