"""Versions of stored pages, and the bulk action that makes them.

Revision ID: 0036
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key, prose
from foliot.db.migrations.check_constraint import restate

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
ACTION = "action IN ('cancel', 'retry', 'replay', 'discard', 'pause', 'resume', 'run', 'tag', 'delete', 'backfill'{})"


def upgrade() -> None:
    """Add the table, and allow the action."""
    restate("bulks", "ck_bulks_action", ACTION.format(""), ACTION.format(", 'reextract'"))
    lite = op.get_bind().dialect.name == "sqlite"
    moments = ("at", "expires_at") if lite else ()
    op.create_table(
        "page_versions",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("page_id", key(40), nullable=False),
        sa.Column("url", prose(), nullable=False),
        sa.Column("bulk_id", key(40), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("reading", Document(), nullable=False),
        sa.Column("found", Document(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.UniqueConstraint("bulk_id", "page_id", name=op.f("uq_page_versions_bulk_id_page_id")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_page_versions_ck_page_versions_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_versions")),
    )
    op.create_index(op.f("ix_page_versions_tenant_id_id"), "page_versions", ["tenant_id", "id"])
    op.create_index(op.f("ix_page_versions_page_id_id"), "page_versions", ["page_id", "id"])
    op.create_index(op.f("ix_page_versions_expires_at"), "page_versions", ["expires_at"])


def downgrade() -> None:
    """Take them away."""
    op.drop_table("page_versions")
    op.execute("DELETE FROM bulk_items WHERE bulk_id IN (SELECT id FROM bulks WHERE action = 'reextract')")
    op.execute("DELETE FROM bulks WHERE action = 'reextract'")
    restate("bulks", "ck_bulks_action", ACTION.format(", 'reextract'"), ACTION.format(""))
