"""Counts ended runs and instants without a run per time range, from the counts that are kept per quarter of an hour.

What lies beside whole quarters is counted by index-only scans of the runs: a quarter at each end.

Finds the schedules and runs that call a webhook target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import (
    CTE,
    ColumnElement,
    Integer,
    String,
    Text,
    and_,
    cast,
    column,
    func,
    literal,
    or_,
    select,
    type_coerce,
    values,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.clock import Elapsed
from foliot.db.dialects import Dialect
from foliot.db.metadata import Moment, moment_out
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.quarter_counts import LATE_RUNS, QUARTER, STEPS, TOOK, quarter
from foliot.engine.model.run import TEST, RunState
from foliot.engine.sql.tables import quarter_counts, runs, schedules, versions
from foliot.engine.sql.tenant_limits import BODY, HOLDS
from foliot.features.webhooks.model import LONGEST, WEBHOOK

Tiles = Sequence[tuple[datetime, datetime]]
"""Time ranges [start, end)."""
PlacedTiles = list[tuple[int, tuple[datetime, datetime]]]
"""Time ranges, each with the place of the tile that it belongs to."""
FIRST, LAST = datetime(1970, 1, 2, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)

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
    whole, parts = _quarters(tiles)
    found: Counter[tuple[int, RunState]] = Counter()
    for place, name, number in await _kept(conn, dialect, tenant_id, whole, [state.value for state in wanted]):
        found[place, RunState(name)] += number
    if parts:
        there = _tiles(dialect, [part for _, part in parts])
        made = (runs.c.created_at >= there.c.start, runs.c.created_at < there.c.until)
        columns = [_counted(dialect, tenant_id, state, *made).label(state.value) for state in wanted]
        for row in await conn.execute(select(there.c.n, *columns)):
            for state, count in zip(wanted, row[1:], strict=True):
                found[parts[row.n][0], state] += count
    return [(place, state, number) for (place, state), number in found.items() if number]


async def by_state(
    conn: AsyncConnection,
    dialect: Dialect,
    tenant_id: str,
    states: Collection[RunState],
    since: datetime | None,
    until: datetime | None,
) -> dict[RunState, int]:
    """How many ended runs there are of each of these states, created in [since, until)."""
    tile = (since or FIRST, until or LAST)
    if tile[0] >= tile[1]:
        return {}
    return {state: number for _, state, number in await by_tile(conn, dialect, tenant_id, [tile], states)}


async def unmade(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, tiles: Tiles
) -> list[tuple[int, LedgerKind, int]]:
    """How many instants made no run in each tile; one that begins within a quarter counts the whole of it."""
    whole = [(place, (quarter(start), end)) for place, (start, end) in enumerate(tiles)]
    # Only the first tile can begin within a quarter without the one before it ending there.
    whole[1:] = list(enumerate(tiles))[1:]
    names = [LedgerKind.MISSED.value, LedgerKind.SKIPPED.value]
    found = await _kept(conn, dialect, tenant_id, whole, names)
    return [(place, LedgerKind(name), number) for place, name, number in found if number]


async def durations(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, start: datetime, end: datetime, width: timedelta
) -> list[tuple[int, int | None, int]]:
    """How long ended runs took, by bucket of their creation: (bucket, lower bound in ms, runs), and with None instead
    of a bound how many of them were late. Start and width are whole quarters.
    """
    bucket = Elapsed(literal(start, Moment()), quarter_counts.c.at) // (width // timedelta(milliseconds=1))
    names = [LATE_RUNS, *(f"{TOOK}{bound}" for bound in STEPS)]
    mine = (
        quarter_counts.c.tenant_id == tenant_id,
        dialect.among(quarter_counts.c.name, names),
        quarter_counts.c.at >= start,
        quarter_counts.c.at < end,
    )
    cut = select(bucket.label("bucket"), quarter_counts.c.name, quarter_counts.c.value).where(*mine).subquery()
    query = select(cut.c.bucket, cut.c.name, func.sum(cut.c.value).label("value")).group_by(cut.c.bucket, cut.c.name)
    return [
        (int(row.bucket), None if row.name == LATE_RUNS else int(row.name.removeprefix(TOOK)), int(row.value))
        for row in await conn.execute(query)
        if row.value
    ]


def _quarters(tiles: Tiles) -> tuple[PlacedTiles, PlacedTiles]:
    """The whole quarters of each tile as one range, and what lies beside them; with the tile's place."""
    whole: PlacedTiles = []
    parts: PlacedTiles = []
    for place, (start, end) in enumerate(tiles):
        first, last = quarter(start + QUARTER - _TICK) if start > FIRST else start, quarter(end)
        if first >= last:
            parts.append((place, (start, end)))
            continue
        whole.append((place, (first, last)))
        parts += [(place, part) for part in ((start, first), (last, end)) if part[0] < part[1]]
    return whole, parts


async def _kept(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, whole: PlacedTiles, names: Sequence[str]
) -> list[tuple[int, str, int]]:
    """Sums of these counts in each range: (place, name, number)."""
    if not whole:
        return []
    there = _tiles(dialect, [tile for _, tile in whole])
    inside = (quarter_counts.c.at >= there.c.start, quarter_counts.c.at < there.c.until)
    mine = (quarter_counts.c.tenant_id == tenant_id, quarter_counts.c.name.in_(names))
    query = (
        select(there.c.n, quarter_counts.c.name, func.sum(quarter_counts.c.value).label("value"))
        .join_from(there, quarter_counts, and_(*mine, *inside))
        .group_by(there.c.n, quarter_counts.c.name)
    )
    return [(whole[row.n][0], row.name, int(row.value)) for row in await conn.execute(query)]


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


_HEAD = '{"url":"'
"""Webhooks are stored as JSON with the URL first, always formatted the same way."""
_ENDS = ('"', "?", "#")
"""What may follow an address: the end of the URL, its query, its fragment."""

MOST_VERSIONS = 5000
"""Versions of schedules that are listed by number; beyond that, the action of each run is read."""

Condition = ColumnElement[bool]


def goes_to(column: Any, addresses: Sequence[str]) -> Condition:
    """Whether the webhook in this column calls one of these addresses."""
    text = type_coerce(column, Text())
    return or_(*(_goes(text, address) for address in addresses))


def _goes(text: Any, address: str) -> Condition:
    scheme, _, rest = address.partition("://")
    host, slash, beyond = rest.partition("/")
    origin, path = f"{_HEAD}{scheme}://{host}", f"{slash}{beyond}"
    kept = orjson.dumps(path).decode()[1:-1]
    after = len(origin) + 1
    # An address holds only the beginning of a longer path.
    ends = [kept] if len(path) >= LONGEST else [f"{kept}{end}" for end in _ENDS]
    follows: Condition = func.substr(text, after, len(ends[0])).in_(ends)
    if path == "/":
        follows = or_(follows, func.substr(text, after, 1).in_(_ENDS))
    # Host names are case-insensitive, paths are not.
    return and_(func.lower(func.substr(text, 1, len(origin))) == origin, follows)


def tests() -> Condition:
    """Test requests to a target: they are marked at the end of their action."""
    marked = type_coerce(runs.c.action, Text()).like(f'%,"{TEST}":true}}')
    return and_(runs.c.kind == WEBHOOK, runs.c.schedule_id.is_(None), marked)


@dataclass(frozen=True, slots=True)
class TargetCallers:
    """The schedules that call a target. Read before the runs: actions can be large, and runs many."""

    always: Sequence[str]
    """Schedules that never called another."""
    versions: Mapping[str, Sequence[int]]
    """Of the others, the versions that call this one."""


async def callers(
    conn: AsyncConnection, dialect: Dialect, tenant_id: str, addresses: Sequence[str]
) -> TargetCallers | None:
    """Schedules that call one of these addresses, or once did; deleted ones too. None: there are too many to list."""
    mine = schedules.join(versions, versions.c.schedule_id == schedules.c.id)
    query = select(versions.c.schedule_id, versions.c.version).select_from(mine)
    query = query.join(BODY, HOLDS).where(schedules.c.tenant_id == tenant_id, goes_to(BODY.c.action, addresses))
    found: dict[str, list[int]] = {}
    rows = (await conn.execute(query.limit(MOST_VERSIONS + 1))).all()
    if len(rows) > MOST_VERSIONS:
        return None
    for schedule_id, version in rows:
        found.setdefault(schedule_id, []).append(version)
    counted = select(versions.c.schedule_id, func.count()).where(dialect.among(versions.c.schedule_id, list(found)))
    every: dict[str, int] = {}
    if found:
        every = {row[0]: row[1] for row in await conn.execute(counted.group_by(versions.c.schedule_id))}
    always = [one for one, numbers in found.items() if len(numbers) == every.get(one)]
    return TargetCallers(always, {one: numbers for one, numbers in found.items() if len(numbers) != every.get(one)})


def went_to(dialect: Dialect, known: TargetCallers | None, addresses: Sequence[str]) -> Condition:
    """Whether a run called it: by its own action, or by that version of its schedule."""
    by_schedule = and_(runs.c.action.is_(None), _sent(dialect, known, addresses))
    return and_(runs.c.kind == WEBHOOK, or_(by_schedule, goes_to(runs.c.action, addresses)))


def _sent(dialect: Dialect, known: TargetCallers | None, addresses: Sequence[str]) -> Condition:
    if known is None:
        then = (
            select(versions.c.version)
            .join(BODY, HOLDS)
            .where(
                versions.c.schedule_id == runs.c.schedule_id,
                versions.c.version == runs.c.version,
                goes_to(BODY.c.action, addresses),
            )
        )
        return then.exists()
    found = dialect.among(runs.c.schedule_id, known.always)
    if known.versions:
        pairs = [f"{one}:{number}" for one, numbers in known.versions.items() for number in numbers]
        pair = runs.c.schedule_id + ":" + cast(runs.c.version, String(12))
        found = or_(found, and_(dialect.among(runs.c.schedule_id, list(known.versions)), dialect.among(pair, pairs)))
    return found
