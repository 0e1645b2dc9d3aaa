"""Statement texts that write a whole batch, and the values in the form that each driver takes.

Several statements in one round trip, for databases that cannot combine them into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import BigInteger, Boolean, Double, Integer, SmallInteger, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.metadata import Document, Moment, moment_out

Columns = Mapping[str, Any]
"""Values by column: a batch is passed column by column."""


class Change(NamedTuple):
    """A batch of rows to update, or without keys to insert; `conflict` is a name below and belongs to inserts."""

    table: Table
    keys: Columns
    values: Columns
    conflict: str = ""


SMALL = 8
"""Smaller batches are sent as they are: fewer statement texts to plan."""


KEEPS = "keeps"
"""The key in a table's `info` under which it declares its previous values."""


@dataclass(frozen=True, slots=True)
class KeptColumns:
    """Columns that keep previous values, so that a writer of the watched columns need not read them first."""

    once: str
    """Nothing is kept before this column has a value."""
    watched: tuple[str, ...]
    kept: Mapping[str, str]
    """Source and destination columns, copied as soon as a watched column changes."""


def _keeping(table: Table, told: Mapping[str, str], row: str, unlike: str) -> list[str]:
    """The assignments that do so. They come first: MariaDB may assign from left to right."""
    keeps: KeptColumns | None = table.info.get(KEEPS)
    if keeps is None or not told.keys() >= set(keeps.watched):
        return []
    changed = " OR ".join(unlike.format(f"{row}{name}", told[name]) for name in keeps.watched)
    case = f"CASE WHEN {row}{keeps.once} IS NOT NULL AND ({changed}) THEN {row}{{0}} ELSE {row}{{1}} END"
    return [f"{into} = {case.format(name, into)}" for name, into in keeps.kept.items()]


def joined(names: Sequence[str], prefix: str = "") -> str:
    return ", ".join(f"{prefix}{name}" for name in names)


def _pg_type(table: Table, name: str) -> str:
    kind = table.c[name].type
    if isinstance(kind, Moment):
        return "timestamptz"
    if isinstance(kind, Boolean):
        return "bool"
    if isinstance(kind, BigInteger):
        return "int8"
    if isinstance(kind, Integer | SmallInteger):
        return "int4"
    if isinstance(kind, Double):
        return "float8"
    return "bytea" if kind.__class__.__name__ == "LargeBinary" else "text"


def alike(lists: Sequence[list[Any]]) -> tuple[bool, ...]:
    """Columns with one value throughout the batch: it is sent once instead of a thousand times."""
    count = len(lists[0])
    if count < SMALL:
        return (False,) * len(lists)
    # Identity is compared first, so values that are the same object cost next to nothing.
    return tuple(values.count(values[0]) == count for values in lists)


def sent(lists: Sequence[list[Any]], alike: tuple[bool, ...]) -> tuple[Any, ...]:
    return tuple(values[0] if one else values for values, one in zip(lists, alike, strict=True))


def _pg_parameters(
    table: Table, names: Sequence[str], alike: tuple[bool, ...], first: int = 1
) -> tuple[list[str], str]:
    """How each column is named in the statement, and the arrays that it reads from."""
    told, arrays, aliases = [], [], []
    for at, (name, one) in enumerate(zip(names, alike, strict=True), first):
        kind = _pg_type(table, name)
        if one:
            told.append(f"${at}::{kind}")
        else:
            told.append(f"d.c{at}")
            arrays.append(f"${at}::{kind}[]")
            aliases.append(f"c{at}")
    return told, f"unnest({', '.join(arrays)}) AS d({', '.join(aliases)})"


_NEWEST = ("state", "ended_at", "took_ms", "failing_at", "run_id")
"""What a run that is newer than the one before leaves of itself; its id last, for MariaDB assigns left to right."""
_PG_CONFLICT = {
    "": "",
    "ignore": " ON CONFLICT DO NOTHING",
    "add": " ON CONFLICT (schedule_id, first_at, fate) DO UPDATE"
    " SET last_at = excluded.last_at, count = ledger.count + excluded.count",
    "grow": " ON CONFLICT (tenant_id, slot) DO UPDATE SET bytes = stored.bytes + excluded.bytes",
    "sum": " ON CONFLICT (name, slot) DO UPDATE SET value = tallies.value + excluded.value",
    "count": " ON CONFLICT (tenant_id, name, at, slot) DO UPDATE SET value = quarter_counts.value + excluded.value",
    "newest": " ON CONFLICT (schedule_id) DO UPDATE SET "
    + ", ".join(
        f"{name} = CASE WHEN excluded.run_id > schedule_stats.run_id"
        f" THEN excluded.{name} ELSE schedule_stats.{name} END"
        for name in _NEWEST
    )
    + ", flaky = NULLIF(coalesce(schedule_stats.flaky, 0) * 9 / 10 + coalesce(excluded.flaky, 0), 0)"
    ", slow = CASE WHEN excluded.slow >= schedule_stats.slow THEN excluded.slow ELSE schedule_stats.slow - 1 END",
    "later": " ON CONFLICT (schedule_id) DO UPDATE"
    " SET missed_at = CASE WHEN schedule_stats.missed_at > excluded.missed_at"
    " THEN schedule_stats.missed_at ELSE excluded.missed_at END",
    "replace": " ON CONFLICT (id) DO UPDATE"
    " SET role = excluded.role, seen_at = excluded.seen_at, report = excluded.report",
}
_MARIA_CONFLICT = {
    "": "",
    "ignore": " ON DUPLICATE KEY UPDATE {first} = {first}",
    # `count` must come first: assignments are made left to right.
    "add": " ON DUPLICATE KEY UPDATE count = count + VALUES(count), last_at = VALUES(last_at)",
    "grow": " ON DUPLICATE KEY UPDATE bytes = bytes + VALUES(bytes)",
    "sum": " ON DUPLICATE KEY UPDATE value = value + VALUES(value)",
    "count": " ON DUPLICATE KEY UPDATE value = value + VALUES(value)",
    "newest": " ON DUPLICATE KEY UPDATE flaky = NULLIF(coalesce(flaky, 0) * 9 DIV 10 + coalesce(VALUES(flaky), 0), 0)"
    ", slow = IF(VALUES(slow) >= slow, VALUES(slow), slow - 1), "
    + ", ".join(f"{name} = IF(VALUES(run_id) > run_id, VALUES({name}), {name})" for name in _NEWEST),
    "later": " ON DUPLICATE KEY UPDATE missed_at = IF(missed_at > VALUES(missed_at), missed_at, VALUES(missed_at))",
    "replace": " ON DUPLICATE KEY UPDATE role = VALUES(role), seen_at = VALUES(seen_at), report = VALUES(report)",
}


@lru_cache(maxsize=256)
def pg_insert(table: Table, names: tuple[str, ...], alike: tuple[bool, ...], conflict: str) -> str:
    told, rows = _pg_parameters(table, names, alike)
    made = f"SELECT {', '.join(told)} FROM {rows}"  # noqa: S608 -- names are ours
    return f"INSERT INTO {table.name} ({joined(names)}) {made}{_PG_CONFLICT[conflict]}"


@lru_cache(maxsize=256)
def pg_insert_new(table: Table, names: tuple[str, ...], mark: str) -> str:
    """Returns the column `mark` of the rows that were inserted."""
    return f"{pg_insert(table, names, (False,) * len(names), 'ignore')} RETURNING {mark}"


@lru_cache(maxsize=256)
def pg_insert_all(shapes: tuple[tuple[Table, tuple[str, ...], tuple[bool, ...], str], ...]) -> str:
    """Several batches in one statement, each with its own conflict rule; they are executed in one fixed order."""
    parts, first = [], 1
    for table, names, same, conflict in shapes:
        told, rows_here = _pg_parameters(table, names, same, first)
        first += len(told)
        made = f"SELECT {', '.join(told)} FROM {rows_here}"  # noqa: S608 -- names are ours
        parts.append(f"INSERT INTO {table.name} ({joined(names)}) {made}{_PG_CONFLICT[conflict]}")
    return f"WITH {', '.join(f'w{at} AS ({part})' for at, part in enumerate(parts))} SELECT 1"


def _pg_moved(table: Table, keys: Sequence[str], values: Sequence[str], told: Sequence[str]) -> tuple[str, str]:
    """What an update assigns, and where."""
    made = dict(zip(values, told[len(keys) :], strict=True))
    keeping = _keeping(table, made, "t.", "{0} IS DISTINCT FROM {1}")
    where = " AND ".join(f"t.{name} = {one}" for name, one in zip(keys, told, strict=False))
    return ", ".join([*keeping, *(f"{name} = {one}" for name, one in made.items())]), where


@lru_cache(maxsize=256)
def pg_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...], alike: tuple[bool, ...]) -> str:
    told, rows = _pg_parameters(table, keys + values, alike)
    assign, where = _pg_moved(table, keys, values, told)
    return f"UPDATE {table.name} t SET {assign} FROM {rows} WHERE {where}"  # noqa: S608 -- names are ours


Shape = tuple[Table, tuple[str, ...], tuple[str, ...], tuple[bool, ...]]
"""The cache key of a batch statement's text: table, keys, values, and which columns are constant."""


@lru_cache(maxsize=256)
def pg_update_and_insert(moved: Shape, made: Shape) -> str:
    """Both in one statement, the second only if the first matched as many rows as the last parameter says.

    Returns how many it matched.
    """
    table, keys, values, same = moved
    other, _, names, same_there = made
    told, rows_here = _pg_parameters(table, keys + values, same)
    assign, where = _pg_moved(table, keys, values, told)
    told_there, rows_there = _pg_parameters(other, names, same_there, len(told) + 1)
    return (
        f"WITH moved AS (UPDATE {table.name} t SET {assign} FROM {rows_here} WHERE {where} RETURNING 1), "  # noqa: S608 -- names are ours
        f"made AS (INSERT INTO {other.name} ({joined(names)}) SELECT {', '.join(told_there)} FROM {rows_there} "
        f"WHERE (SELECT count(*) FROM moved) = ${len(told) + len(told_there) + 1}::int8) "
        "SELECT count(*) FROM moved"
    )


@lru_cache(maxsize=256)
def _pg_changes(shapes: tuple[Shape, ...], conflicts: tuple[str, ...]) -> str:
    """All of these in one statement; a shape without keys is an insert."""
    parts, first, updates = [], 1, dict[str, int]()
    for at, ((table, keys, values, same), conflict) in enumerate(zip(shapes, conflicts, strict=True)):
        told, rows_here = _pg_parameters(table, keys + values, same, first)
        first += len(told)
        if keys:
            assign, where = _pg_moved(table, keys, values, told)
            parts.append(f"UPDATE {table.name} t SET {assign} FROM {rows_here} WHERE {where} RETURNING 1")  # noqa: S608 -- names are ours
            updates[table.name] = at
        else:
            # Parts run in no particular order unless one reads another: a row that an update frees is inserted after.
            after = f" WHERE (SELECT count(*) FROM w{updates[table.name]}) >= 0" if table.name in updates else ""  # noqa: S608 -- names are ours
            made = f"SELECT {', '.join(told)} FROM {rows_here}{after}"  # noqa: S608 -- names are ours
            parts.append(f"INSERT INTO {table.name} ({joined(values)}) {made}{_PG_CONFLICT[conflict]}")
    before = ", ".join(f"w{at} AS ({part})" for at, part in enumerate(parts[:-1]))
    return f"WITH {before} {parts[-1]}" if before else parts[-1]


def pg_changes(changes: Sequence[Change]) -> tuple[str, tuple[Any, ...]]:
    """One statement for all of these, and its parameters."""
    shapes: list[Shape] = []
    parameters: list[Any] = []
    for table, keys, values, _ in changes:
        found, lists = converted("postgresql", table, keys), converted("postgresql", table, values)
        # Keys stay arrays, as in an update alone.
        same = (False,) * len(found) + alike(lists)
        shapes.append((table, tuple(keys), tuple(values), same))
        parameters += sent(found + lists, same)
    return _pg_changes(tuple(shapes), tuple(change.conflict for change in changes)), tuple(parameters)


@lru_cache(maxsize=256)
def lite_insert(table: Table, names: tuple[str, ...], conflict: str) -> str:
    return f"INSERT INTO {table.name} ({joined(names)}) VALUES ({joined(['?'] * len(names))}){_PG_CONFLICT[conflict]}"  # noqa: S608 -- names are ours


@lru_cache(maxsize=256)
def lite_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    # Numbered: a value may occur twice.
    told = {name: f"?{at}" for at, name in enumerate(values, 1)}
    keeping = _keeping(table, told, "", "{0} IS NOT {1}")
    assign = ", ".join([*keeping, *(f"{name} = {one}" for name, one in told.items())])
    where = " AND ".join(f"{name} = ?{at}" for at, name in enumerate(keys, len(values) + 1))
    return f"UPDATE {table.name} SET {assign} WHERE {where}"  # noqa: S608 -- names are ours


def maria_insert(
    table: Table, names: tuple[str, ...], made: Sequence[Sequence[Any]], conflict: str
) -> tuple[str, tuple[Any, ...]]:
    """One statement with all rows: the driver would split a large executemany."""
    marks = ", ".join(["(" + ", ".join(["%s"] * len(names)) + ")"] * len(made))
    rule = _MARIA_CONFLICT[conflict].format(first=names[0])
    sql = f"INSERT INTO {table.name} ({joined(names)}) VALUES {marks}{rule}"  # noqa: S608 -- names are ours
    return sql, tuple(value for row in made for value in row)


def maria_updated(table: Table, keys: Columns, values: Columns) -> tuple[str, tuple[Any, ...]]:
    """The batch is one parameter."""
    made = zip(*converted("json", table, keys), *converted("json", table, values), strict=True)
    return _maria_update(table, tuple(keys), tuple(values)), (orjson.dumps(list(made)).decode(),)


def maria_change(change: Change) -> tuple[str, tuple[Any, ...]]:
    table, keys, values, conflict = change
    if keys:
        return maria_updated(table, keys, values)
    return maria_insert(table, tuple(values), rows("mysql", table, values), conflict)


@lru_cache(maxsize=256)
def _maria_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    parts = [*((f"k{at}", name) for at, name in enumerate(keys)), *((f"v{at}", name) for at, name in enumerate(values))]
    made = ", ".join(f"{alias} {_maria_type(table, name)} PATH '$[{at}]'" for at, (alias, name) in enumerate(parts))
    where = " AND ".join(f"t.{name} = d.k{at}{_maria_collate(table, name)}" for at, name in enumerate(keys))
    told = {name: f"d.v{at}" for at, name in enumerate(values)}
    keeping = _keeping(table, told, "t.", "NOT {0} <=> {1} COLLATE utf8mb4_bin")
    assign = ", ".join([*keeping, *(f"t.{name} = {one}" for name, one in told.items())])
    batch = f"JSON_TABLE(%s, '$[*]' COLUMNS ({made})) d"
    if keys[0] == next(iter(table.primary_key)).name:
        # The batch drives the join and the key finds each row: starting with a small table would lock all of its rows.
        both = f"{batch} STRAIGHT_JOIN {table.name} t FORCE INDEX (PRIMARY)"
    else:
        both = f"{table.name} t JOIN {batch}"
    return f"UPDATE {both} ON {where} SET {assign}"  # noqa: S608 -- names are ours


def _maria_collate(table: Table, name: str) -> str:
    kind = table.c[name].type
    return "" if isinstance(kind, Moment | Boolean | Integer | SmallInteger | BigInteger) else " COLLATE utf8mb4_bin"


def _maria_type(table: Table, name: str) -> str:
    kind = table.c[name].type
    if isinstance(kind, Moment):
        return "DATETIME(6)"
    if isinstance(kind, Boolean | Integer | SmallInteger | BigInteger):
        return "BIGINT"
    length = getattr(kind, "length", None)
    return f"VARCHAR({length}) CHARACTER SET utf8mb4" if length else "MEDIUMTEXT CHARACTER SET utf8mb4"


def converted(dialect: str, table: Table, columns: Columns) -> list[list[Any]]:
    return [_convert(dialect, table.c[name].type, values) for name, values in columns.items()]


def _convert(dialect: str, kind: Any, values: Sequence[Any]) -> list[Any]:
    """Driver values for a whole column; values that the driver accepts are passed through."""
    if isinstance(kind, Moment) and dialect != "postgresql":
        form = "sqlite" if dialect == "json" else dialect
        return [None if value is None else moment_out(form, value) for value in values]
    if isinstance(kind, Document):
        return [None if value is None else orjson.dumps(value).decode() for value in values]
    if isinstance(kind, Boolean) and dialect != "postgresql":
        return [None if value is None else int(value) for value in values]
    return list(values)


def rows(dialect: str, table: Table, columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*converted(dialect, table, columns), strict=True))


Prepared = tuple[str, Sequence[tuple[Any, ...]]]
"""A statement, and the rows that it is executed with."""

SHORT = 1024 * 1024
"""Characters of a block's values: a server refuses packets that are larger than its `max_allowed_packet`."""


async def in_one_hop(conn: AsyncConnection, statements: Sequence[Prepared]) -> None:
    """SQLite: all of these in one visit to the connection's thread; SQLAlchemy makes four for each statement."""
    # The transaction has begun: our listener sends BEGIN when SQLAlchemy begins one.
    raw = await conn.get_raw_connection()
    driver: Any = raw.driver_connection

    def execute() -> None:
        connection = driver._conn  # noqa: SLF001 -- the connection itself, in its own thread
        for sql, rows in statements:
            connection.executemany(sql, rows)

    try:
        await driver._execute(execute)  # noqa: SLF001 -- what every public method of aiosqlite calls
    except conn.dialect.loaded_dbapi.Error as error:
        wrapped = DBAPIError.instance(
            "; ".join(sql for sql, _ in statements), None, error, conn.dialect.loaded_dbapi.Error, hide_parameters=True
        )
        raise wrapped from error


async def in_one_block(conn: AsyncConnection, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
    """MariaDB: a compound statement, whose error is that of the statement that failed; MySQL has none."""
    parameters = tuple(value for _, values in statements for value in values)
    short = sum(len(value) for value in parameters if isinstance(value, str)) <= SHORT
    if short and len(statements) > 1 and getattr(conn.dialect, "is_mariadb", False):
        block = "".join(f"{sql}; " for sql, _ in statements)
        await conn.exec_driver_sql(f"BEGIN NOT ATOMIC {block}END", parameters)
        return
    for sql, values in statements:
        await conn.exec_driver_sql(sql, values)
