"""What differs between the databases; everything else is common SQL.

Six questions: how to connect, how a transaction begins, what time it is, how rows are locked, how many rows are
inserted at once, and how many rows are updated at once, each with values of its own; and compression in PostgreSQL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import BigInteger, ColumnElement, Select, Table, Text, bindparam, event, func, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool
from sqlalchemy.sql import literal_column

from foliot.db.batch_statements import (
    Change,
    Columns,
    alike,
    converted,
    in_one_block,
    in_one_hop,
    lite_insert,
    lite_update,
    maria_change,
    maria_insert,
    maria_updated,
    pg_changes,
    pg_insert,
    pg_insert_all,
    pg_insert_new,
    pg_update,
    pg_update_and_insert,
    rows,
    sent,
)
from foliot.db.file_lock import READER_CACHE, WRITER_CACHE, prepare_sqlite
from foliot.db.metadata import Moment

# The default takes several times as long for the same size. Not every server supports another: then it is kept.
_FASTER = """SELECT set_config(name, 'lz4', false) FROM pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)"""


def pack_fast(connection: Any, _record: Any) -> None:
    """For every new connection; values compressed before stay readable."""
    # Bypasses the adapter, whose transaction would roll the setting back.
    connection.run_async(lambda raw: raw.execute(_FASTER))


S = TypeVar("S", bound=Select[Any])

Batch = tuple[Table, Columns]
"""A batch to insert."""

STATEMENT_TIMEOUT = 10
IDLE_WRITER = 2
"""Timeout of an idle transaction: a suspended process must not keep rows locked."""
LOCK_WAIT = 1
"""Lock timeout, shorter than the above: waiting for a suspended process ends before one's own rows block others."""
IDLE_READER = 60
"""Read-only transactions lock nothing, and may be idle longer."""
MARIA_ROWS = 2000
"""Rows per statement: the driver formats the values into its text, which takes time."""
DISCREET = {"hide_parameters": True}
"""The values of a failed statement do not belong in the log."""
CONNECT_TIMEOUT = 5


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines for writing and reading; the same one unless the database has a single writer."""

    write: AsyncEngine
    read: AsyncEngine
    single_writer: bool = False


class Dialect(ABC):
    """Common answers of most databases."""

    name = ""
    partial = True
    """Whether partial indexes are supported."""
    connection_limit = ""
    """Asks how many connections the server accepts; "" without a server."""

    @abstractmethod
    def engines(self, url: str, pool: int) -> Engines: ...

    @abstractmethod
    def now(self) -> ColumnElement[datetime] | None:
        """The database's own clock; None where the caller's clock is equivalent."""

    @abstractmethod
    def later(self) -> ColumnElement[datetime]:
        """The database's clock, shifted by the parameter `b_micros`."""

    def lock(self, query: S, *, skip: bool = False) -> S:
        """Lock the rows that the query reads; rows locked by others are waited for, or skipped."""
        return query.with_for_update(skip_locked=skip)

    def among(self, column: ColumnElement[str], values: Collection[str]) -> ColumnElement[bool]:
        """The column's value is one of these, however many they are."""
        return column.in_(values)

    def listed(self, column: ColumnElement[str], name: str) -> ColumnElement[bool]:
        """The same for a statement that is made once and executed often, with the values as the parameter `name`."""
        return column.in_(bindparam(name, expanding=True))

    async def has_row_level_security(self, conn: AsyncConnection) -> bool:
        """Whether this database supports row-level security."""
        return False

    async def confine(self, conn: AsyncConnection, tenant_id: str) -> None:
        """Restrict this transaction to the rows of one tenant."""
        raise RuntimeError(f"{self.name} has no row-level security to rely on")

    @abstractmethod
    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        """Insert a batch with one statement. `conflict` is a name in `batch_statements.py`; "" raises."""

    @abstractmethod
    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        """Update a batch with one statement where all keys match; returns how many rows did."""

    async def update_and_insert(self, conn: AsyncConnection, moved: Change, made: tuple[Table, Columns]) -> int:
        """Update one batch and, when all of its rows matched, insert another; returns how many matched."""
        table, keys, values, _ = moved
        found = await self.update(conn, table, keys, values)
        if found == len(next(iter(keys.values()))):
            await self.insert(conn, *made)
        return found

    async def insert_all(self, conn: AsyncConnection, batches: Sequence[tuple[Table, Columns, str]]) -> None:
        """Several batches, each with its conflict rule, in one statement where the database can; always in this order
        or always in the reverse, so that concurrent writers cannot deadlock.
        """
        for table, columns, conflict in batches:
            await self.insert(conn, table, columns, conflict=conflict)

    async def insert_new(self, conn: AsyncConnection, table: Table, columns: Columns, mark: str) -> set[str]:
        """Insert rows with new keys; returns their values of the column `mark`, which is unique per row.

        Waits for a concurrent transaction that inserted the same key.
        """
        await self.insert(conn, table, columns, conflict="ignore")
        found = [self.among(column, sorted(set(columns[column.name]))) for column in table.primary_key]
        query = select(table.c[mark]).where(*found, self.among(table.c[mark], columns[mark]))
        return set((await conn.execute(query)).scalars())

    @abstractmethod
    async def change(self, conn: AsyncConnection, changes: Sequence[Change]) -> None:
        """Several batches in one round trip, where updates concern rows that are locked already.

        An insert may depend on an update of the same table before it, and on nothing else.
        """

    def earlier(self, one: ColumnElement[datetime], other: ColumnElement[datetime]) -> ColumnElement[datetime]:
        return func.least(one, other, type_=Moment())

    def begun(self) -> ColumnElement[datetime] | None:
        """The database's clock at the start of the statement, which an index can be searched by."""
        return self.now()


# Only where row-level security is active: a role without policies would see every tenant.
_WALLED = """SELECT pg_has_role(oid, 'MEMBER') AND EXISTS (
  SELECT 1 FROM pg_policies WHERE policyname = 'tenant' AND tablename = 'schedules' AND schemaname = current_schema()
) FROM pg_roles WHERE rolname = 'foliot_tenant'"""
_CONFINE = "SELECT set_config('role', 'foliot_tenant', true), set_config('foliot.tenant', $1, true)"


class PostgreSQL(Dialect):
    """Arrays in, `unnest` on the server: one statement whatever the size of the batch."""

    name = "postgresql"
    connection_limit = "SHOW max_connections"

    def engines(self, url: str, pool: int) -> Engines:
        # The driver is imported only where it is used.
        from foliot.db.pg_connection import ScopedConnection, unscoped

        def engine(isolation: str, idle: int) -> AsyncEngine:
            settings = {
                "application_name": "foliot",
                "timezone": "UTC",
                "jit": "off",
                # A plan made while a table was empty would be kept, and scan the whole table when it is full.
                "plan_cache_mode": "force_custom_plan",
                "random_page_cost": "1.1",
                "statement_timeout": f"{STATEMENT_TIMEOUT}s",
                "idle_in_transaction_session_timeout": f"{idle}s",
                "lock_timeout": f"{LOCK_WAIT}s",
                "tcp_user_timeout": f"{CONNECT_TIMEOUT}s",
                "standard_conforming_strings": "on",
            }
            waits = {"timeout": CONNECT_TIMEOUT, "command_timeout": STATEMENT_TIMEOUT + CONNECT_TIMEOUT}
            connect = {"server_settings": settings, "connection_class": ScopedConnection, **waits}
            made = create_async_engine(url, isolation_level=isolation, connect_args=connect, **_pooled(pool))
            event.listen(made.sync_engine, "connect", pack_fast)
            event.listen(made.sync_engine, "checkout", unscoped)
            return made

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

    async def has_row_level_security(self, conn: AsyncConnection) -> bool:
        return bool((await conn.exec_driver_sql(_WALLED)).scalar())

    async def confine(self, conn: AsyncConnection, tenant_id: str) -> None:
        driver: Any = conn.sync_connection.connection.driver_connection  # type: ignore[union-attr]
        if driver.is_in_transaction():  # otherwise the restriction travels with BEGIN
            await conn.exec_driver_sql(_CONFINE, (tenant_id,))
        else:
            driver.scope(tenant_id)

    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        lists = converted("postgresql", table, columns)
        same = alike(lists)
        await conn.exec_driver_sql(pg_insert(table, tuple(columns), same, conflict), sent(lists, same))

    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        found, lists = converted("postgresql", table, keys), converted("postgresql", table, values)
        # Keys stay arrays: a constant beside them invites a plan that starts with it and scans the whole table.
        same = (False,) * len(found) + alike(lists)
        sql = pg_update(table, tuple(keys), tuple(values), same)
        return (await conn.exec_driver_sql(sql, sent(found + lists, same))).rowcount

    async def update_and_insert(self, conn: AsyncConnection, moved: Change, made: tuple[Table, Columns]) -> int:
        (table, keys, values, _), (other, columns) = moved, made
        found, lists = converted("postgresql", table, keys), converted("postgresql", table, values)
        there = converted("postgresql", other, columns)
        same, same_there = (False,) * len(found) + alike(lists), alike(there)
        sql = pg_update_and_insert((table, tuple(keys), tuple(values), same), (other, (), tuple(columns), same_there))
        told = await conn.exec_driver_sql(sql, (*sent(found + lists, same), *sent(there, same_there), len(found[0])))
        return int(told.scalar_one())

    async def insert_all(self, conn: AsyncConnection, batches: Sequence[tuple[Table, Columns, str]]) -> None:
        shapes, parameters = [], list[Any]()
        for table, columns, conflict in batches:
            lists = converted("postgresql", table, columns)
            same = alike(lists)
            shapes.append((table, tuple(columns), same, conflict))
            parameters += sent(lists, same)
        if shapes:
            await conn.exec_driver_sql(pg_insert_all(tuple(shapes)), tuple(parameters))

    async def insert_new(self, conn: AsyncConnection, table: Table, columns: Columns, mark: str) -> set[str]:
        sql = pg_insert_new(table, tuple(columns), mark)
        return set((await conn.exec_driver_sql(sql, tuple(converted("postgresql", table, columns)))).scalars())

    async def change(self, conn: AsyncConnection, changes: Sequence[Change]) -> None:
        await conn.exec_driver_sql(*pg_changes(changes))

    def begun(self) -> ColumnElement[datetime]:
        return func.statement_timestamp(type_=Moment())


class SQLite(Dialect):
    """One writer; `executemany` runs the whole batch inside the library."""

    name = "sqlite"

    def engines(self, url: str, pool: int) -> Engines:
        memory = ":memory:" in url or url.endswith("://")
        options: dict[str, Any] = {"poolclass": StaticPool} if memory else {"pool_size": 1, "max_overflow": 0}
        write = create_async_engine(url, **options, **DISCREET)
        prepare_sqlite(write, "BEGIN IMMEDIATE", WRITER_CACHE)
        if memory:
            return Engines(write, write, single_writer=True)
        # The connection that was used last comes first: each has a page cache of its own.
        read = create_async_engine(url, pool_size=pool, max_overflow=0, pool_use_lifo=True, **DISCREET)
        prepare_sqlite(read, "BEGIN", READER_CACHE)
        return Engines(write, read, single_writer=True)

    def now(self) -> None:
        return None

    def later(self) -> ColumnElement[datetime]:
        return bindparam("b_until", type_=Moment())

    def lock(self, query: S, *, skip: bool = False) -> S:
        return query

    async def insert(self, conn: AsyncConnection, table: Table, columns: Columns, *, conflict: str = "") -> None:
        await conn.exec_driver_sql(lite_insert(table, tuple(columns), conflict), rows(self.name, table, columns))

    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        return (await conn.exec_driver_sql(*self._updated(table, keys, values))).rowcount

    async def change(self, conn: AsyncConnection, changes: Sequence[Change]) -> None:
        await in_one_hop(conn, [self._changed(change) for change in changes])

    def _changed(self, change: Change) -> tuple[str, list[tuple[Any, ...]]]:
        table, keys, values, conflict = change
        if keys:
            return self._updated(table, keys, values)
        return lite_insert(table, tuple(values), conflict), rows(self.name, table, values)

    def _updated(self, table: Table, keys: Columns, values: Columns) -> tuple[str, list[tuple[Any, ...]]]:
        made = zip(*converted(self.name, table, values), *converted(self.name, table, keys), strict=True)
        return lite_update(table, tuple(keys), tuple(values)), list(made)


class MariaDB(Dialect):
    """MariaDB and MySQL: multi-row VALUES in, `JSON_TABLE` for updates."""

    name = "mysql"
    partial = False
    connection_limit = "SELECT @@max_connections"

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
                f"innodb_lock_wait_timeout={LOCK_WAIT}",
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
        every = rows(self.name, table, columns)
        for start in range(0, len(every), MARIA_ROWS):
            await conn.exec_driver_sql(*maria_insert(table, names, every[start : start + MARIA_ROWS], conflict))

    async def update(self, conn: AsyncConnection, table: Table, keys: Columns, values: Columns) -> int:
        return (await conn.exec_driver_sql(*maria_updated(table, keys, values))).rowcount

    async def change(self, conn: AsyncConnection, changes: Sequence[Change]) -> None:
        await in_one_block(conn, [maria_change(change) for change in changes])


DIALECTS: dict[str, Dialect] = {
    "postgresql": PostgreSQL(),
    "sqlite": SQLite(),
    "mysql": MariaDB(),
    "mariadb": MariaDB(),
}


def _pooled(pool: int) -> dict[str, Any]:
    """A pool that may double and keeps what it opens (connecting is slow); the connection used last is taken first."""
    waits = {"pool_timeout": CONNECT_TIMEOUT, "pool_recycle": 3600, "pool_use_lifo": True}
    return {"pool_size": 2 * pool, "max_overflow": 0, **waits, **DISCREET}
