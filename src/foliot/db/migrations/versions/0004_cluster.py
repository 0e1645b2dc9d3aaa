"""Queues that can be paused, runs that know when they were offered to a broker, and wishes for processes.

Revision ID: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
WISH = "wish IN ('drain', 'restart')"


def upgrade() -> None:
    """Add the columns and the table."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    if sqlite:
        # Alembic cannot state a rule of a column that it adds here.
        rule = READABLE.format("offered_at")
        op.execute(f"ALTER TABLE runs ADD COLUMN offered_at VARCHAR(26) CONSTRAINT offered_at_readable CHECK ({rule})")
        op.execute(f"ALTER TABLE nodes ADD COLUMN wish VARCHAR(16) CONSTRAINT ck_nodes_wish CHECK ({WISH})")
    else:
        op.add_column("runs", sa.Column("offered_at", Moment(), nullable=True))
        op.add_column("nodes", sa.Column("wish", key(16), nullable=True))
        op.create_check_constraint(op.f("ck_nodes_wish"), "nodes", WISH)
    op.create_index(
        "ix_runs_offered",
        "runs",
        ["offered_at"],
        unique=False,
        postgresql_where=sa.text("offered_at IS NOT NULL"),
        sqlite_where=sa.text("offered_at IS NOT NULL"),
    )
    op.create_table(
        "queues",
        sa.Column("name", key(64), nullable=False),
        sa.Column("paused_at", Moment(), nullable=True),
        sa.Column("paused_by", key(200), server_default="", nullable=False),
        sa.Column("reason", sa.String(length=500), server_default="", nullable=False),
        *([sa.CheckConstraint(READABLE.format("paused_at"), name="paused_at_readable")] if sqlite else []),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_queues")),
    )
    if op.get_bind().dialect.name in {"mysql", "mariadb"}:
        # The gate of all queues, in `engine/sql/queues.py`.
        op.execute("INSERT INTO queues (name) VALUES ('')")


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("queues")
    if op.get_bind().dialect.name != "sqlite":
        op.drop_constraint(op.f("ck_nodes_wish"), "nodes", type_="check")
    op.drop_column("nodes", "wish")
    op.drop_index("ix_runs_offered", "runs")
    op.drop_column("runs", "offered_at")
