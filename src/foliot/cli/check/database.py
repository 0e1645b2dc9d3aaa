"""Checks the database: connection, revision and row-level security."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

NO_ROW_LEVEL_SECURITY = (
    "does not enforce row-level security, because this user may not create a role; have an administrator run "
    "CREATE ROLE foliot_tenant NOLOGIN; GRANT foliot_tenant TO the user of this URL; then run foliot migrate"
)


async def check(settings: Settings) -> list[Finding]:
    key = "DATABASE_URL"
    if settings.is_sqlite:
        path = settings.sqlite_path
        if path is None:
            return [Finding("warning", key, "is in memory: everything is lost when the process ends")]
        if not path.exists():
            return [Finding("ok", key, f"{path} does not exist yet; foliot up creates it")]
    from foliot.app import build
    from foliot.core.errors import Conflict, FoliotError
    from foliot.db.migrate import refuse_newer

    try:
        found, newest = await build.current_revision(settings)
        refuse_newer(found, settings.database_shown)
    except (FoliotError, OSError) as failed:
        message = f"must be reachable, got {settings.database_shown}: {failed}"
        return [Finding("error", key, str(failed) if isinstance(failed, Conflict) else message)]
    if found != newest:
        state = f"is at revision {found or 'none'}, newest is {newest}; run foliot migrate (foliot up does it too)"
        return [Finding("warning", key, f"{settings.database_shown} {state}")]
    answers = Finding("ok", key, f"{settings.database_shown} answers, revision {newest}")
    if not settings.database_url.startswith("postgresql") or await build.has_row_level_security(settings):
        return [answers]
    return [answers, Finding("warning", key, NO_ROW_LEVEL_SECURITY)]
