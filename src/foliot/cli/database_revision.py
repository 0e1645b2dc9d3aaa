"""Whether the database is the one this version was written for."""

from __future__ import annotations

from foliot.app import build
from foliot.config.settings import Settings
from foliot.core.errors import Conflict
from foliot.db.migrate import refuse_newer


async def refuse_other_revision(settings: Settings) -> None:
    """For commands that start beside others: none of them changes the database under the others."""
    found, newest = await build.current_revision(settings)
    refuse_newer(found, settings.database_shown)
    if found != newest:
        raise Conflict(
            f"{settings.database_shown} is at revision {found or 'none'} and this version needs {newest}: "
            "run foliot migrate, with the version that is to run from now on"
        )
