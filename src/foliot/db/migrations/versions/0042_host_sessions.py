"""Named sessions of hosts.

Revision ID: 0042
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, blob, key, prose

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    moments = ("signed_in_at", "tried_at", "updated_at") if lite else ()
    op.create_table(
        "host_sessions",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("host", key(255), nullable=False),
        sa.Column("name", key(64), nullable=False),
        sa.Column("login", Document()),
        sa.Column("sealed_with", key(16)),
        sa.Column("sealed", blob()),
        sa.Column("cookies", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("signed_in_at", Moment()),
        sa.Column("tried_at", Moment()),
        sa.Column("problem", prose()),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_host_sessions_ck_host_sessions_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "host", "name", name=op.f("pk_host_sessions")),
    )
    op.create_index(op.f("ix_host_sessions_sealed_with"), "host_sessions", ["sealed_with"], unique=False)


def downgrade() -> None:
    """Take it away."""
    op.drop_table("host_sessions")
