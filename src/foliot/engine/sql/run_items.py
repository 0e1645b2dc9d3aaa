"""Items that runs produce: documents in compressed chunks, numbered for each attempt, and bounded.

Keeps batches away from executors: a batch has no lane; `poll_at` says when its items are created.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.ids import new_id
from foliot.db.dialects import Dialect
from foliot.engine.model.run import BATCH_CHECK, BATCH_KINDS, RunState
from foliot.engine.model.views import RunRequest
from foliot.engine.sql.tables import crawl_items, runs

CHUNK_ITEMS = 500
CHUNK_BYTES = 1024 * 1024
"""A chunk is closed when its items reach either, before compression."""
ITEM_BYTES = 256 * 1024 * 1024
"""Maximum stored bytes of the items of one attempt; beyond it they are counted."""
STATEMENT_BYTES = 4 * 1024 * 1024
"""Bytes of one statement: MariaDB takes 16 MiB at once."""
ANSWER_BYTES = 8 * 1024 * 1024
"""Bytes of a page, however many items were requested."""

Brought = tuple[str, str, Sequence[Any]]
"""Tenant, run, and the items since the last time."""
Place = tuple[str, str, int]
"""Tenant, run, attempt."""


@dataclass(frozen=True, slots=True)
class _ItemsEnd:
    """Where an attempt's items end so far."""

    attempt: int
    last: int
    size: int


async def write_items(conn: AsyncConnection, dialect: Dialect, rows: Sequence[Brought]) -> None:
    """Append to the items of each run's current attempt. The caller has locked the runs; each is named once."""
    brought = [row for row in rows if row[2]]
    if not brought:
        return
    ends = await _ends(conn, dialect, [run_id for _, run_id, _ in brought])
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    weight = 0
    for tenant_id, run_id, items in brought:
        end = ends[run_id]
        for count, data in _chunks(items):
            size = end.size + len(data)
            # Full from here on, also for something smaller: what is kept is the beginning, without holes.
            kept, size = (data, size) if size <= ITEM_BYTES else (b"", ITEM_BYTES)
            chunk = (run_id, end.attempt, end.last + count, tenant_id, end.last + 1, size, kept)
            for name, value in zip(_COLUMNS, chunk, strict=True):
                columns[name].append(value)
            end = _ItemsEnd(end.attempt, end.last + count, size)
            weight += len(kept)
            if weight >= STATEMENT_BYTES:
                await dialect.insert(conn, crawl_items, columns)
                columns, weight = {name: [] for name in _COLUMNS}, 0
    if columns["run_id"]:
        await dialect.insert(conn, crawl_items, columns)


async def read_items(conn: AsyncConnection, place: Place, skip: int, limit: int) -> RunItemsPage:
    """A part of an attempt's items, and how many there are."""
    kept, counted = await _counted(conn, place)
    items: list[Any] = []
    at, weight = skip, 0
    while at < kept and len(items) < limit and weight < ANSWER_BYTES:
        first, last, data = await _chunk(conn, place, at)
        inside = zlib.decompress(data)
        items += orjson.loads(inside)[at + 1 - first :]
        at, weight = last, weight + len(inside)
    return RunItemsPage(items[:limit], kept, counted - kept)


async def _chunk(conn: AsyncConnection, place: Place, after: int) -> tuple[int, int, bytes]:
    """The chunk with the item that follows this number. One at a time: each may be large, and few are wanted."""
    query = select(crawl_items.c.first_item, crawl_items.c.last_item, crawl_items.c.data)
    query = query.where(*_of(place), crawl_items.c.last_item > after).order_by(crawl_items.c.last_item).limit(1)
    first, last, data = (await conn.execute(query)).one()
    return first, last, data


async def _counted(conn: AsyncConnection, place: Place) -> tuple[int, int]:
    """How many are kept, and how many there were."""
    newest = select(crawl_items.c.last_item, crawl_items.c.bytes_through).where(*_of(place))
    newest = newest.order_by(crawl_items.c.last_item.desc()).limit(1)
    last = (await conn.execute(newest)).first()
    if last is None or last.bytes_through < ITEM_BYTES:
        return (0, 0) if last is None else (last.last_item, last.last_item)
    kept = select(func.max(crawl_items.c.last_item)).where(*_of(place), crawl_items.c.data != b"")
    return await conn.scalar(kept) or 0, last.last_item


def _of(place: Place) -> tuple[ColumnElement[bool], ...]:
    tenant_id, run_id, attempt = place
    return crawl_items.c.run_id == run_id, crawl_items.c.attempt == attempt, crawl_items.c.tenant_id == tenant_id


async def _ends(conn: AsyncConnection, dialect: Dialect, run_ids: Sequence[str]) -> Mapping[str, _ItemsEnd]:
    """One index lookup for each run, however many items it has."""
    mine = (crawl_items.c.run_id == runs.c.id, crawl_items.c.attempt == runs.c.attempt)

    def newest(column: ColumnElement[Any]) -> Any:
        query = select(column).where(*mine).order_by(crawl_items.c.last_item.desc()).limit(1)
        return query.correlate(runs).scalar_subquery()

    query = select(
        runs.c.id,
        runs.c.attempt,
        newest(crawl_items.c.last_item).label("last"),
        newest(crawl_items.c.bytes_through).label("size"),
    ).where(dialect.among(runs.c.id, run_ids))
    return {row.id: _ItemsEnd(row.attempt, row.last or 0, row.size or 0) for row in await conn.execute(query)}


_COLUMNS = ("run_id", "attempt", "last_item", "tenant_id", "first_item", "bytes_through", "data")


def _chunks(items: Sequence[Any]) -> Iterator[tuple[int, bytes]]:
    """How many, and their bytes; level 1 is nearly as small as the best and several times faster."""
    waiting: list[bytes] = []
    weight = 0
    for item in items:
        written = _written(item)
        waiting.append(written)
        weight += len(written)
        if len(waiting) == CHUNK_ITEMS or weight >= CHUNK_BYTES:
            yield len(waiting), _packed(waiting)
            waiting, weight = [], 0
    if waiting:
        yield len(waiting), _packed(waiting)


def _packed(written: Sequence[bytes]) -> bytes:
    return zlib.compress(b"[" + b",".join(written) + b"]", 1)


def _written(item: object) -> bytes:
    """As JSON that every parser accepts."""
    try:
        return orjson.dumps(item)
    except TypeError:
        # Numbers beyond 64 bits and lone surrogates: rare, and no reason to lose an item.
        text = json.dumps(item, ensure_ascii=False, default=str).encode("utf-8", "replace")
        return orjson.dumps(orjson.loads(text))


@dataclass(frozen=True, slots=True)
class RunItemsPage:
    """A part of the items of one attempt."""

    items: Sequence[Any]
    total: int
    """How many are kept."""
    not_kept: int = 0
    """How many more were dropped beyond the limit."""


Columns = dict[str, list[Any]]


def without_lane(columns: Columns, kinds: Sequence[str]) -> Columns:
    """The columns of new or released runs; a batch that could be claimed waits for its items instead."""
    if BATCH_KINDS.isdisjoint(kinds):
        return columns
    waits = [kind in BATCH_KINDS and lane is not None for kind, lane in zip(kinds, columns["lane"], strict=True)]
    ready = columns["ready_at"]
    return columns | {
        "lane": [None if held else lane for held, lane in zip(waits, columns["lane"], strict=True)],
        "poll_at": [at if held else None for held, at in zip(waits, ready, strict=True)],
        "handle": [{} if held else None for held in waits],
    }


def born_parked(columns: Columns, requests: Sequence[RunRequest], now: datetime) -> Columns:
    """The columns of new runs; those whose items come with them have started, and are held by no process.

    Their first attempt begins with them: 1 is the event of their creation, 2 that of their start.
    """
    if not any(request.parked for request in requests):
        return columns
    parked = [request.parked for request in requests]

    def either(begun: Any, waiting: Sequence[Any]) -> list[Any]:
        return [begun if yes else other for yes, other in zip(parked, waiting, strict=True)]

    zero, one, nothing = [0] * len(parked), [1] * len(parked), [None] * len(parked)
    return columns | {
        "state": either(RunState.RUNNING.value, columns["state"]),
        "poll_at": either(now + BATCH_CHECK, columns.get("poll_at", nothing)),
        "epoch": either(1, zero),
        "attempt": either(1, zero),
        "token": [new_id("tok") if yes else None for yes in parked],
        "event_seq": either(2, one),
        "started_seq": either(2, nothing),
        "started_at": either(now, nothing),
        "attempt_at": either(now, nothing),
        "due_at": either(now, nothing),
    }
