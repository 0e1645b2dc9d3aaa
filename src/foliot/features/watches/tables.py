"""Tables of watches, their pages, versions, texts and changes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
)

from foliot.db.metadata import Document, Moment, blob, key, metadata, one_of, prose, tenant
from foliot.features.watches.model.watch import ChangeKind, PageState

watches = Table(
    "watches",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", key(200), nullable=False),
    # As a request would say it.
    Column("document", Document, nullable=False),
    Column("schedule_id", key(40), nullable=False),
    # SHA-256 of the key of its feed, and the id of the master key that the key is derived with.
    Column("feed_digest", key(64), unique=True),
    Column("key_of", key(40), nullable=False),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("changes", BigInteger, nullable=False),
    Column("last_visit_at", Moment),
    Column("last_change_at", Moment),
    Column("listed_at", Moment),
    Column("problem", Document),
    Column("planning", Document, nullable=False),
    UniqueConstraint("tenant_id", "name"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

watch_pages = Table(
    "watch_pages",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("watch_id", key(40), nullable=False),
    Column("url", prose(), nullable=False),
    Column("url_hash", key(64), nullable=False),
    Column("state", key(16), nullable=False),
    Column("listed", Boolean, nullable=False),
    Column("found", Boolean, nullable=False),
    Column("fields", Document, nullable=False),
    Column("digest", key(64)),
    Column("reading", key(64)),
    Column("version_id", key(40)),
    Column("level", Boolean, nullable=False),
    Column("visits", Integer, nullable=False),
    Column("changes", Integer, nullable=False),
    Column("seen", Integer, nullable=False),
    Column("problem", Document),
    Column("etag", String(1000)),
    Column("last_modified", String(64)),
    Column("first_at", Moment, nullable=False),
    Column("last_visit_at", Moment),
    Column("last_read_at", Moment),
    Column("last_change_at", Moment),
    Column("next_visit_at", Moment),
    Column("why_then", String(200)),
    # The gamma distribution of its changes per second.
    Column("rate_shape", Double),
    Column("rate_time", Double),
    Column("hinted", Boolean, nullable=False),
    Column("run_id", key(40)),
    UniqueConstraint("watch_id", "url_hash"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("state", PageState), name="state"),
    Index(None, "watch_id", "id"),
    Index(None, "watch_id", "next_visit_at"),
)

watch_versions = Table(
    "watch_versions",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("watch_id", key(40), nullable=False),
    Column("page_id", key(40), nullable=False),
    Column("at", Moment, nullable=False),
    Column("digest", key(64), nullable=False),
    Column("fields", Document, nullable=False),
    Column("text_hash", key(64)),
    Column("expires_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "page_id", "id"),
    Index(None, "watch_id", "id"),
    Index(None, "tenant_id", "text_hash"),
    Index(None, "expires_at"),
)

# Equal texts of one tenant are stored once.
watch_texts = Table(
    "watch_texts",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("hash", key(64), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("data", blob(), nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

watch_changes = Table(
    "watch_changes",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    # Without gaps within the tenant, in the order of commits: a reader that continues after one misses none.
    Column("seq", BigInteger, nullable=False),
    Column("watch_id", key(40), nullable=False),
    Column("page_id", key(40), nullable=False),
    Column("url", prose(), nullable=False),
    Column("at", Moment, nullable=False),
    Column("kind", key(16), nullable=False),
    Column("matched", Boolean, nullable=False),
    Column("fields", Document, nullable=False),
    Column("diff", prose(), nullable=False),
    Column("run_id", key(40)),
    Column("version_id", key(40)),
    Column("before_id", key(40)),
    Column("expires_at", Moment, nullable=False),
    UniqueConstraint("tenant_id", "seq"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("kind", ChangeKind), name="kind"),
    Index(None, "watch_id", "seq"),
    Index(None, "page_id", "seq"),
    Index(None, "expires_at"),
)

watch_sequences = Table(
    "watch_sequences",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    # The number of the tenant's last change.
    Column("last", BigInteger, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
