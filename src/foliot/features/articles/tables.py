"""Tables of articles, of jobs and their items, and of the hosts that articles are fetched from."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, SmallInteger, Table, UniqueConstraint

from foliot.db.batch_statements import KEEPS, KeptColumns
from foliot.db.metadata import WITH_RUN, Document, Moment, key, metadata, one_of, prose, tenant, where_set
from foliot.features.articles.model import ArticleStatus, ItemState

articles = Table(
    "articles",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("url", prose(), nullable=False),
    Column("url_hash", key(64), nullable=False),
    Column("host", key(255), nullable=False),
    # Target of a redirect that is being followed, and how many were; `host` is the target's meanwhile.
    Column("moved_to", prose()),
    Column("moves", SmallInteger, nullable=False, server_default="0"),
    Column("status", key(16), nullable=False),
    # The page as it was last read.
    Column("title", prose()),
    Column("content", prose()),
    Column("about", Document),
    Column("error", Document),
    Column("scraped_at", Moment),
    # The version before the last change, and when it was last read; kept by the statement that changes the page.
    Column("previous_title", prose()),
    Column("previous_content", prose()),
    Column("previous_scraped_at", Moment),
    Column("attempted_at", Moment),
    Column("etag", prose()),
    Column("last_modified", key(64)),
    # How it is fetched, as the last batch that queued it says.
    Column("options", Document),
    # How many jobs have referred to it, and how often it was retried.
    Column("reference_count", Integer, nullable=False),
    Column("retry_count", Integer, nullable=False),
    # That of its most urgent waiting item.
    Column("priority", SmallInteger, nullable=False),
    Column("ready_at", Moment, nullable=False),
    Column("order_key", Moment, nullable=False),
    # The queue while the article can be claimed.
    Column("lane", key(64)),
    Column("attempt", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("token", key(40)),
    Column("lease_until", Moment),
    Column("worker", key(200)),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("tenant_id", "url_hash"),
    CheckConstraint(one_of("status", ArticleStatus), name="status"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("priority BETWEEN 1 AND 10", name="priority"),
    CheckConstraint("lane IS NULL OR lease_until IS NULL", name="lane"),
    Index("ix_articles_ready", "lane", "tenant_id", "order_key", **where_set("lane")),  # type: ignore[arg-type]
    Index("ix_articles_hosts", "lane", "tenant_id", "host", "order_key", **where_set("lane")),  # type: ignore[arg-type]
    Index("ix_articles_waiting", "lane", "ready_at", **where_set("lane")),  # type: ignore[arg-type]
    Index("ix_articles_lease", "lease_until", "host", **where_set("lease_until")),  # type: ignore[arg-type]
    Index(None, "updated_at"),
    postgresql_with={"fillfactor": "70"},
    info={
        KEEPS: KeptColumns(
            once="scraped_at",
            watched=("title", "content"),
            kept={
                "title": "previous_title",
                "content": "previous_content",
                "scraped_at": "previous_scraped_at",
            },
        )
    },
)

items = Table(
    "items",
    metadata,
    Column("run_id", key(40), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    tenant(),
    Column("article_id", key(40), nullable=False),
    # The article's id while the item is pending, so that waiting items are found without reading history.
    Column("waits_for", key(40)),
    Column("source", prose(), nullable=False),
    Column("category", prose(), nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("state", key(16), nullable=False),
    Column("error", Document),
    Column("at", Moment),
    CheckConstraint(one_of("state", ItemState), name="state"),
    CheckConstraint("(waits_for IS NULL) = (state <> 'pending')", name="waits"),
    Index("ix_items_waiting", "waits_for", "run_id", **where_set("waits_for")),  # type: ignore[arg-type]
    Index(None, "article_id"),
    info=WITH_RUN,
)

article_jobs = Table(
    "article_jobs",
    metadata,
    Column("run_id", key(40), primary_key=True),
    tenant(),
    Column("total", Integer, nullable=False),
    Column("cached", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("cancelled", Integer, nullable=False),
    CheckConstraint("cached + done + failed + cancelled <= total", name="sum"),
    info=WITH_RUN,
)
