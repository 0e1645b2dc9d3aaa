"""Hosts whose pages needed a browser.

Revision ID: 0031
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    op.create_table(
        "rendered_hosts",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("host", key(255), nullable=False),
        sa.Column("until", Moment(), nullable=False),
        *([sa.CheckConstraint(READABLE.format("until"), name="until_readable")] if lite else []),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_rendered_hosts_ck_rendered_hosts_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "host", name=op.f("pk_rendered_hosts")),
    )
    op.create_index(op.f("ix_rendered_hosts_until"), "rendered_hosts", ["until"], unique=False)


def downgrade() -> None:
    """Take it away."""
    op.drop_table("rendered_hosts")
