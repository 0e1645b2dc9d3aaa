"""Reads scraped articles independent of jobs, in the order of their last change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.features.articles.model import ArticleView, ChangeCursor, ChangedArticle, ItemState
from foliot.features.articles.sql.batches import page_of
from foliot.features.articles.tables import articles, items

_VIEWED = (
    articles.c.id,
    articles.c.tenant_id,
    articles.c.url,
    articles.c.host,
    articles.c.title,
    articles.c.content,
    articles.c.about,
    articles.c.scraped_at,
    articles.c.reference_count,
    articles.c.retry_count,
    articles.c.created_at,
    articles.c.updated_at,
)


async def changed(conn: AsyncConnection, after: ChangeCursor, limit: int) -> list[ChangedArticle]:
    """In the order of the index on `updated_at`; the long texts are not read."""
    moment = articles.c.updated_at
    query = (
        select(articles.c.id, moment, articles.c.scraped_at)
        # The first condition is redundant: it is the one that the index can use.
        .where(moment >= after.at, or_(moment > after.at, and_(moment == after.at, articles.c.id > after.article_id)))
        .where(articles.c.scraped_at.is_not(None))
        .order_by(moment, articles.c.id)
        .limit(limit)
    )
    return [ChangedArticle(ChangeCursor(row.updated_at, row.id), row.scraped_at) for row in await conn.execute(query)]


async def views(conn: AsyncConnection, dialect: Dialect, ids: Sequence[str]) -> list[ArticleView]:
    query = select(*_VIEWED).where(dialect.among(articles.c.id, ids), articles.c.scraped_at.is_not(None))
    return [_view(row) for row in await conn.execute(query)]


async def articles_with(conn: AsyncConnection, run_id: str, names: Sequence[str]) -> dict[str, int]:
    """How many articles that a job has read have a value for each of these fields; the long texts are not read."""
    read = items.c.state.in_([ItemState.DONE.value, ItemState.CACHED.value])
    query = (
        select(
            func.length(articles.c.title).label("title"),
            func.length(articles.c.content).label("content"),
            articles.c.about,
        )
        .select_from(items.join(articles, articles.c.id == items.c.article_id))
        .where(items.c.run_id == run_id, read)
    )
    counts = dict.fromkeys(names, 0)
    for row in await conn.execute(query):
        present = {**(row.about or {}), "title": row.title, "content": row.content}
        for name in names:
            counts[name] += bool(present.get(name))
    return counts


def _view(row: Any) -> ArticleView:
    return ArticleView(
        id=row.id,
        tenant_id=row.tenant_id,
        url=row.url,
        host=row.host,
        page=page_of(row),
        scraped_at=row.scraped_at,
        reference_count=row.reference_count,
        retry_count=row.retry_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
