"""Records endings of attempts at articles: updates articles, waiting items, counters and events, set-based."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.queue_name import PRIORITIES
from foliot.db.batch_statements import Change
from foliot.db.dialects import Dialect
from foliot.engine.model.run import EventLine, EventType, order_key
from foliot.engine.sql.leases import fenced
from foliot.engine.sql.tables import runs
from foliot.features.articles.model import QUEUE, ArticleCounts, ArticleStatus, EndingsEffect, FetchEnding, ItemState
from foliot.features.articles.sql import batches
from foliot.features.articles.sql.batch_runs import NUMBERED, numbered
from foliot.features.articles.tables import article_jobs as job_rows
from foliot.features.articles.tables import articles, items
from foliot.features.fetching.model import host_of

_HELD = (
    articles.c.id,
    articles.c.epoch,
    articles.c.token,
    articles.c.lease_until,
    articles.c.attempt,
    articles.c.order_key,
    articles.c.retry_count,
    articles.c.url,
    articles.c.moved_to,
    articles.c.moves,
)

Held = tuple[Any, FetchEnding]


@cache
def _held(dialect: Dialect) -> Select[Any]:
    return dialect.lock(select(*_HELD).where(dialect.listed(articles.c.id, "ids")).order_by(articles.c.id))


@cache
def _waiting(dialect: Dialect) -> Select[Any]:
    query = select(items.c.run_id, items.c.position, items.c.waits_for).where(dialect.listed(items.c.waits_for, "ids"))
    return dialect.lock(query.order_by(items.c.run_id, items.c.position))


@cache
def _jobs(dialect: Dialect) -> Select[Any]:
    """Counters joined with their runs; every counter has one."""
    job = job_rows.c
    query = select(*(runs.c[name] for name in NUMBERED), *(job[name] for name in batches.COUNTED))
    query = query.join_from(job_rows, runs, runs.c.id == job.run_id).where(dialect.listed(job.run_id, "ids"))
    return dialect.lock(query.order_by(job.run_id))


async def finish(
    conn: AsyncConnection, dialect: Dialect, endings: Sequence[FetchEnding], now: datetime
) -> tuple[EndingsEffect, Mapping[str, ArticleCounts]]:
    """Records a group; an ending without the current fence changes nothing. Returns the new counters of jobs too."""
    by_id = {ending.fence.run_id: ending for ending in endings}
    held: list[Held] = []
    repeated = set()
    for row in await conn.execute(_held(dialect), {"ids": list(by_id)}):
        ending = by_id[row.id]
        if not fenced(row, ending.fence):
            continue
        if row.lease_until is not None:
            held.append((row, ending))
        else:
            # The fence matches and there is no lease: it was written before, and the acknowledgement was lost.
            repeated.add(row.id)
    accepted = frozenset({row.id for row, _ in held} | repeated)
    if not held:
        return EndingsEffect(accepted), {}
    waiting = (await conn.execute(_waiting(dialect), {"ids": [row.id for row, _ in held]})).all()
    wanted = {item.waits_for for item in waiting}
    later, changes = await _work(conn, dialect, held, wanted, now)
    over = {row.id: ending for row, ending in held if _over(ending)}
    jobs, moved = await _move_jobs(conn, dialect, [item for item in waiting if item.waits_for in over], over, now)
    await dialect.change(conn, changes + moved)
    return EndingsEffect(
        accepted, list(jobs), [run_id for run_id, one in jobs.items() if one.pending == 0], later
    ), jobs


def _over(ending: FetchEnding) -> bool:
    """Whether the waiting items end with it."""
    return ending.page is not None or ending.unchanged or (ending.retry_at is None and not ending.handed_back)


def _good(ending: FetchEnding) -> bool:
    return ending.page is not None or ending.unchanged


async def _work(
    conn: AsyncConnection, dialect: Dialect, held: Sequence[Held], wanted: set[str], now: datetime
) -> tuple[list[datetime], list[Change]]:
    """The changes of the articles, and when those with a retry are due."""
    scraped_at = await _scraped_at(conn, dialect, [row.id for row, ending in held if not _good(ending)])
    later: list[datetime] = []
    changes: list[Change] = []
    for read in (True, False):
        if part := [one for one in held if (one[1].page is not None) is read]:
            keys = {"id": [row.id for row, _ in part], "epoch": [row.epoch for row, _ in part]}
            values = _worked(part, wanted, now, scraped_at, later)
            changes.append(Change(articles, keys, values | _pages(part) if read else values))
    return later, changes


def _pages(held: Sequence[Held]) -> dict[str, list[Any]]:
    pages = [ending.page for _, ending in held]
    names = ("title", "content", "etag", "last_modified")
    values: dict[str, list[Any]] = {name: [getattr(page, name) for page in pages] for name in names}
    return values | {"about": [batches.about(page) for page in pages if page is not None]}


def _worked(
    held: Sequence[Held],
    wanted: set[str],
    now: datetime,
    scraped_at: Mapping[str, datetime | None],
    later: list[datetime],
) -> dict[str, list[Any]]:
    """New column values: back to the queue where a retry is due and items wait, else idle."""
    values: dict[str, list[Any]] = {
        name: []
        for name in ("status", "lane", "ready_at", "order_key", "attempt", "retry_count", "error", "scraped_at")
    }
    for row, ending in held:
        again = not _over(ending) and row.id in wanted
        ready = ending.retry_at or now
        if again and ending.retry_at is not None:
            later.append(ready)
        made = (
            _status(ending).value,
            QUEUE if again else None,
            ready,
            _place_in_queue(row, now),
            row.attempt - ending.handed_back,
            row.retry_count + (ending.retry_at is not None),
            None if ending.problem is None else ending.problem.as_dict(),
            now if _good(ending) else scraped_at.get(row.id),
        )
        for column, value in zip(values.values(), made, strict=True):
            column.append(value)
    count = len(held)
    # The attempt that lost its lease must not take this ending for its own.
    values["token"] = [None if ending.lost else row.token for row, ending in held]
    values |= {"lease_until": [None] * count, "worker": [None] * count, "updated_at": [now] * count}
    return values | _places(held)


def _place_in_queue(row: Any, now: datetime) -> datetime:
    """At the front once it is ready: neither behind later nor behind less urgent pages."""
    front: datetime = min(row.order_key, order_key(now, PRIORITIES[0]))
    return front


def _places(held: Sequence[Held]) -> dict[str, list[Any]]:
    """URL and host of the next request: the target of a redirect; a retry starts from the original URL again."""
    if not any(row.moved_to is not None or ending.moved_to is not None for row, ending in held):
        return {}
    places: list[tuple[str | None, int]] = []
    for row, ending in held:
        if ending.moved_to is not None:
            places.append((ending.moved_to, row.moves + 1))
        else:
            places.append((row.moved_to, row.moves) if ending.handed_back else (None, 0))
    return {
        "moved_to": [place for place, _ in places],
        "moves": [times for _, times in places],
        "host": [host_of(place or row.url) for (place, _), (row, _) in zip(places, held, strict=True)],
    }


async def _scraped_at(conn: AsyncConnection, dialect: Dialect, ids: Sequence[str]) -> dict[str, datetime | None]:
    """The stored times: what was read of a page stays readable when a later fetch fails."""
    if not ids:
        return {}
    query = select(articles.c.id, articles.c.scraped_at).where(dialect.among(articles.c.id, ids))
    return {row.id: row.scraped_at for row in await conn.execute(query)}


def _status(ending: FetchEnding) -> ArticleStatus:
    if _good(ending):
        return ArticleStatus.SCRAPED
    return ArticleStatus.FAILED if _over(ending) else ArticleStatus.PENDING


async def _move_jobs(
    conn: AsyncConnection, dialect: Dialect, flipped: Sequence[Any], over: Mapping[str, FetchEnding], now: datetime
) -> tuple[dict[str, ArticleCounts], list[Change]]:
    """Ends these items, and adds exactly them to the counters and events of their jobs."""
    if not flipped:
        return {}, []
    states = [ItemState.DONE if _good(over[item.waits_for]) else ItemState.FAILED for item in flipped]
    many = len(flipped)
    values: dict[str, list[Any]] = {
        "state": [state.value for state in states],
        "waits_for": [None] * many,
        "error": [_error(over[item.waits_for]) for item in flipped],
        "at": [now] * many,
    }
    keys = {"run_id": [item.run_id for item in flipped], "position": [item.position for item in flipped]}
    rows = (await conn.execute(_jobs(dialect), {"ids": sorted({item.run_id for item in flipped})})).all()
    counts = {row.id: batches.count(row) for row in rows}
    lines: dict[str, list[EventLine]] = defaultdict(list)
    for item, state in zip(flipped, states, strict=True):
        counts[item.run_id] = counts[item.run_id].after(state)
        lines[item.run_id].append(_line(item.waits_for, state, counts[item.run_id], now))
    saved = Change(job_rows, {"run_id": list(counts)}, batches.counted(list(counts.values())))
    return counts, [Change(items, keys, values), saved, *numbered(rows, lines)]


def _error(ending: FetchEnding) -> dict[str, Any] | None:
    return None if ending.problem is None else ending.problem.as_dict()


def _line(article_id: str, state: ItemState, counts: ArticleCounts, now: datetime) -> EventLine:
    data = {
        "article_id": article_id,
        "status": (ArticleStatus.SCRAPED if state is ItemState.DONE else ArticleStatus.FAILED).value,
        "completed": counts.completed,
        "failed": counts.failed,
        "total": counts.total,
    }
    return EventLine(now, EventType.PROGRESS, data=data)
