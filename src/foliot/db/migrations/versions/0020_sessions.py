"""Sessions of the dashboard, so that signing out ends one.

Revision ID: 0020
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the table. Whoever is signed in signs in again."""
    op.create_table(
        "sessions",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("user_id", key(200), nullable=False),
        sa.Column("begun_at", Moment(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=False),
        *_readable("begun_at", "expires_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_sessions_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_tenant_id_user_id"), "sessions", ["tenant_id", "user_id"])
    op.create_index(op.f("ix_sessions_expires_at"), "sessions", ["expires_at"])


def downgrade() -> None:
    """Take it away."""
    op.drop_table("sessions")


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
