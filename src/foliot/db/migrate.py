"""Migrates a database to the newest revision, one process at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from foliot import __version__
from foliot.core.errors import Conflict, Unavailable
from foliot.core.threads import WORK
from foliot.db import backup
from foliot.db.row_level_security import create_row_level_security

NEWEST = "0043"
"""The last revision of `migrations/versions`; a test keeps the two in step, so that a start need not import Alembic."""

log = structlog.get_logger("foliot.db")

_LOCKS = {
    "postgresql": ("SELECT pg_advisory_lock(70147)", "SELECT pg_advisory_unlock(70147)"),
    "mysql": ("SELECT GET_LOCK('foliot_migrate', 60)", "SELECT RELEASE_LOCK('foliot_migrate')"),
    "mariadb": ("SELECT GET_LOCK('foliot_migrate', 60)", "SELECT RELEASE_LOCK('foliot_migrate')"),
}


async def migrate(url: str) -> tuple[str | None, str]:
    """The revision before and after."""
    async with _engine(url) as engine, engine.connect() as holder:
        lock, unlock = _LOCKS.get(engine.dialect.name, ("", ""))
        if lock:
            await holder.execute(text(lock))
        try:
            async with engine.connect() as conn:
                before = await conn.run_sync(_current)
                await conn.rollback()
                refuse_newer(before)
                if before != NEWEST:
                    await _keep(engine, before)
                    await conn.run_sync(_upgrade)
                    await conn.commit()
                if engine.dialect.name == "postgresql":
                    await create_row_level_security(conn)
                    await conn.commit()
        finally:
            if lock:
                await holder.execute(text(unlock))
    return before, NEWEST


def refuse_newer(found: str | None, what: str = "the database") -> None:
    """A database that a newer Foliot has migrated: only a copy leads back, so the error names the options."""
    if found is not None and found > NEWEST:
        raise Conflict(
            f"{what} is at revision {found}, which a newer version of Foliot created; this one ({__version__}) "
            f"knows none after {NEWEST}: start that version or a newer one, or restore an older copy (foliot restore)"
        )


async def _keep(engine: AsyncEngine, before: str | None) -> None:
    """A copy of the SQLite file, so that a failed migration or version can be undone."""
    file = engine.url.database
    if before is not None and engine.dialect.name == "sqlite" and file and file != ":memory:":
        kept = await WORK.run(backup.keep, Path(file), before)
        log.info("copied the database before migrating", action="copy_kept", path=str(kept), revision=before)


async def current(url: str) -> str | None:
    """The database's revision; None when it has none yet."""
    async with _engine(url) as engine, engine.connect() as conn:
        return await conn.run_sync(_current)


async def current_on(conn: AsyncConnection) -> str | None:
    """The same, on an open connection."""
    return await conn.run_sync(_current)


@asynccontextmanager
async def _engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(url, pool_size=2) if ":memory:" not in url else create_async_engine(url)
    try:
        yield engine
    except (DBAPIError, OSError) as error:
        if isinstance(error, DBAPIError) and not error.connection_invalidated and error.statement is not None:
            raise
        raise Unavailable(f"cannot open the database: {error}".splitlines()[0]) from error
    finally:
        await engine.dispose()


def _current(conn: Connection) -> str | None:
    if not inspect(conn).has_table("alembic_version"):
        return None
    revision: str | None = conn.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def _upgrade(conn: Connection) -> None:
    # Alembic takes a third of a second to import, and most starts have nothing to migrate.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = conn
    command.upgrade(config, "head")


_MADE: list[str] = []
"""The schema of an empty SQLite after all migrations, cached by the first caller: executing it is far quicker."""


async def create(conn: AsyncConnection) -> None:
    """Migrate on this connection, for a database in memory."""
    driver: Any = (await conn.get_raw_connection()).driver_connection
    if _MADE:
        await driver.executescript("\n".join(_MADE))
        return
    await conn.run_sync(_upgrade)
    await conn.commit()
    _MADE.extend([line async for line in driver.iterdump()])
