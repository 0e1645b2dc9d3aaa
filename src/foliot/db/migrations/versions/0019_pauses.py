"""Pauses of one tenant at one host.

Revision ID: 0019
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
MOMENTS = ("next_at", "asked_at")


def upgrade() -> None:
    """Add the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    op.create_table(
        "host_pauses",
        sa.Column("host", key(255), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("next_at", Moment(), nullable=False),
        sa.Column("asked_at", Moment(), nullable=False),
        sa.Column("interval_ms", sa.Integer(), server_default="0", nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in MOMENTS if lite),
        sa.PrimaryKeyConstraint("host", "tenant_id", name=op.f("pk_host_pauses")),
    )
    op.create_index(op.f("ix_host_pauses_next_at"), "host_pauses", ["next_at"], unique=False)


def downgrade() -> None:
    """Take it away; whoever is paused may go on."""
    op.drop_table("host_pauses")
