"""Articles, the jobs that want them, and the hosts they are fetched from.

Revision ID: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key, prose

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the four tables."""
    _articles()
    _items()
    op.create_table(
        "article_jobs",
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("cached", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Integer(), nullable=False),
        sa.CheckConstraint("cached + done + failed + cancelled <= total", name=op.f("ck_article_jobs_sum")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_article_jobs")),
    )
    op.create_table(
        "hosts",
        sa.Column("host", key(255), nullable=False),
        sa.Column("next_at", Moment(), nullable=False),
        sa.Column("interval_ms", sa.Integer(), server_default="0", nullable=False),
        sa.Column("crawl_delay_ms", sa.Integer(), server_default="0", nullable=False),
        sa.Column("robots", prose(), nullable=True),
        sa.Column("robots_at", Moment(), nullable=True),
        *_readable("next_at", "robots_at"),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_hosts")),
    )
    op.create_index(op.f("ix_hosts_next_at"), "hosts", ["next_at"], unique=False)


def downgrade() -> None:
    """Take them away again."""
    for name in ("hosts", "article_jobs", "items", "articles"):
        op.drop_table(name)


def _articles() -> None:
    op.create_table(
        "articles",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("url", prose(), nullable=False),
        sa.Column("url_hash", key(64), nullable=False),
        sa.Column("host", key(255), nullable=False),
        sa.Column("status", key(16), nullable=False),
        sa.Column("title", prose(), nullable=True),
        sa.Column("content", prose(), nullable=True),
        sa.Column("about", Document(), nullable=True),
        sa.Column("error", Document(), nullable=True),
        sa.Column("scraped_at", Moment(), nullable=True),
        sa.Column("attempted_at", Moment(), nullable=True),
        sa.Column("etag", prose(), nullable=True),
        sa.Column("last_modified", key(64), nullable=True),
        sa.Column("reference_count", sa.Integer(), nullable=False),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("ready_at", Moment(), nullable=False),
        sa.Column("order_key", Moment(), nullable=False),
        sa.Column("lane", key(64), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("token", key(40), nullable=True),
        sa.Column("lease_until", Moment(), nullable=True),
        sa.Column("worker", key(200), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        *_readable("scraped_at", "attempted_at", "ready_at", "order_key", "lease_until", "created_at", "updated_at"),
        sa.CheckConstraint("status IN ('pending', 'scraping', 'scraped', 'failed')", name=op.f("ck_articles_status")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_articles_tenant")),
        sa.CheckConstraint("priority BETWEEN 1 AND 10", name=op.f("ck_articles_priority")),
        sa.CheckConstraint("lane IS NULL OR lease_until IS NULL", name=op.f("ck_articles_lane")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_articles")),
        sa.UniqueConstraint("tenant_id", "url_hash", name=op.f("uq_articles_tenant_id_url_hash")),
        postgresql_with={"fillfactor": "70"},
    )
    _partial("ix_articles_ready", "articles", "lane", "tenant_id", "order_key")
    _partial("ix_articles_hosts", "articles", "lane", "tenant_id", "host", "order_key")
    _partial("ix_articles_waiting", "articles", "lane", "ready_at")
    _partial("ix_articles_lease", "articles", "lease_until", "host")
    op.create_index(op.f("ix_articles_updated_at"), "articles", ["updated_at"], unique=False)


def _items() -> None:
    op.create_table(
        "items",
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("article_id", key(40), nullable=False),
        sa.Column("waits_for", key(40), nullable=True),
        sa.Column("source", prose(), nullable=False),
        sa.Column("category", prose(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("error", Document(), nullable=True),
        sa.Column("at", Moment(), nullable=True),
        *_readable("at"),
        sa.CheckConstraint(
            "state IN ('pending', 'done', 'cached', 'failed', 'cancelled')", name=op.f("ck_items_state")
        ),
        sa.CheckConstraint("(waits_for IS NULL) = (state <> 'pending')", name=op.f("ck_items_waits")),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_items")),
    )
    _partial("ix_items_waiting", "items", "waits_for", "run_id")
    op.create_index(op.f("ix_items_article_id"), "items", ["article_id"], unique=False)


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]


def _partial(name: str, table: str, *columns: str) -> None:
    condition = sa.text(f"{columns[0]} IS NOT NULL")
    op.create_index(name, table, list(columns), unique=False, postgresql_where=condition, sqlite_where=condition)
