"""Table of the versions of stored pages."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Table, UniqueConstraint

from foliot.db.metadata import Document, Moment, key, metadata, prose, tenant

page_versions = Table(
    "page_versions",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("page_id", key(40), nullable=False),
    # Of the page: the version outlives it.
    Column("url", prose(), nullable=False),
    Column("bulk_id", key(40), nullable=False),
    Column("at", Moment, nullable=False),
    # By which selectors, extractor or pipeline.
    Column("reading", Document, nullable=False),
    # A list of items.
    Column("found", Document, nullable=False),
    Column("expires_at", Moment, nullable=False),
    # A page is read once by one bulk action.
    UniqueConstraint("bulk_id", "page_id"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "tenant_id", "id"),
    Index(None, "page_id", "id"),
    Index(None, "expires_at"),
)
