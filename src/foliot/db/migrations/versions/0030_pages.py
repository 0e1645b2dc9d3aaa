"""Stored pages and their bodies.

Revision ID: 0030
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, blob, key, prose

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "pages",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("url", prose(), nullable=False),
        sa.Column("host", key(255), nullable=False),
        sa.Column("fetched_at", Moment(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("content_type", key(200), nullable=False),
        sa.Column("headers", Document(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("stored_bytes", sa.Integer(), nullable=False),
        sa.Column("rendered", sa.Boolean(), nullable=False),
        sa.Column("source_kind", key(16), nullable=False),
        sa.Column("source_id", key(40), nullable=False),
        sa.Column("body_hash", key(64), nullable=False),
        sa.Column("dom_hash", key(64), nullable=True),
        sa.Column("expires_at", Moment(), nullable=False),
        *_readable("fetched_at", "expires_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_pages_ck_pages_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pages")),
    )
    op.create_index(op.f("ix_pages_tenant_id_id"), "pages", ["tenant_id", "id"])
    op.create_index(op.f("ix_pages_tenant_id_host_id"), "pages", ["tenant_id", "host", "id"])
    op.create_index(op.f("ix_pages_tenant_id_body_hash"), "pages", ["tenant_id", "body_hash"])
    op.create_index(op.f("ix_pages_expires_at"), "pages", ["expires_at"])
    op.create_table(
        "page_bodies",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("hash", key(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("place", key(16), nullable=False),
        sa.Column("data", blob(), nullable=True),
        sa.Column("stored_at", Moment(), nullable=False),
        *_readable("stored_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_page_bodies_ck_page_bodies_tenant")),
        sa.CheckConstraint("place IN ('database', 'files', 's3')", name=op.f("ck_page_bodies_ck_page_bodies_place")),
        sa.CheckConstraint(
            "(data IS NOT NULL) = (place = 'database')", name=op.f("ck_page_bodies_ck_page_bodies_data")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "hash", name=op.f("pk_page_bodies")),
    )


def downgrade() -> None:
    """Take them away; bodies in files and in S3 stay."""
    for name in ("page_bodies", "pages"):
        op.drop_table(name)


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
