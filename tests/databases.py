"""Makes, cleans and drops the databases of the suite, with each server's own driver.

The drivers, not Foliot's store: what is under test must not prepare its own test.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, make_url

PREFIX = "foliot_test_"

KEPT = "alembic_version"
"""Says which revision the tables have; they stay, so it stays."""


class Connection(Protocol):
    """As much of a driver as we need."""

    async def run(self, statement: str) -> None: ...

    async def column(self, query: str) -> list[str]: ...

    async def delete_rows(self) -> None: ...


class _PostgreSQL:
    def __init__(self, raw: Any) -> None:
        self.raw = raw

    async def run(self, statement: str) -> None:
        await self.raw.execute(statement)

    async def column(self, query: str) -> list[str]:
        return [row[0] for row in await self.raw.fetch(query)]

    async def delete_rows(self) -> None:
        await self.run(CLEAN_POSTGRESQL)


class _MySQL:
    def __init__(self, raw: Any) -> None:
        self.raw = raw

    async def run(self, statement: str) -> None:
        async with self.raw.cursor() as cursor:
            await cursor.execute(statement)

    async def column(self, query: str) -> list[str]:
        async with self.raw.cursor() as cursor:
            await cursor.execute(query)
            return [row[0] for row in await cursor.fetchall()]

    async def delete_rows(self) -> None:
        tables = [name for name in await self.column(TABLES_MYSQL) if name != KEPT]
        if not tables:
            return
        filled = await self.column(
            " UNION ALL ".join(f"SELECT '{name}' FROM (SELECT 1 FROM `{name}` LIMIT 1) found" for name in tables)
        )
        guarded = await self.column(GUARDED_MYSQL) if filled else []
        await self.run("SET foreign_key_checks = 0, innodb_lock_wait_timeout = 10, lock_wait_timeout = 10")
        await self.run("BEGIN")
        for name in filled:
            if name not in guarded:
                await self.run(f"DELETE FROM `{name}`")
        await self.run("COMMIT")
        for name in filled:
            # Its triggers cannot be switched off, but only deletions wake them.
            if name in guarded:
                await self.run(f"TRUNCATE TABLE `{name}`")


@asynccontextmanager
async def connect(url: URL) -> AsyncIterator[Connection]:
    """A connection to a server, in autocommit."""
    if url.get_backend_name() == "postgresql":
        import asyncpg

        host = url.query.get("host", url.host)
        raw = await asyncpg.connect(
            host=host, port=url.port, user=url.username, password=url.password, database=url.database, timeout=5
        )
        try:
            yield _PostgreSQL(raw)
        finally:
            await raw.close()
    else:
        import asyncmy

        raw = await asyncmy.connect(
            host=url.host or "localhost",
            port=url.port or 3306,
            user=url.username,
            password=url.password or "",
            database=url.database or None,
            unix_socket=url.query.get("unix_socket"),
            connect_timeout=5,
            autocommit=True,
        )
        try:
            yield _MySQL(raw)
        finally:
            await raw.ensure_closed()


async def ping(url: URL) -> None:
    """Raise unless a server lets us in."""
    async with connect(url) as connection:
        await connection.run("SELECT 1")


async def create(server: URL, name: str, *, crashes: bool = False) -> URL:
    """A new, bare database; whoever crashes its server must not lose what was committed."""
    assert name.startswith(PREFIX), name
    async with connect(server) as connection:
        if server.get_backend_name() == "postgresql":
            # template0: a server set up under the C locale would give ASCII otherwise.
            await connection.run(f"CREATE DATABASE \"{name}\" ENCODING 'UTF8' TEMPLATE template0")
            if not crashes:
                # Then nobody need wait for its disk.
                await connection.run(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
        else:
            await connection.run(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
    return server.set(database=name)


async def drop(server: URL, name: str) -> None:
    """Drop a database of ours, whoever is still connected."""
    assert name.startswith(PREFIX), name
    async with connect(server) as connection:
        if server.get_backend_name() == "postgresql":
            await connection.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        else:
            await connection.run(f"DROP DATABASE IF EXISTS `{name}`")


async def clean(url: str | URL) -> None:
    """Delete every row of every table and keep the tables, as they are at the newest revision.

    Deleting, not truncating: a truncation writes new files for each table and index, which costs more than the few
    rows a test leaves. Keys, triggers and policies are switched off meanwhile, so the order of tables is no matter.
    """
    url = make_url(url)
    if url.get_backend_name() == "sqlite":
        _clean_sqlite(url)
        return
    async with connect(ours(url)) as connection:
        await connection.delete_rows()


class Cleaner:
    """Cleans again and again, on connections that stay: making one costs a server more than the deletions."""

    def __init__(self) -> None:
        self._connections: dict[URL, Connection] = {}
        self._stack = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def clean(self, url: URL) -> None:
        """As `clean` does."""
        self._wait_for(self._clean(url))

    def close(self) -> None:
        self._wait_for(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _clean(self, url: URL) -> None:
        if url in self._connections:
            try:
                await self._connections[url].delete_rows()
            except Exception:  # noqa: BLE001 -- a test may have cut it off; what else is wrong will be so again
                del self._connections[url]
            else:
                return
        connection = await self._stack.enter_async_context(connect(ours(url)))
        await connection.delete_rows()
        self._connections[url] = connection

    def _wait_for(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


async def raze(url: str | URL) -> None:
    """Drop every table, view and whatever else is there: a bare database again."""
    url = make_url(url)
    match url.get_backend_name():
        case "sqlite":
            for file in sqlite_files(url):
                file.unlink(missing_ok=True)
        case "postgresql":
            async with connect(ours(url)) as connection:
                await connection.run(
                    "SET lock_timeout = '10s'; DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
                    "GRANT ALL ON SCHEMA public TO public"
                )
        case _:
            # A schema is a database here: views, triggers and routines go with it.
            server, name = ours(url).set(database=""), url.database or ""
            await drop(server, name)
            await create(server, name)


def ours(url: URL) -> URL:
    """The same URL, or an error: rows are deleted only in databases of this suite."""
    if not (url.database or "").startswith(PREFIX):
        raise ValueError(f"{url!r} is not a database of the test suite: its name does not start with {PREFIX}")
    return url


def sqlite_files(url: URL) -> Sequence[Path]:
    """The database file and what SQLite lays beside it."""
    assert url.database, url
    return [Path(url.database + suffix) for suffix in ("", "-wal", "-shm", "-journal")]


TABLES_MYSQL = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
)

GUARDED_MYSQL = (
    "SELECT event_object_table FROM information_schema.triggers"
    " WHERE trigger_schema = DATABASE() AND event_manipulation = 'DELETE'"
)

CLEAN_POSTGRESQL = f"""
SET lock_timeout = '10s';
SET session_replication_role = replica;
DO $$
DECLARE item record;
BEGIN
  FOR item IN
    SELECT schemaname, tablename FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename <> '{KEPT}'
  LOOP
    EXECUTE format('DELETE FROM %I.%I', item.schemaname, item.tablename);
  END LOOP;
  FOR item IN SELECT schemaname, sequencename FROM pg_sequences WHERE last_value IS NOT NULL LOOP
    EXECUTE format('ALTER SEQUENCE %I.%I RESTART', item.schemaname, item.sequencename);
  END LOOP;
END $$
"""


def _clean_sqlite(url: URL) -> None:
    assert url.database, url
    with contextlib.closing(sqlite3.connect(url.database, timeout=10)) as connection, connection:
        names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        for (name,) in names.fetchall():
            if name != KEPT:
                connection.execute(f'DELETE FROM "{name}"')
        for _, made in triggers:
            connection.execute(made)
