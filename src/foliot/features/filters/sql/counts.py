"""Counts runs and ledger entries per time range by index-only scans, so that a million of them are counted quickly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import CTE, ColumnElement, Integer, cast, column, func, literal, select, type_coerce, values
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.columns import Moment, moment_out
from foliot.db.dialects import Dialect
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import ledger, runs

Tiles = Sequence[tuple[datetime, datetime]]
"""Time ranges [start, end)."""

ENDED = tuple(state for state in RunState if state.final)


def cut(start: datetime, end: datetime, width: timedelta) -> list[tuple[datetime, datetime]]:
    """A time range in tiles of one width; the last one may be shorter."""
    count = -((start - end) // width)
    return [(start + place * width, min(start + (place + 1) * width, end)) for place in range(count)]


async def by_tile(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, tiles: Tiles, states: Collection[RunState] = ENDED
) -> list[tuple[int, RunState, int]]:
    """How many ended runs were created in each tile, by state; tiles without any are left out."""
    wanted = [state for state in ENDED if state in states]
    if not wanted or not tiles:
        return []
    there = _tiles(dialect, tiles)
    made = (runs.c.created_at >= there.c.start, runs.c.created_at < there.c.until)
    columns = [_counted(dialect, tenant_id, state, *made).label(state.value) for state in wanted]
    found = await conn.execute(select(there.c.n, *columns))
    return [(row.n, state, count) for row in found for state, count in zip(wanted, row[1:], strict=True) if count]


async def by_state(
    conn: AsyncConnection,
    dialect: Dialect,
    tenant_id: str,
    states: Collection[RunState],
    since: datetime | None,
    until: datetime | None,
) -> dict[RunState, int]:
    """How many ended runs there are of each of these states, created in [since, until)."""
    wanted = [state for state in ENDED if state in states]
    if not wanted:
        return {}
    made = [] if since is None else [runs.c.created_at >= since]
    made += [] if until is None else [runs.c.created_at < until]
    row = (await conn.execute(select(*(_counted(dialect, tenant_id, state, *made) for state in wanted)))).one()
    return {state: count for state, count in zip(wanted, row, strict=True) if count}


async def unmade(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, tiles: Tiles
) -> list[tuple[int, LedgerKind, int]]:
    """How many instants made no run in each tile: only ranges that lie within one."""
    there = _tiles(dialect, tiles)
    within = (ledger.c.last_at >= there.c.start, ledger.c.last_at < there.c.until, ledger.c.first_at >= there.c.start)
    fates = (LedgerKind.MISSED, LedgerKind.SKIPPED)
    columns = [
        select(func.sum(ledger.c["count"])).where(ledger.c.tenant_id == tenant_id, *within, ledger.c.fate == fate)
        for fate in fates
    ]
    found = await conn.execute(select(there.c.n, *(one.scalar_subquery() for one in columns)))
    return [(row.n, fate, int(count)) for row in found for fate, count in zip(fates, row[1:], strict=True) if count]


def _counted(dialect: Dialect, tenant_id: str, state: RunState, *made: ColumnElement[bool]) -> Any:
    mine = [runs.c.tenant_id == tenant_id, runs.c.state == state, *made]
    if dialect.partial:
        # Redundant with the state, but it selects the partial index, which has ended runs only.
        mine.append(runs.c.finished_at.is_not(None))
    return select(func.count()).select_from(runs).where(*mine).scalar_subquery()


def _tiles(dialect: Dialect, tiles: Tiles) -> CTE:
    """As a table expression, so that one statement reads all; its text does not depend on their number, if possible."""
    match dialect.name:
        case "postgresql":
            ends = [literal([tile[end] for tile in tiles], ARRAY(Moment())) for end in (0, 1)]
            columns = (column("start", Moment()), column("until", Moment()))
            rows = func.unnest(*ends).table_valued(*columns, with_ordinality="n").render_derived("tile")
            # Its ordinals begin with 1.
            made = select((rows.c.n - 1).label("n"), rows.c.start, rows.c.until)
        case "sqlite":
            texts = [[moment_out("sqlite", end) for end in tile] for tile in tiles]
            each = func.json_each(orjson.dumps(texts).decode()).table_valued("key", "value", name="tile")
            start, until = (type_coerce(func.json_extract(each.c.value, f"$[{end}]"), Moment()) for end in (0, 1))
            made = select(cast(each.c.key, Integer).label("n"), start.label("start"), until.label("until"))
        case _:
            named = values(column("n", Integer), column("start", Moment()), column("until", Moment()), name="tiles")
            return named.data([(place, *tile) for place, tile in enumerate(tiles)]).cte("tiles")
    return made.cte("tiles")
