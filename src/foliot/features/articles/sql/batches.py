"""Items of batches: creation, counters, cancellation, and reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import ARTICLE, new_id
from foliot.db.dialects import Dialect
from foliot.engine.model.run import order_key
from foliot.engine.sql.tables import runs
from foliot.features.articles.model import (
    QUEUE,
    ArticleCounts,
    ArticleStatus,
    ExtractedPage,
    ItemState,
    ItemView,
    PreviousContent,
    WantedArticle,
)
from foliot.features.articles.tables import article_jobs, articles, items
from foliot.features.fetching.model import DEFAULT_OPTIONS, FetchOptions

MOST_TEXT = 8 * 1024 * 1024
"""Maximum characters of articles in one answer, unless a single article is longer."""
_KNOWN = (
    articles.c.id,
    articles.c.url_hash,
    articles.c.status,
    articles.c.scraped_at,
    articles.c.ready_at,
    articles.c.order_key,
    articles.c.priority,
    articles.c.lane,
    articles.c.lease_until,
    articles.c.reference_count,
)
COUNTED = ("total", "cached", "done", "failed", "cancelled")
_ABOUT = ("author", "published_at", "language", "canonical_url", "image", "rendered")
_SHOWN = (
    *items.c,
    articles.c.url,
    articles.c.title,
    articles.c.about,
    articles.c.scraped_at,
    articles.c.content,
    articles.c.previous_scraped_at,
    articles.c.reference_count,
    articles.c.retry_count,
)


async def submit(  # noqa: PLR0913, PLR0917 -- the conditions of a batch
    conn: AsyncConnection,
    dialect: Dialect,
    job: tuple[str, str],
    wanted: Sequence[WantedArticle],
    now: datetime,
    max_age: timedelta,
    options: FetchOptions = DEFAULT_OPTIONS,
) -> ArticleCounts:
    """Creates the items and counters of a job and queues its articles; idempotent. `job` is its tenant and id."""
    tenant_id, run_id = job
    known = await counts(conn, dialect, [run_id])
    if run_id in known:
        return known[run_id]
    # Stored with the articles that are queued now, and with those that another batch has queued.
    stored = options.as_dict() or None
    rows, made_now = await _meet(conn, dialect, tenant_id, wanted, now, stored)
    fresh = {
        row.url_hash
        for row in rows.values()
        if row.status == ArticleStatus.SCRAPED and row.scraped_at is not None and row.scraped_at > now - max_age
    }
    states = [ItemState.CACHED if article.url_hash in fresh else ItemState.PENDING for article in wanted]
    met = [article for article in wanted if rows[article.url_hash].id not in made_now]
    if met:
        await _want(conn, dialect, [article for article in met if article.url_hash not in fresh], rows, now, stored)
        await _refer(conn, dialect, [rows[article.url_hash] for article in met])
    await _insert_items(conn, dialect, job, [(article, rows[article.url_hash].id) for article in wanted], (states, now))
    made = ArticleCounts(total=len(wanted), cached=len(fresh))
    columns: dict[str, list[Any]] = {"run_id": [run_id], "tenant_id": [tenant_id], **counted([made])}
    await dialect.insert(conn, article_jobs, columns)
    return made


async def _meet(
    conn: AsyncConnection,
    dialect: Dialect,
    tenant_id: str,
    wanted: Sequence[WantedArticle],
    now: datetime,
    options: dict[str, Any] | None,
) -> tuple[dict[str, Any], frozenset[str]]:
    """Inserts missing articles, and returns all rows, locked, by the hash of the URL, with the ids of the new ones."""
    # In the order of the key, so that concurrent jobs with the same pages wait for each other without a deadlock.
    ordered = sorted(wanted, key=lambda article: article.url_hash)
    count = len(ordered)
    columns: dict[str, list[Any]] = {
        "id": [new_id(ARTICLE) for _ in ordered],
        "tenant_id": [tenant_id] * count,
        "url": [article.url for article in ordered],
        "url_hash": [article.url_hash for article in ordered],
        "host": [article.host for article in ordered],
        "status": [ArticleStatus.PENDING.value] * count,
        "reference_count": [1] * count,
        "retry_count": [0] * count,
        "priority": [article.priority for article in ordered],
        "ready_at": [now] * count,
        "order_key": [order_key(now, article.priority) for article in ordered],
        "lane": [QUEUE] * count,
        "attempt": [0] * count,
        "epoch": [0] * count,
        "created_at": [now] * count,
        "updated_at": [now] * count,
    }
    if options is not None:
        columns["options"] = [options] * count
    await dialect.insert(conn, articles, columns, conflict="ignore")
    query = select(*_KNOWN).where(
        articles.c.tenant_id == tenant_id, dialect.among(articles.c.url_hash, [article.url_hash for article in ordered])
    )
    rows = {row.url_hash: row for row in await conn.execute(dialect.lock(query.order_by(articles.c.id)))}
    tried = set(columns["id"])
    return rows, frozenset(row.id for row in rows.values() if row.id in tried)


async def _want(
    conn: AsyncConnection,
    dialect: Dialect,
    wanted: Sequence[WantedArticle],
    rows: Mapping[str, Any],
    now: datetime,
    options: dict[str, Any] | None,
) -> None:
    """Queues articles that are not queued, and raises the priority of those that this job wants more urgently."""
    values: dict[str, list[Any]] = {"priority": [], "ready_at": [], "order_key": [], "lane": [], "attempt": []}
    ids, idle, joined = [], [], list[str]()
    for article in wanted:
        row = rows[article.url_hash]
        rests = row.lane is None and row.lease_until is None
        if not rests and options is not None:
            joined.append(row.id)
        if not rests and row.priority <= article.priority:
            continue
        if rests:
            idle.append(row.id)
            ready, priority = now, article.priority
        else:
            ready, priority = row.ready_at, min(row.priority, article.priority)
        ids.append(row.id)
        order = order_key(ready, priority)
        made = (priority, ready, order if rests else min(order, row.order_key), QUEUE if rests else row.lane, 0)
        for column, value in zip(values.values(), made, strict=True):
            column.append(value)
    if joined:
        await dialect.update(conn, articles, {"id": joined}, {"options": [options] * len(joined)})
    if not ids:
        return
    restless = set(idle)
    urgent = [at for at, one in enumerate(ids) if one not in restless]
    waiting = [at for at, one in enumerate(ids) if one in restless]
    if waiting:
        begun = {name: [column[at] for at in waiting] for name, column in values.items()}
        begun["status"] = [ArticleStatus.PENDING.value] * len(waiting)
        begun["options"] = [options] * len(waiting)
        await dialect.update(conn, articles, {"id": [ids[at] for at in waiting]}, begun)
    if urgent:
        moved = {name: [values[name][at] for at in urgent] for name in ("priority", "order_key")}
        await dialect.update(conn, articles, {"id": [ids[at] for at in urgent]}, moved)


async def _refer(conn: AsyncConnection, dialect: Dialect, rows: Sequence[Any]) -> None:
    counted = {"reference_count": [row.reference_count + 1 for row in rows]}
    await dialect.update(conn, articles, {"id": [row.id for row in rows]}, counted)


async def _insert_items(
    conn: AsyncConnection,
    dialect: Dialect,
    job: tuple[str, str],
    wanted: Sequence[tuple[WantedArticle, str]],
    known: tuple[Sequence[ItemState], datetime],
) -> None:
    (tenant_id, run_id), (states, now) = job, known
    count = len(wanted)
    pending = [state is ItemState.PENDING for state in states]
    columns: dict[str, list[Any]] = {
        "run_id": [run_id] * count,
        "position": list(range(1, count + 1)),
        "tenant_id": [tenant_id] * count,
        "article_id": [article_id for _, article_id in wanted],
        "waits_for": [one if waits else None for (_, one), waits in zip(wanted, pending, strict=True)],
        "source": [article.source for article, _ in wanted],
        "category": [article.category for article, _ in wanted],
        "priority": [article.priority for article, _ in wanted],
        "state": [state.value for state in states],
        "at": [None if waits else now for waits in pending],
    }
    await dialect.insert(conn, items, columns)


async def counts(
    conn: AsyncConnection, dialect: Dialect, run_ids: Sequence[str], *, lock: bool = False
) -> dict[str, ArticleCounts]:
    """The counters of these jobs; one without a row is no job of articles, or has not begun."""
    query = select(article_jobs).where(dialect.among(article_jobs.c.run_id, run_ids)).order_by(article_jobs.c.run_id)
    return {row.run_id: count(row) for row in await conn.execute(dialect.lock(query) if lock else query)}


def count(row: Any) -> ArticleCounts:
    return ArticleCounts(total=row.total, cached=row.cached, done=row.done, failed=row.failed, cancelled=row.cancelled)


def counted(counters: Sequence[ArticleCounts]) -> dict[str, list[Any]]:
    """Counters as columns of the table."""
    return {name: [getattr(counts, name) for counts in counters] for name in COUNTED}


async def save_counts(conn: AsyncConnection, dialect: Dialect, counters: Mapping[str, ArticleCounts]) -> None:
    await dialect.update(conn, article_jobs, {"run_id": list(counters)}, counted(list(counters.values())))


async def release(conn: AsyncConnection, dialect: Dialect, run_ids: Sequence[str], now: datetime) -> dict[str, int]:
    """Cancels the pending items of these jobs; articles without other waiting items leave the queue."""
    query = select(items.c.run_id, items.c.position, items.c.waits_for).where(
        dialect.among(items.c.run_id, run_ids), items.c.waits_for.is_not(None)
    )
    wanted = sorted({row.waits_for for row in await conn.execute(query)})
    if not wanted:
        return {}
    # Articles first, the lock order everywhere: endings that are being written come first.
    await conn.execute(
        dialect.lock(select(articles.c.id).where(dialect.among(articles.c.id, wanted)).order_by(articles.c.id))
    )
    dropped = (await conn.execute(dialect.lock(query.order_by(items.c.run_id, items.c.position)))).all()
    if not dropped:
        return {}
    values = {"state": ItemState.CANCELLED.value, "waits_for": None, "at": now}
    flipped: dict[str, list[Any]] = {name: [value] * len(dropped) for name, value in values.items()}
    keys = {"run_id": [row.run_id for row in dropped], "position": [row.position for row in dropped]}
    await dialect.update(conn, items, keys, flipped)
    gone = Counter(row.run_id for row in dropped)
    known = await counts(conn, dialect, sorted(gone), lock=True)
    after = {
        run_id: ArticleCounts(
            total=one.total, cached=one.cached, done=one.done, failed=one.failed, cancelled=one.cancelled + gone[run_id]
        )
        for run_id, one in known.items()
    }
    await save_counts(conn, dialect, after)
    await _release(conn, dialect, sorted({row.waits_for for row in dropped}), now)
    return dict(gone)


async def _release(conn: AsyncConnection, dialect: Dialect, ids: Sequence[str], now: datetime) -> None:
    """Sets the priority of these articles to that of the remaining items; without any, removes them from the queue."""
    left = select(items.c.waits_for, func.min(items.c.priority).label("priority")).where(
        dialect.among(items.c.waits_for, ids)
    )
    urgency = {row.waits_for: row.priority for row in await conn.execute(left.group_by(items.c.waits_for))}
    unwanted = [one for one in ids if one not in urgency]
    if unwanted:
        rest = update(articles).where(dialect.among(articles.c.id, unwanted), articles.c.lane.is_not(None))
        await conn.execute(rest.values(lane=None, updated_at=now))
    if urgency:
        ready = select(articles.c.id, articles.c.ready_at).where(dialect.among(articles.c.id, list(urgency)))
        found = {row.id: row.ready_at for row in await conn.execute(ready)}
        values = {
            "priority": [urgency[one] for one in found],
            "order_key": [order_key(at, urgency[one]) for one, at in found.items()],
        }
        await dialect.update(conn, articles, {"id": list(found)}, values)


async def read_items(
    conn: AsyncConnection, run_id: str, part: tuple[int, int, int], *, failed: bool | None
) -> list[ItemView]:
    """Items of a job; `part` is (after position, skip, limit). Fewer than the limit where texts are long."""
    after, skip, limit = part
    whose = [items.c.run_id == run_id, items.c.position > after]
    if failed is not None:
        wanted = [ItemState.FAILED] if failed else [ItemState.DONE, ItemState.CACHED]
        whose.append(items.c.state.in_([state.value for state in wanted]))
    both = items.join(articles, articles.c.id == items.c.article_id)
    sizes = select(items.c.position, func.length(articles.c.content).label("size")).select_from(both).where(*whose)
    positions: list[int] = []
    weight = 0
    for row in await conn.execute(sizes.order_by(items.c.position).limit(limit).offset(skip)):
        weight += row.size or 0
        if positions and weight > MOST_TEXT:
            break
        positions.append(row.position)
    query = select(*_SHOWN).select_from(both).where(items.c.run_id == run_id, items.c.position.in_(positions))
    query = query.order_by(items.c.position)
    return [_item(row) for row in await conn.execute(query)]


async def article_ids(conn: AsyncConnection, run_id: str) -> list[str]:
    """The ids of a job's articles, in the order of the request."""
    query = select(items.c.article_id).where(items.c.run_id == run_id).order_by(items.c.position)
    return list((await conn.execute(query)).scalars())


async def read_item(
    conn: AsyncConnection, run_id: str, article_id: str
) -> tuple[ItemView, PreviousContent | None] | None:
    """One item, and the previous version of its article."""
    both = items.join(articles, articles.c.id == items.c.article_id)
    query = select(*_SHOWN, articles.c.previous_title, articles.c.previous_content).select_from(both)
    query = query.where(items.c.run_id == run_id, items.c.article_id == article_id)
    row = (await conn.execute(query)).first()
    if row is None:
        return None
    at = row.previous_scraped_at
    before = (
        None if at is None else PreviousContent(title=row.previous_title, content=row.previous_content, scraped_at=at)
    )
    return _item(row), before


def page_of(row: Any) -> ExtractedPage:
    """The stored page of an article."""
    about = row.about or {}
    return ExtractedPage(title=row.title, content=row.content, **{name: about.get(name) for name in _ABOUT})


def _item(row: Any) -> ItemView:
    state = ItemState(row.state)
    return ItemView(
        article_id=row.article_id,
        position=row.position,
        url=row.url,
        source=row.source,
        category=row.category,
        priority=row.priority,
        state=state,
        at=row.at,
        error=row.error,
        page=page_of(row),
        scraped_at=row.scraped_at,
        previous_scraped_at=row.previous_scraped_at,
        reference_count=row.reference_count,
        retry_count=row.retry_count,
    )


def about(page: ExtractedPage) -> dict[str, Any]:
    """Metadata of a page, stored as one document."""
    return {name: value for name in _ABOUT if (value := getattr(page, name)) is not None}


async def wanted_articles(conn: AsyncConnection, run_id: str) -> list[WantedArticle]:
    """The articles of a job that were not read; all of them, when every one was."""
    columns = (articles.c.url, articles.c.url_hash, articles.c.host, items.c.source, items.c.category)
    query = select(*columns, items.c.priority, items.c.state).join(articles, articles.c.id == items.c.article_id)
    rows = (await conn.execute(query.where(items.c.run_id == run_id).order_by(items.c.position))).all()
    settled = {ItemState.DONE, ItemState.CACHED}
    left = [row for row in rows if row.state not in settled] or rows
    return [
        WantedArticle(
            url=row.url,
            url_hash=row.url_hash,
            host=row.host,
            source=row.source,
            category=row.category,
            priority=row.priority,
        )
        for row in left
    ]


async def orphans(conn: AsyncConnection, limit: int) -> list[str]:
    """Ended jobs with pending items, however they ended."""
    job = article_jobs.c
    query = select(job.run_id).join(runs, runs.c.id == job.run_id)
    query = query.where(job.cached + job.done + job.failed + job.cancelled < job.total, runs.c.finished_at.is_not(None))
    return list((await conn.execute(query.limit(limit))).scalars())


async def prune(conn: AsyncConnection, dialect: Dialect, before: datetime, limit: int) -> int:
    """Deletes articles without items that have not changed since."""
    known = select(items.c.article_id).where(items.c.article_id == articles.c.id).exists()
    query = select(articles.c.id).where(
        articles.c.updated_at < before, articles.c.lane.is_(None), articles.c.lease_until.is_(None), ~known
    )
    oldest = dialect.lock(query.order_by(articles.c.updated_at).limit(limit), skip=True)
    gone = list((await conn.execute(oldest)).scalars())
    if gone:
        await conn.execute(delete(articles).where(dialect.among(articles.c.id, gone)))
    return len(gone)
