"""Statement texts that write a whole batch, and the values in the form that each driver takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import BigInteger, Boolean, Integer, SmallInteger, Table

from foliot.db.columns import Document, Moment, moment_out

Columns = Mapping[str, Any]
"""Values by column: a batch is passed column by column."""

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


_PG_CONFLICT = {
    "": "",
    "ignore": " ON CONFLICT DO NOTHING",
    "keep": " ON CONFLICT DO NOTHING",
    "add": " ON CONFLICT (schedule_id, first_at, fate) DO UPDATE"
    " SET last_at = excluded.last_at, count = ledger.count + excluded.count",
    "grow": " ON CONFLICT (tenant_id, slot) DO UPDATE SET bytes = stored.bytes + excluded.bytes",
    "sum": " ON CONFLICT (name, slot) DO UPDATE SET value = tallies.value + excluded.value",
    "replace": " ON CONFLICT (id) DO UPDATE"
    " SET role = excluded.role, seen_at = excluded.seen_at, report = excluded.report",
}
MARIA_CONFLICT = {
    "": "",
    "ignore": " ON DUPLICATE KEY UPDATE tenant_id = tenant_id",
    # The same for a table without tenants.
    "keep": " ON DUPLICATE KEY UPDATE host = host",
    # `count` must come first: assignments are made left to right.
    "add": " ON DUPLICATE KEY UPDATE count = count + VALUES(count), last_at = VALUES(last_at)",
    "grow": " ON DUPLICATE KEY UPDATE bytes = bytes + VALUES(bytes)",
    "sum": " ON DUPLICATE KEY UPDATE value = value + VALUES(value)",
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
def pg_insert_both(table: Table, names: tuple[str, ...], other: Table, more: tuple[str, ...]) -> str:
    """Two batches in one statement."""
    told, rows_here = _pg_parameters(table, names, (False,) * len(names))
    told_there, rows_there = _pg_parameters(other, more, (False,) * len(more), len(names) + 1)
    return (
        f"WITH made AS (INSERT INTO {table.name} ({joined(names)}) SELECT {', '.join(told)} FROM {rows_here}) "  # noqa: S608 -- names are ours
        f"INSERT INTO {other.name} ({joined(more)}) SELECT {', '.join(told_there)} FROM {rows_there}"
    )


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
def _pg_changes(shapes: tuple[Shape, ...]) -> str:
    """All of these in one statement; a shape without keys is an insert."""
    parts, first = [], 1
    for table, keys, values, same in shapes:
        told, rows_here = _pg_parameters(table, keys + values, same, first)
        first += len(told)
        if keys:
            assign, where = _pg_moved(table, keys, values, told)
            parts.append(f"UPDATE {table.name} t SET {assign} FROM {rows_here} WHERE {where}")  # noqa: S608 -- names are ours
        else:
            parts.append(f"INSERT INTO {table.name} ({joined(values)}) SELECT {', '.join(told)} FROM {rows_here}")  # noqa: S608 -- names are ours
    before = ", ".join(f"w{at} AS ({part})" for at, part in enumerate(parts[:-1]))
    return f"WITH {before} {parts[-1]}" if before else parts[-1]


def pg_changes(changes: Sequence[tuple[Table, Columns, Columns]]) -> tuple[str, tuple[Any, ...]]:
    """One statement for all of these, table, keys and values each, and its parameters."""
    shapes: list[Shape] = []
    parameters: list[Any] = []
    for table, keys, values in changes:
        found, lists = converted("postgresql", table, keys), converted("postgresql", table, values)
        # Keys stay arrays, as in an update alone.
        same = (False,) * len(found) + alike(lists)
        shapes.append((table, tuple(keys), tuple(values), same))
        parameters += sent(found + lists, same)
    return _pg_changes(tuple(shapes)), tuple(parameters)


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


@lru_cache(maxsize=256)
def maria_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...]) -> str:
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
