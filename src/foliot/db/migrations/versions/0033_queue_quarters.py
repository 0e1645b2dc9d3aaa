"""History of queues.

Revision ID: 0033
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    moments = ("at", "sampled_at") if lite else ()
    op.create_table(
        "queue_quarters",
        sa.Column("queue", key(64), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("oldest_ms", sa.BigInteger(), nullable=False),
        sa.Column("running", sa.Integer(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("sampled_at", Moment(), nullable=True),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.PrimaryKeyConstraint("queue", "at", name=op.f("pk_queue_quarters")),
    )
    op.create_index(op.f("ix_queue_quarters_at"), "queue_quarters", ["at"])


def downgrade() -> None:
    """Take it away."""
    op.drop_table("queue_quarters")
