"""Saved views.

Revision ID: 0029
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key, prose

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    moments = ("created_at", "updated_at") if lite else ()
    op.create_table(
        "saved_views",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("user_id", key(200), nullable=False),
        sa.Column("list", key(16), nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("q", prose(), nullable=False),
        sa.Column("sort", key(40), nullable=True),
        sa.Column("shared", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_saved_views_tenant")),
        sa.CheckConstraint("list IN ('runs', 'schedules')", name=op.f("ck_saved_views_list")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_views")),
    )
    op.create_index(op.f("ix_saved_views_tenant_id_list_user_id"), "saved_views", ["tenant_id", "list", "user_id"])


def downgrade() -> None:
    """Take it away."""
    op.drop_table("saved_views")
