"""Lists of jobs, items of crawls, and the views of jobs of all tenants that are copied to MongoDB."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.engine.model.run import OPEN, RunState
from foliot.engine.model.run_sort import RunSort, RunSortKey
from foliot.engine.sql.run_items import RunItemsPage, read_items
from foliot.engine.sql.tables import runs, schedules, versions
from foliot.features.articles.sql.batches import article_ids, counts
from foliot.features.articles.tables import articles, items
from foliot.features.crawls.model import CRAWL, JobSubject, JobView

FIRST = 1
"""The position of the first article of a job."""

SORTED_BY: Mapping[RunSortKey, ColumnElement[Any]] = {
    RunSortKey.SCHEDULED_FOR: runs.c.scheduled_for,
    RunSortKey.STARTED_AT: runs.c.started_at,
    RunSortKey.DURATION: runs.c.took_us,
    RunSortKey.STATE: runs.c.state,
}
_RUN = (
    runs.c.id,
    runs.c.tenant_id,
    runs.c.user_id,
    runs.c.schedule_id,
    runs.c.kind,
    runs.c.state,
    runs.c.attempt,
    runs.c.scheduled_for,
    runs.c.created_at,
    runs.c.started_at,
    runs.c.finished_at,
    runs.c.event_seq,
    runs.c.handle,
    runs.c.error,
    runs.c.action,
    versions.c.action.label("standing"),
    schedules.c.next_at,
)


def _whole() -> Select[Any]:
    versioned = and_(versions.c.schedule_id == runs.c.schedule_id, versions.c.version == runs.c.version)
    both = runs.outerjoin(versions, versioned).outerjoin(schedules, schedules.c.id == runs.c.schedule_id)
    return select(*_RUN).select_from(both)


async def after(conn: AsyncConnection, kinds: Collection[str], run_id: str, limit: int) -> list[str]:
    """Ids of runs of these kinds, of all tenants, that were created after this one, oldest first."""
    query = select(runs.c.id).where(runs.c.id > run_id, runs.c.kind.in_(sorted(kinds)))
    return list((await conn.execute(query.order_by(runs.c.id).limit(limit))).scalars())


async def views(conn: AsyncConnection, dialect: Dialect, ids: Sequence[str]) -> list[JobView]:
    rows = (await conn.execute(_whole().where(dialect.among(runs.c.id, ids)).order_by(runs.c.id))).all()
    counted = await counts(conn, dialect, [row.id for row in rows]) if rows else {}
    return [
        _view(row, counted.get(row.id), await article_ids(conn, row.id) if row.id in counted else ()) for row in rows
    ]


def _view(row: Any, counted: Any, articles: Sequence[str]) -> JobView:
    config = row.action if row.action is not None else row.standing
    return JobView(
        id=row.id,
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        schedule_id=row.schedule_id,
        kind=row.kind,
        state=RunState(row.state),
        attempt=row.attempt,
        scheduled_for=row.scheduled_for,
        next_at=row.next_at,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        event_seq=row.event_seq,
        handle=row.handle if isinstance(row.handle, Mapping) else None,
        error=row.error if isinstance(row.error, Mapping) else None,
        config=config if isinstance(config, Mapping) else {},
        counts=counted,
        article_ids=articles,
    )


async def subjects(conn: AsyncConnection, dialect: Dialect, ids: Sequence[str]) -> dict[str, JobSubject]:
    """What each of these jobs is about, from its first URL."""
    versioned = and_(versions.c.schedule_id == runs.c.schedule_id, versions.c.version == runs.c.version)
    crawls = (
        select(runs.c.id, runs.c.action, versions.c.action.label("standing"))
        .select_from(runs.outerjoin(versions, versioned))
        .where(dialect.among(runs.c.id, ids), runs.c.kind == CRAWL)
    )
    about = {
        row.id: _crawled(row.action if row.action is not None else row.standing) for row in await conn.execute(crawls)
    }
    first = (
        select(items.c.run_id, items.c.source, articles.c.host)
        .join(articles, articles.c.id == items.c.article_id)
        .where(dialect.among(items.c.run_id, ids), items.c.position == FIRST)
    )
    about |= {row.run_id: JobSubject(row.host, source=row.source or None) for row in await conn.execute(first)}
    return about


def _crawled(action: Any) -> JobSubject:
    config = action if isinstance(action, Mapping) else {}
    urls = config.get("start_urls")
    urls = urls if isinstance(urls, list) else []
    spider, project = config.get("spider"), config.get("project")
    return JobSubject(
        urlsplit(str(urls[0])).hostname if urls else None,
        count=len(urls),
        spider=spider if isinstance(spider, str) else None,
        project=project if isinstance(project, str) else None,
    )


_ENDED = frozenset(state for state in RunState if state.final)


@dataclass(frozen=True, slots=True)
class SqlJobs(Statements):
    """Reads lists of jobs, and the items that a crawl produced."""

    async def items(self, tenant_id: str, run_id: str, attempt: int, skip: int, limit: int) -> RunItemsPage:
        """At most `limit` after the first `skip`; fewer when they are large, but never none while there are some."""
        return await read_items(self.conn, (tenant_id, run_id, attempt), skip, limit)

    async def find(
        self,
        tenant_id: str,
        kinds: Collection[str],
        states: Collection[RunState],
        limit: int,
        skip: int,
        sort: RunSort | None = None,
    ) -> tuple[list[str], int]:
        """Ids of runs of these kinds and states, newest first or in an order, and how many there are in all.

        Ended runs have an index of their own, and open ones are few: each part is queried by itself.

        One statement over both would read all of a tenant's runs, of every kind.
        """
        ended = [one for one in states if one.final]
        wanted = [self._ended(tenant_id, kinds, ended)] if ended else []
        wanted += [self._open(tenant_id, kinds, one) for one in sorted(set(states) & OPEN)]
        total = 0
        for where in wanted:
            total += await self.conn.scalar(select(func.count()).select_from(runs).where(*where)) or 0
        if sort is None or sort.key is RunSortKey.CREATED_AT:
            return (await self._first(wanted, runs.c.id, skip + limit, down=sort is None or sort.down))[skip:], total
        by = SORTED_BY[sort.key]
        there = [[*where, by.is_not(None)] for where in wanted]
        found = await self._first(there, by, skip + limit, down=sort.down)
        if len(found) < skip + limit:
            missing = [[*where, by.is_(None)] for where in wanted]
            found += await self._first(missing, runs.c.id, skip + limit - len(found), down=True)
        return found[skip:], total

    async def _first(
        self, ways: Sequence[Sequence[ColumnElement[bool]]], by: ColumnElement[Any], limit: int, *, down: bool
    ) -> list[str]:
        """The first ids of several disjoint parts, by a value; among equal values, newest first."""
        found: list[Any] = []
        for where in ways:
            first = select(runs.c.id, by.label("sorted_by")).where(*where)
            order = [by.desc() if down else by.asc(), *([] if by is runs.c.id else [runs.c.id.desc()])]
            found += (await self.conn.execute(first.order_by(*order).limit(limit))).all()
        found.sort(key=lambda row: str(row.id), reverse=True)
        found.sort(key=lambda row: row.sorted_by, reverse=down)
        return [row.id for row in found[:limit]]

    async def subjects(self, run_ids: Sequence[str]) -> dict[str, JobSubject]:
        """What each of these jobs of the tenant is about."""
        return await subjects(self.conn, self.dialect, run_ids) if run_ids else {}

    async def all_after(self, kinds: Collection[str], run_id: str, limit: int) -> list[str]:
        """As `after`, of all tenants."""
        return await after(self.conn, kinds, run_id, limit)

    async def views(self, run_ids: Sequence[str]) -> list[JobView]:
        """Views of these jobs, of all tenants, by id."""
        return await views(self.conn, self.dialect, run_ids)

    async def after(self, tenant_id: str, kinds: Collection[str], run_id: str, limit: int) -> list[str]:
        """Ids of runs of these kinds that were created after this one, oldest first, in any state."""
        where = (runs.c.tenant_id == tenant_id, runs.c.kind.in_(sorted(kinds)), runs.c.id > run_id)
        query = select(runs.c.id).where(*where).order_by(runs.c.id).limit(limit)
        return list((await self.conn.execute(query)).scalars())

    def _ended(self, tenant_id: str, kinds: Collection[str], states: Collection[RunState]) -> list[ColumnElement[bool]]:
        where = [runs.c.tenant_id == tenant_id, runs.c.kind.in_(sorted(kinds)), runs.c.finished_at.is_not(None)]
        if set(states) >= _ENDED:
            # A request for all states is answered by the index alone.
            return where
        return [*where, runs.c.state.in_(sorted(states))]

    def _open(self, tenant_id: str, kinds: Collection[str], state: RunState) -> list[ColumnElement[bool]]:
        # One state at a time: for several, SQLite would scan all of the tenant's runs in the requested order.
        return [runs.c.tenant_id == tenant_id, runs.c.state == state, runs.c.kind.in_(sorted(kinds))]
