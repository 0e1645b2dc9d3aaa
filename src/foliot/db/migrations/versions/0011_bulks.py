"""Bulk actions as objects that can be followed.

Revision ID: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key, prose

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
ACTIONS = "action IN ('cancel', 'retry', 'replay', 'discard', 'pause', 'resume', 'run', 'delete')"


def upgrade() -> None:
    """Add the two tables."""
    op.create_table(
        "bulks",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("user_id", key(200), nullable=False),
        sa.Column("key_id", key(40), nullable=True),
        sa.Column("door", key(16), nullable=False),
        sa.Column("action", key(16), nullable=False),
        sa.Column("filter", prose(), nullable=True),
        sa.Column("ids_given", sa.Integer(), nullable=False),
        sa.Column("sequence", key(16), nullable=False),
        sa.Column("rate", sa.SmallInteger(), nullable=False),
        sa.Column("stop_after", sa.Integer(), nullable=True),
        sa.Column("state", key(16), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("ok", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", sa.String(length=500), server_default="", nullable=False),
        sa.Column("holder", key(200), nullable=True),
        sa.Column("lease_until", Moment(), nullable=True),
        sa.Column("next_at", Moment(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.Column("finished_at", Moment(), nullable=True),
        *_readable("lease_until", "next_at", "created_at", "updated_at", "finished_at"),
        sa.CheckConstraint(ACTIONS, name=op.f("ck_bulks_action")),
        sa.CheckConstraint("sequence IN ('oldest', 'newest')", name=op.f("ck_bulks_sequence")),
        sa.CheckConstraint("state IN ('running', 'paused', 'stopped', 'finished')", name=op.f("ck_bulks_state")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_bulks_tenant")),
        sa.CheckConstraint("ok + failed <= total", name=op.f("ck_bulks_sum")),
        sa.CheckConstraint("(next_at IS NULL) = (state <> 'running')", name=op.f("ck_bulks_next")),
        sa.CheckConstraint("(finished_at IS NULL) = (state IN ('running', 'paused'))", name=op.f("ck_bulks_finished")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bulks")),
    )
    soon = sa.text("next_at IS NOT NULL")
    op.create_index("ix_bulks_next_at", "bulks", ["next_at"], postgresql_where=soon, sqlite_where=soon)
    op.create_index(op.f("ix_bulks_tenant_id_id"), "bulks", ["tenant_id", "id"])
    op.create_table(
        "bulk_items",
        sa.Column("bulk_id", key(40), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("thing_id", key(40), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("message", sa.String(length=500), nullable=True),
        sa.Column("run_id", key(40), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'ok', 'failed')", name=op.f("ck_bulk_items_state")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_bulk_items_tenant")),
        sa.PrimaryKeyConstraint("bulk_id", "position", name=op.f("pk_bulk_items")),
    )
    op.create_index(op.f("ix_bulk_items_bulk_id_state_position"), "bulk_items", ["bulk_id", "state", "position"])


def downgrade() -> None:
    """Take them away."""
    op.drop_table("bulk_items")
    op.drop_table("bulks")


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
