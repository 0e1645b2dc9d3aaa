"""What commands ask of a database without building a process: its revision, its connections, its policies."""

from __future__ import annotations

from foliot.config.settings import Settings
from foliot.db import migrate as migrations
from foliot.db.database import Database


async def has_row_level_security(settings: Settings) -> bool:
    """Whether row-level security is on, besides the tenant condition in every statement."""
    store = Database(settings.database_url)
    try:
        return await store.has_row_level_security()
    finally:
        await store.close()


async def connections(settings: Settings) -> tuple[int, int | None]:
    """How many connections one process opens at most, and how many the database accepts in all."""
    store = Database(settings.database_url)
    try:
        return store.most_connections, await store.allowed_connections()
    finally:
        await store.close()


async def current_revision(settings: Settings) -> tuple[str | None, str]:
    """The database's revision and the newest one."""
    return await migrations.current(settings.database_url), migrations.NEWEST
