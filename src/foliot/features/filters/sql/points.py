"""Queries of the scatter plot: creation time and duration of single runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import and_, case, func, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.clock import Elapsed
from foliot.db.metadata import Moment
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import runs
from foliot.features.filters.model import RunColumns
from foliot.features.filters.sql.runs import Condition, RunConditions

_tail = func.substr(runs.c.id, 33, 4)
"""The last four digits of an id are random, so that a range of them is a fair sample, and the same one every time."""
_TAILS = 16**4


async def begun(conn: AsyncConnection, sieve: RunConditions) -> dict[RunState, tuple[int, int]]:
    """How many there are in each state, and how many of them have begun."""
    counted = select(runs.c.state, func.count(), func.count(runs.c.started_at))
    found = await conn.execute(counted.where(*sieve.where()).group_by(runs.c.state))
    return {RunState(state): (number, started) for state, number, started in found}


async def points(
    conn: AsyncConnection, sieve: RunConditions, start: datetime, shares: Mapping[RunState, float]
) -> RunColumns:
    """A share of the runs in each state; for running ones, the duration so far."""
    drawn = [_share(state, share) for state, share in shares.items() if share > 0]
    if not drawn:
        return RunColumns()
    until = func.coalesce(runs.c.finished_at, literal(sieve.now, Moment()))
    took = Elapsed(runs.c.started_at, until)
    query = select(
        runs.c.id,
        Elapsed(literal(start, Moment()), runs.c.created_at).label("at"),
        case((took < 0, 0), else_=took).label("took"),
        runs.c.state,
    ).where(*sieve.where(), runs.c.started_at.is_not(None), or_(*drawn))
    rows = (await conn.execute(query)).all()
    if not rows:
        return RunColumns()
    ids, at, took_ms, states = zip(*rows, strict=True)
    return RunColumns(ids, [int(one) for one in at], [int(one) for one in took_ms], states)


def _share(state: RunState, share: float) -> Condition:
    mine = runs.c.state == state
    return mine if share >= 1 else and_(mine, drawn(share))


def drawn(share: float) -> Condition:
    """A random sample, always the same one."""
    return _tail < f"{int(share * _TAILS):04x}"
