"""The history of prices, and which schedules code and presets have made.

Revision ID: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

READABLE = "length({0}) = 26 AND datetime({0}) IS NOT NULL"


def upgrade() -> None:
    """Add the tables."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    op.create_table(
        "prices",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("competitor", key(64), nullable=False),
        sa.Column("product", key(200), nullable=False),
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", key(8), nullable=False),
        sa.Column("url", sa.String(length=2048), nullable=False),
        sa.Column("source", key(16), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_prices_tenant")),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_prices_amount")),
        *([sa.CheckConstraint(READABLE.format("at"), name="at_readable")] if sqlite else []),
        sa.PrimaryKeyConstraint("tenant_id", "competitor", "product", "run_id", name=op.f("pk_prices")),
    )
    op.create_index(op.f("ix_prices_tenant_id_at"), "prices", ["tenant_id", "at"], unique=False)
    op.create_table(
        "declared",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("source", key(100), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("schedule_id", key(40), nullable=True),
        sa.Column("wanted", key(64), nullable=False),
        sa.Column("made", Document(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_declared_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "source", "name", name=op.f("pk_declared")),
    )


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("declared")
    op.drop_table("prices")
