"""Settings and pauses of hosts as people see them, and the turns that processes hold at hosts.

Revision ID: 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the columns and the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    op.add_column("hosts", sa.Column("settings", Document(), nullable=True))
    op.add_column("hosts", sa.Column("reason", key(200), nullable=True))
    op.add_column("hosts", sa.Column("taker", key(200), nullable=True))
    op.add_column("host_pauses", sa.Column("least_ms", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("host_pauses", sa.Column("path", key(200), nullable=True))
    op.add_column("host_pauses", sa.Column("reason", key(200), nullable=True))
    if lite:
        # Alembic cannot state a rule of a column that it adds here.
        rule = READABLE.format("paused_until")
        op.execute(
            f"ALTER TABLE hosts ADD COLUMN paused_until VARCHAR(26) CONSTRAINT paused_until_readable CHECK ({rule})"
        )
    else:
        op.add_column("hosts", sa.Column("paused_until", Moment(), nullable=True))
    op.create_table(
        "host_turns",
        sa.Column("host", key(255), nullable=False),
        sa.Column("holder", key(200), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("until", Moment(), nullable=False),
        *([sa.CheckConstraint(READABLE.format("until"), name="until_readable")] if lite else []),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_host_turns_ck_host_turns_tenant")),
        sa.PrimaryKeyConstraint("host", "holder", "tenant_id", name=op.f("pk_host_turns")),
    )
    op.create_index(op.f("ix_host_turns_until"), "host_turns", ["until"], unique=False)


def downgrade() -> None:
    """Take them away; the settings of hosts are lost."""
    op.drop_table("host_turns")
    for name in ("reason", "path", "least_ms"):
        op.drop_column("host_pauses", name)
    for name in ("paused_until", "taker", "reason", "settings"):
        op.drop_column("hosts", name)
