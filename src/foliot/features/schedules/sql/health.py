"""How the newest runs of each schedule ended and how long they took: one statement, one row for each schedule."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.elapsed import Elapsed
from foliot.engine.sql.tables import runs
from foliot.features.schedules.model.health import BAD, GOOD
from foliot.features.schedules.model.ranking import SLOW, Record, two_digits


async def fared(conn: AsyncConnection, made: Sequence[ColumnElement[bool]], most: int) -> list[Record]:
    """Of the runs that meet these conditions, the newest."""
    newest = (
        select(runs.c.schedule_id, runs.c.state, Elapsed(runs.c.started_at, runs.c.finished_at).label("took"))
        .where(*made, runs.c.schedule_id.is_not(None), runs.c.state.in_(sorted(GOOD | BAD)))
        .order_by(runs.c.id.desc())
        .limit(most)
        .subquery()
    )
    mine = newest.c.schedule_id
    # What never began has no duration, and stands behind those that have.
    order = (case((newest.c.took.is_(None), 1), else_=0), newest.c.took)
    placed = select(
        *newest.c,
        func.row_number().over(partition_by=mine, order_by=order).label("place"),
        func.count(newest.c.took).over(partition_by=mine).label("timed"),
    ).subquery()
    slow = and_(placed.c.took.is_not(None), placed.c.place * 100 >= placed.c.timed * round(SLOW * 100))
    query = select(
        placed.c.schedule_id,
        func.count().label("runs"),
        func.sum(case((placed.c.state.in_(sorted(BAD)), 1), else_=0)).label("bad"),
        func.min(case((slow, placed.c.took))).label("p95"),
    ).group_by(placed.c.schedule_id)
    return [
        Record(row.schedule_id, row.runs, int(row.bad), None if row.p95 is None else two_digits(int(row.p95)))
        for row in await conn.execute(query)
    ]
