"""Opens the database that the settings name, for one command."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from foliot.config.settings import Settings
from foliot.core.errors import Conflict
from foliot.terminal.output import Failure

if TYPE_CHECKING:
    from foliot.app.build import App


def existing_database(home: Path | None, purpose: str) -> Settings:
    """The settings, refused when they name a SQLite file that does not exist: no command creates one by the way."""
    settings = Settings.load(os.environ, home=home)
    if settings.is_sqlite and (settings.sqlite_path is None or not settings.sqlite_path.exists()):
        raise Failure(f"there is no database at {settings.database_shown} to {purpose}: start one with foliot up")
    return settings


async def refuse_other_revision(settings: Settings) -> None:
    """For commands that run beside others: none of them migrates the database while the others use it."""
    from foliot.app import build
    from foliot.db.migrate import refuse_newer

    found, newest = await build.current_revision(settings)
    refuse_newer(found, settings.database_shown)
    if found != newest:
        raise Conflict(
            f"{settings.database_shown} is at revision {found or 'none'} and this version needs {newest}: "
            "run foliot migrate, with the version that is to run from now on"
        )


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """The use cases on this database, without servers and without an engine."""
    from foliot.app import build

    await refuse_other_revision(settings)
    app = build.build(settings, http=False, engine=False)
    try:
        await app.start()
        yield app
    finally:
        await app.stop()
