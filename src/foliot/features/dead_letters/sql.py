"""Groups dead letters by failure fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, case, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.clock import Elapsed
from foliot.db.database import Transaction
from foliot.db.metadata import Moment
from foliot.engine.model.dead_letter_sort import DeadLetterSort
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.dead_letter_order import in_group_order
from foliot.engine.sql.run_rows import SEEN, view_of
from foliot.engine.sql.tables import runs, schedules
from foliot.features.dead_letters.model import AGES, DeadLetterTotals, FailureGroupView
from foliot.features.filters.sql.runs import RunConditions
from foliot.features.mutes.sql import SqlMutes

HOURS = 24
"""Hours for which arrivals are counted."""
MOST_SCHEDULES = 10

_HOUR = 3_600_000


async def groups(
    tx: Transaction, sieve: RunConditions, page: PageRequest, sort: DeadLetterSort | None = None
) -> tuple[list[FailureGroupView], DeadLetterTotals]:
    """Those with the newest dead letter first, or in another order; with the totals."""
    conn, dialect = tx.conn, tx.dialect
    newest = func.max(runs.c.id).label("newest")
    columns = (
        runs.c.fingerprint,
        func.count().label("letters"),
        func.min(runs.c.finished_at).label("first_at"),
        func.max(runs.c.finished_at).label("last_at"),
        newest,
    )
    where = sieve.where()
    query = select(*columns).where(*where).group_by(runs.c.fingerprint).limit(page.limit)
    query = in_group_order(query, newest, page.cursor, sort)
    found = (await conn.execute(query)).all()
    pile = await _pile(conn, sieve)
    if not found:
        return [], pile
    samples = select(*SEEN).where(dialect.among(runs.c.id, [row.newest for row in found]))
    sample = {row.id: view_of(row) for row in await conn.execute(samples)}
    alike = dialect.among(runs.c.fingerprint, [row.fingerprint for row in found if row.fingerprint is not None])
    senders = await _schedules(conn, [*where, alike])
    arrivals = await _arrivals(conn, sieve, [*where, alike])
    silent = await SqlMutes(tx).standing(sieve.tenant_id, sieve.now)
    return [
        FailureGroupView(
            fingerprint=row.fingerprint or "",
            count=row.letters,
            first_at=row.first_at,
            last_at=row.last_at,
            sample=sample[row.newest],
            schedules=senders.get(row.fingerprint, ()),
            arrivals=arrivals.get(row.fingerprint, [0] * HOURS),
            counted_from=_first_hour(sieve),
            mute=silent.get(row.fingerprint),
        )
        for row in found
        if row.newest in sample
    ], pile


async def _pile(conn: AsyncConnection, sieve: RunConditions) -> DeadLetterTotals:
    """The totals in one query: groups, dead letters, and their ages."""
    bounds = [literal(sieve.now - age, Moment()) for age in AGES]
    older = [func.sum(case((runs.c.finished_at < bound, 1), else_=0)) for bound in bounds]
    groups = func.count(func.distinct(func.coalesce(runs.c.fingerprint, "")))
    query = select(groups, func.count(), func.min(runs.c.finished_at), *older).where(*sieve.where())
    total, letters, oldest, *counts = (await conn.execute(query)).one()
    left = [letters, *(int(count or 0) for count in counts), 0]
    return DeadLetterTotals(total, letters, oldest, [more - fewer for more, fewer in pairwise(left)])


def _first_hour(sieve: RunConditions) -> datetime:
    """Full hours, of which the last is the present one."""
    return sieve.now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)


async def _schedules(conn: AsyncConnection, where: Sequence[ColumnElement[bool]]) -> dict[str, list[tuple[str, str]]]:
    """The schedules of each group's dead letters, the one with the most first."""
    sent = func.count().label("letters")
    inner = (
        select(runs.c.fingerprint, runs.c.schedule_id, sent)
        .where(*where, runs.c.schedule_id.is_not(None))
        .group_by(runs.c.fingerprint, runs.c.schedule_id)
        .subquery()
    )
    place = func.row_number().over(
        partition_by=inner.c.fingerprint, order_by=(inner.c.letters.desc(), inner.c.schedule_id)
    )
    ranked = select(inner, place.label("place")).subquery()
    query = select(ranked).where(ranked.c.place <= MOST_SCHEDULES).order_by(ranked.c.fingerprint, ranked.c.place)
    rows = (await conn.execute(query)).all()
    names = await _names(conn, {row.schedule_id for row in rows})
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        found.setdefault(row.fingerprint, []).append((row.schedule_id, names.get(row.schedule_id, "")))
    return found


async def _names(conn: AsyncConnection, ids: set[str]) -> dict[str, str]:
    query = select(schedules.c.id, schedules.c.name).where(schedules.c.id.in_(sorted(ids)))
    return {row.id: row.name for row in await conn.execute(query)} if ids else {}


async def _arrivals(
    conn: AsyncConnection, sieve: RunConditions, where: Sequence[ColumnElement[bool]]
) -> dict[str, list[int]]:
    """Arrivals of each group in each of the last hours."""
    start = _first_hour(sieve)
    hour = (Elapsed(literal(start, Moment()), runs.c.finished_at) // _HOUR).label("hour")
    cells = select(runs.c.fingerprint, hour).where(*where, runs.c.finished_at >= start).subquery()
    query = select(*cells.c, func.count().label("letters")).group_by(*cells.c)
    found: dict[str, list[int]] = {}
    for row in await conn.execute(query):
        counted: list[Any] = found.setdefault(row.fingerprint, [0] * HOURS)
        if 0 <= int(row.hour) < HOURS:
            counted[int(row.hour)] += row.letters
    return found
