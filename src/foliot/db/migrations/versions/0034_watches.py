"""Watches, their pages, versions, texts and changes.

Revision ID: 0033
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, blob, key, prose

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
TABLES = ("watch_sequences", "watch_changes", "watch_texts", "watch_versions", "watch_pages", "watches")


def upgrade() -> None:
    """Add the tables."""
    _watches()
    _pages()
    _versions()
    _changes()


def downgrade() -> None:
    """Take them away."""
    for name in TABLES:
        op.drop_table(name)


def _watches() -> None:
    op.create_table(
        "watches",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("document", Document(), nullable=False),
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("feed_digest", key(64), nullable=True),
        sa.Column("key_of", key(40), nullable=False),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("changes", sa.BigInteger(), nullable=False),
        sa.Column("last_visit_at", Moment(), nullable=True),
        sa.Column("last_change_at", Moment(), nullable=True),
        sa.Column("listed_at", Moment(), nullable=True),
        sa.Column("problem", Document(), nullable=True),
        sa.Column("planning", Document(), nullable=False),
        *_readable("created_at", "updated_at", "last_visit_at", "last_change_at", "listed_at"),
        sa.UniqueConstraint("feed_digest", name=op.f("uq_watches_feed_digest")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_watches_tenant_id_name")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_watches_ck_watches_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watches")),
    )


def _pages() -> None:
    op.create_table(
        "watch_pages",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("watch_id", key(40), nullable=False),
        sa.Column("url", prose(), nullable=False),
        sa.Column("url_hash", key(64), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("listed", sa.Boolean(), nullable=False),
        sa.Column("found", sa.Boolean(), nullable=False),
        sa.Column("fields", Document(), nullable=False),
        sa.Column("digest", key(64), nullable=True),
        sa.Column("reading", key(64), nullable=True),
        sa.Column("version_id", key(40), nullable=True),
        sa.Column("level", sa.Boolean(), nullable=False),
        sa.Column("visits", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("seen", sa.Integer(), nullable=False),
        sa.Column("problem", Document(), nullable=True),
        sa.Column("etag", sa.String(1000), nullable=True),
        sa.Column("last_modified", sa.String(64), nullable=True),
        sa.Column("first_at", Moment(), nullable=False),
        sa.Column("last_visit_at", Moment(), nullable=True),
        sa.Column("last_read_at", Moment(), nullable=True),
        sa.Column("last_change_at", Moment(), nullable=True),
        sa.Column("next_visit_at", Moment(), nullable=True),
        sa.Column("why_then", sa.String(200), nullable=True),
        sa.Column("rate_shape", sa.Double(), nullable=True),
        sa.Column("rate_time", sa.Double(), nullable=True),
        sa.Column("hinted", sa.Boolean(), nullable=False),
        sa.Column("run_id", key(40), nullable=True),
        *_readable("first_at", "last_visit_at", "last_read_at", "last_change_at", "next_visit_at"),
        sa.UniqueConstraint("watch_id", "url_hash", name=op.f("uq_watch_pages_watch_id_url_hash")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_watch_pages_ck_watch_pages_tenant")),
        sa.CheckConstraint(
            "state IN ('new', 'same', 'changed', 'removed', 'error', 'blocked')",
            name=op.f("ck_watch_pages_ck_watch_pages_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_pages")),
    )
    op.create_index(op.f("ix_watch_pages_watch_id_id"), "watch_pages", ["watch_id", "id"])
    op.create_index(op.f("ix_watch_pages_watch_id_next_visit_at"), "watch_pages", ["watch_id", "next_visit_at"])


def _versions() -> None:
    op.create_table(
        "watch_versions",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("watch_id", key(40), nullable=False),
        sa.Column("page_id", key(40), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("digest", key(64), nullable=False),
        sa.Column("fields", Document(), nullable=False),
        sa.Column("text_hash", key(64), nullable=True),
        sa.Column("expires_at", Moment(), nullable=False),
        *_readable("at", "expires_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_watch_versions_ck_watch_versions_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_versions")),
    )
    op.create_index(op.f("ix_watch_versions_page_id_id"), "watch_versions", ["page_id", "id"])
    op.create_index(op.f("ix_watch_versions_watch_id_id"), "watch_versions", ["watch_id", "id"])
    op.create_index(op.f("ix_watch_versions_tenant_id_text_hash"), "watch_versions", ["tenant_id", "text_hash"])
    op.create_index(op.f("ix_watch_versions_expires_at"), "watch_versions", ["expires_at"])
    op.create_table(
        "watch_texts",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("hash", key(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("data", blob(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_watch_texts_ck_watch_texts_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "hash", name=op.f("pk_watch_texts")),
    )


def _changes() -> None:
    op.create_table(
        "watch_changes",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("watch_id", key(40), nullable=False),
        sa.Column("page_id", key(40), nullable=False),
        sa.Column("url", prose(), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("kind", key(16), nullable=False),
        sa.Column("matched", sa.Boolean(), nullable=False),
        sa.Column("fields", Document(), nullable=False),
        sa.Column("diff", prose(), nullable=False),
        sa.Column("run_id", key(40), nullable=True),
        sa.Column("version_id", key(40), nullable=True),
        sa.Column("before_id", key(40), nullable=True),
        sa.Column("expires_at", Moment(), nullable=False),
        *_readable("at", "expires_at"),
        sa.UniqueConstraint("tenant_id", "seq", name=op.f("uq_watch_changes_tenant_id_seq")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_watch_changes_ck_watch_changes_tenant")),
        sa.CheckConstraint(
            "kind IN ('new', 'changed', 'removed')", name=op.f("ck_watch_changes_ck_watch_changes_kind")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_changes")),
    )
    op.create_index(op.f("ix_watch_changes_watch_id_seq"), "watch_changes", ["watch_id", "seq"])
    op.create_index(op.f("ix_watch_changes_page_id_seq"), "watch_changes", ["page_id", "seq"])
    op.create_index(op.f("ix_watch_changes_expires_at"), "watch_changes", ["expires_at"])
    op.create_table(
        "watch_sequences",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_watch_sequences_ck_watch_sequences_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_watch_sequences")),
    )


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
