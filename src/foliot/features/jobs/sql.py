"""Jobs of all tenants as a sink copies them: found by their ids, which sort by time, with what each was told to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import runs, schedules, versions
from foliot.features.articles.sql.batches import article_ids, counts
from foliot.features.crawls.model.job import JobView

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
    """Ids of runs of these kinds that were made after this one, the oldest first, whosever they are."""
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
