"""Crawls: which requests were made lately, and what crawls brought home.

Revision ID: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, blob, key

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add both tables."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    moments = ("created_at", "expires_at") if sqlite else ()
    op.create_table(
        "crawl_requests",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("fingerprint", key(64), nullable=False),
        sa.Column("job_id", key(40), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_crawl_requests_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "fingerprint", name=op.f("pk_crawl_requests")),
    )
    op.create_index(op.f("ix_crawl_requests_expires_at"), "crawl_requests", ["expires_at"], unique=False)
    op.create_table(
        "crawl_items",
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last_item", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("first_item", sa.BigInteger(), nullable=False),
        sa.Column("bytes_through", sa.BigInteger(), nullable=False),
        sa.Column("data", blob(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_crawl_items_tenant")),
        sa.CheckConstraint("first_item > 0 AND last_item >= first_item", name=op.f("ck_crawl_items_range")),
        sa.PrimaryKeyConstraint("run_id", "attempt", "last_item", name=op.f("pk_crawl_items")),
    )


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("crawl_items")
    op.drop_table("crawl_requests")
