"""What differs between the databases; everything else is common SQL.

Six questions: how to connect, how a transaction begins, what time it is, how rows are locked, how many rows are
inserted at once, and how many rows are updated at once, each with values of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Integer,
    Select,
    SmallInteger,
    Table,
    Text,
    bindparam,
    event,
    func,
    text,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool
from sqlalchemy.sql import literal_column

from foliot.store.columns import Document, Moment, moment_out

Columns = Mapping[str, Any]
"""Values by column: the shape in which a whole batch travels."""

S = TypeVar("S", bound=Select[Any])

STATEMENT_TIMEOUT = 10
IDLE_WRITER = 2
"""A frozen process must not hide the rows it locked."""
IDLE_READER = 60
"""Whoever only looks locks nothing, and may think between two looks."""
CONNECT_TIMEOUT = 5
SMALL = 8
"""Batches below this are sent as they are: fewer texts to plan."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Where writes and reads go; the same engine unless the database has a single writer."""

    write: AsyncEngine
    read: AsyncEngine
    single_writer: bool = False


class Dialect(ABC):
    """The answers, as most databases give them."""

    name = ""

    @abstractmethod
    def engines(self, url: str, pool: int) -> Engines: ...

    @abstractmethod
    def now(self) -> ColumnElement[datetime] | None:
        """The database's own clock; None where the caller's clock is as good."""

    @abstractmethod
    def later(self) -> ColumnElement[datetime]:
        """The database's clock, moved by the parameter `b_micros`."""

    def lock(self, query: S, *, skip: bool = False) -> S:
        """Lock what the query reads; rows that another holds are waited for, or skipped."""
        return query.with_for_update(skip_locked=skip)

    def among(self, column: ColumnElement[str], values: Collection[str]) -> ColumnElement[bool]:
        """The column's value is one of these, however many they are."""
        return column.in_(values)

    def listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        """The same for a statement that is made once and executed often, with the values as the parameter `name`."""
        return column.in_(bindparam(name, expanding=True))

    @abstractmethod
    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        """Insert a batch with one statement. `conflict` is "" (raise), "ignore" or "add" (a ledger range grows)."""

    @abstractmethod
    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        """Update a batch with one statement where all keys match; returns how many rows did."""


class PostgreSQL(Dialect):
    """Arrays in, `unnest` on the server: one statement whatever the size of the batch."""

    name = "postgresql"

    def engines(self, url: str, pool: int) -> Engines:
        def engine(isolation: str, idle: int) -> AsyncEngine:
            settings = {
                "application_name": "foliot",
                "timezone": "UTC",
                "jit": "off",
                # A plan made while a table was empty would be kept, and read the whole of it when it is full.
                "plan_cache_mode": "force_custom_plan",
                "random_page_cost": "1.1",
                "statement_timeout": f"{STATEMENT_TIMEOUT}s",
                "idle_in_transaction_session_timeout": f"{idle}s",
                "tcp_user_timeout": f"{CONNECT_TIMEOUT}s",
            }
            waits = {"timeout": CONNECT_TIMEOUT, "command_timeout": STATEMENT_TIMEOUT + CONNECT_TIMEOUT}
            connect = {"server_settings": settings, **waits}
            return create_async_engine(url, isolation_level=isolation, connect_args=connect, **_pooled(pool))

        return Engines(engine("READ COMMITTED", IDLE_WRITER), engine("REPEATABLE READ", IDLE_READER))

    def now(self) -> ColumnElement[datetime]:
        return func.clock_timestamp(type_=Moment())

    def later(self) -> ColumnElement[datetime]:
        micro = literal_column("interval '1 microsecond'", type_=postgresql.INTERVAL)
        return func.clock_timestamp(type_=Moment()) + bindparam("b_micros", type_=BigInteger) * micro

    def among(self, column: ColumnElement[str], values: Collection[str]) -> ColumnElement[bool]:
        # One array parameter: the statement's text, and so its plan, is the same for every size.
        return column == func.any(bindparam(None, list(values), postgresql.ARRAY(Text), unique=True))

    def listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        return column == func.any(bindparam(name, type_=postgresql.ARRAY(Text)))

    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        lists = _converted("postgresql", table, columns)
        alike = _alike(lists)
        await conn.exec_driver_sql(_pg_insert(table, tuple(columns), alike, conflict), _sent(lists, alike))

    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        found, lists = _converted("postgresql", table, keys), _converted("postgresql", table, values)
        # Keys stay arrays: a constant beside them invites a plan that begins with it and reads the whole table.
        alike = (False,) * len(found) + _alike(lists)
        sql = _pg_update(table, tuple(keys), tuple(values), alike)
        return (await conn.exec_driver_sql(sql, _sent(found + lists, alike))).rowcount


class SQLite(Dialect):
    """One writer; `executemany` runs the whole batch inside the library."""

    name = "sqlite"

    def engines(self, url: str, pool: int) -> Engines:
        memory = ":memory:" in url or url.endswith("://")
        options: dict[str, Any] = {"poolclass": StaticPool} if memory else {"pool_size": 1, "max_overflow": 0}
        write = create_async_engine(url, **options)
        _prepare_sqlite(write, "BEGIN IMMEDIATE")
        if memory:
            return Engines(write, write, single_writer=True)
        read = create_async_engine(url, pool_size=pool, max_overflow=0)
        _prepare_sqlite(read, "BEGIN")
        return Engines(write, read, single_writer=True)

    def now(self) -> None:
        return None

    def later(self) -> ColumnElement[datetime]:
        return bindparam("b_until", type_=Moment())

    def lock(self, query: S, *, skip: bool = False) -> S:
        return query

    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        await conn.exec_driver_sql(_lite_insert(table, tuple(columns), conflict), _rows(self.name, table, columns))

    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        sql = _lite_update(table, tuple(keys), tuple(values))
        made = zip(*_converted(self.name, table, values), *_converted(self.name, table, keys), strict=True)
        return (await conn.exec_driver_sql(sql, list(made))).rowcount


class MariaDB(Dialect):
    """MariaDB and MySQL: multi-row VALUES in, `JSON_TABLE` for updates."""

    name = "mysql"

    def engines(self, url: str, pool: int) -> Engines:
        write = self._engine(url, pool, "READ COMMITTED", IDLE_WRITER)
        return Engines(write, self._engine(url, pool, "REPEATABLE READ", IDLE_READER))

    def _engine(self, url: str, pool: int, isolation: str, idle: int) -> AsyncEngine:
        connect = {"connect_timeout": CONNECT_TIMEOUT, "charset": "utf8mb4"}
        engine = create_async_engine(url, isolation_level=isolation, connect_args=connect, **_pooled(pool))

        @event.listens_for(engine.sync_engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            cursor = connection.cursor()
            cursor.execute("SELECT VERSION()")
            maria = "mariadb" in str(cursor.fetchone()[0]).lower()
            settings = [
                "time_zone='+00:00'",
                "sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
                "innodb_lock_wait_timeout=5",
            ]
            if maria:
                settings += [f"max_statement_time={STATEMENT_TIMEOUT}", f"idle_transaction_timeout={idle}"]
            else:
                settings += [f"max_execution_time={STATEMENT_TIMEOUT * 1000}"]
            cursor.execute("SET SESSION " + ", ".join(settings))
            cursor.close()

        return engine

    def now(self) -> ColumnElement[datetime]:
        return literal_column("UTC_TIMESTAMP(6)", type_=Moment())

    def later(self) -> ColumnElement[datetime]:
        micros = bindparam("b_micros", type_=BigInteger)
        return func.timestampadd(text("MICROSECOND"), micros, text("UTC_TIMESTAMP(6)"), type_=Moment())

    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        names = tuple(columns)
        rows = _rows(self.name, table, columns)
        # The driver would split a large executemany; one statement with all the rows is what is wanted.
        marks = ", ".join(["(" + ", ".join(["%s"] * len(names)) + ")"] * len(rows))
        sql = f"INSERT INTO {table.name} ({_names(names)}) VALUES {marks}{_MARIA_CONFLICT[conflict]}"  # noqa: S608 -- names are ours
        await conn.exec_driver_sql(sql, tuple(value for row in rows for value in row))

    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        made = zip(*_converted("json", table, keys), *_converted("json", table, values), strict=True)
        batch = orjson.dumps(list(made)).decode()
        return (await conn.exec_driver_sql(_maria_update(table, tuple(keys), tuple(values)), (batch,))).rowcount


DIALECTS: dict[str, Dialect] = {
    "postgresql": PostgreSQL(),
    "sqlite": SQLite(),
    "mysql": MariaDB(),
    "mariadb": MariaDB(),
}


def _pooled(pool: int) -> dict[str, Any]:
    return {"pool_size": pool, "max_overflow": pool, "pool_timeout": CONNECT_TIMEOUT, "pool_recycle": 3600}


def _prepare_sqlite(engine: AsyncEngine, begin: str) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # The driver's own implicit BEGIN is deferred, and would let two writers deadlock.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "busy_timeout=5000",
            "foreign_keys=ON",
            "cache_size=-65536",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)


def _names(names: Sequence[str], prefix: str = "") -> str:
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


def _alike(lists: Sequence[list[Any]]) -> tuple[bool, ...]:
    """Which columns hold one value throughout: it travels once instead of a thousand times."""
    count = len(lists[0])
    if count < SMALL:
        return (False,) * len(lists)
    # Identity is compared first, so this costs next to nothing for values that are the same object.
    return tuple(values.count(values[0]) == count for values in lists)


def _sent(lists: Sequence[list[Any]], alike: tuple[bool, ...]) -> tuple[Any, ...]:
    return tuple(values[0] if one else values for values, one in zip(lists, alike, strict=True))


def _pg_parameters(table: Table, names: Sequence[str], alike: tuple[bool, ...]) -> tuple[list[str], str]:
    """How each column is named in the statement, and the arrays that it reads from."""
    told, arrays, aliases = [], [], []
    for at, (name, one) in enumerate(zip(names, alike, strict=True), 1):
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
    "add": " ON CONFLICT (schedule_id, first_at, fate) DO UPDATE"
    " SET last_at = excluded.last_at, count = ledger.count + excluded.count",
    "replace": " ON CONFLICT (id) DO UPDATE"
    " SET role = excluded.role, seen_at = excluded.seen_at, report = excluded.report",
}
_MARIA_CONFLICT = {
    "": "",
    "ignore": " ON DUPLICATE KEY UPDATE tenant_id = tenant_id",
    # `count` must come first: assignments are made left to right.
    "add": " ON DUPLICATE KEY UPDATE count = count + VALUES(count), last_at = VALUES(last_at)",
    "replace": " ON DUPLICATE KEY UPDATE role = VALUES(role), seen_at = VALUES(seen_at), report = VALUES(report)",
}


@lru_cache(maxsize=256)
def _pg_insert(table: Table, names: tuple[str, ...], alike: tuple[bool, ...], conflict: str) -> str:
    told, rows = _pg_parameters(table, names, alike)
    made = f"SELECT {', '.join(told)} FROM {rows}"  # noqa: S608 -- names are ours
    return f"INSERT INTO {table.name} ({_names(names)}) {made}{_PG_CONFLICT[conflict]}"


@lru_cache(maxsize=256)
def _pg_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...], alike: tuple[bool, ...]) -> str:
    told, rows = _pg_parameters(table, keys + values, alike)
    where = " AND ".join(f"t.{name} = {one}" for name, one in zip(keys, told, strict=False))
    assign = ", ".join(f"{name} = {one}" for name, one in zip(values, told[len(keys) :], strict=True))
    return f"UPDATE {table.name} t SET {assign} FROM {rows} WHERE {where}"  # noqa: S608 -- names are ours


@lru_cache(maxsize=256)
def _lite_insert(table: Table, names: tuple[str, ...], conflict: str) -> str:
    return f"INSERT INTO {table.name} ({_names(names)}) VALUES ({_names(['?'] * len(names))}){_PG_CONFLICT[conflict]}"  # noqa: S608 -- names are ours


@lru_cache(maxsize=256)
def _lite_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    assign = ", ".join(f"{name} = ?" for name in values)
    return f"UPDATE {table.name} SET {assign} WHERE " + " AND ".join(f"{name} = ?" for name in keys)  # noqa: S608 -- names are ours


@lru_cache(maxsize=256)
def _maria_update(table: Table, keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    parts = [*((f"k{at}", name) for at, name in enumerate(keys)), *((f"v{at}", name) for at, name in enumerate(values))]
    made = ", ".join(f"{alias} {_maria_type(table, name)} PATH '$[{at}]'" for at, (alias, name) in enumerate(parts))
    where = " AND ".join(f"t.{name} = d.k{at}{_maria_collate(table, name)}" for at, name in enumerate(keys))
    assign = ", ".join(f"t.{name} = d.v{at}" for at, name in enumerate(values))
    return f"UPDATE {table.name} t JOIN JSON_TABLE(%s, '$[*]' COLUMNS ({made})) d ON {where} SET {assign}"  # noqa: S608 -- names are ours


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


def _converted(dialect: str, table: Table, columns: Columns) -> list[list[Any]]:
    return [_convert(dialect, table.c[name].type, values) for name, values in columns.items()]


def _convert(dialect: str, kind: Any, values: Sequence[Any]) -> list[Any]:
    """Driver values for a whole column; what the driver takes as it is stays as it is."""
    if isinstance(kind, Moment) and dialect != "postgresql":
        form = "sqlite" if dialect == "json" else dialect
        return [None if value is None else moment_out(form, value) for value in values]
    if isinstance(kind, Document):
        return [None if value is None else orjson.dumps(value).decode() for value in values]
    if isinstance(kind, Boolean) and dialect != "postgresql":
        return [None if value is None else int(value) for value in values]
    return list(values)


def _rows(dialect: str, table: Table, columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*_converted(dialect, table, columns), strict=True))
