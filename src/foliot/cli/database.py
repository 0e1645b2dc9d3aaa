"""Opens the database that the settings name, for one command.

`foliot migrate`.

`foliot backup` and `foliot restore`, for SQLite.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.config.settings import Settings
from foliot.core.errors import Conflict
from foliot.terminal.access import READ_INSTALLATION, WRITE_INSTALLATION, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Home
from foliot.terminal.output import Failure, note, one_line_errors

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
    from foliot.app.database import current_revision
    from foliot.db.migrate import refuse_newer

    found, newest = await current_revision(settings)
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


group = CommandGroup()


@group.command()
@needs(WRITE_INSTALLATION)
def migrate(home: Home = None) -> None:
    """Migrate the database to the newest revision. `foliot up` does this automatically."""
    import asyncio

    from foliot.config.settings import Settings
    from foliot.db.file_lock import make_private, only_one
    from foliot.db.migrate import refuse_newer

    with one_line_errors():
        from foliot.app import build
        from foliot.app.database import current_revision

        settings = Settings.load(os.environ, home=home)
        make_private(settings.sqlite_path)
        found, newest = asyncio.run(current_revision(settings))
        refuse_newer(found, settings.database_shown)
        with only_one(settings.sqlite_path if found != newest else None):
            before, after = asyncio.run(build.migrate(settings))
        if before == after:
            typer.echo(f"{settings.database_shown} is at the newest revision, {newest}.")
            return
        typer.echo(f"{settings.database_shown} was migrated from revision {before or 'none'} to {after}.")


TOOLS = {
    "postgresql": ('pg_dump --format=custom --file=FILE "$DATABASE_URL"', 'pg_restore --dbname="$DATABASE_URL" FILE'),
    "mysql": ("mariadb-dump --single-transaction … > FILE", "mariadb … < FILE"),
}
"""The tools of the database servers: to back up, and to restore."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup file.")]


@group.command()
@needs(READ_INSTALLATION)
def backup(file: File, home: Home = None) -> None:
    """Copy the SQLite database to a file, even while Foliot runs. For other databases it names the tool to use."""
    from foliot.config.settings import Settings
    from foliot.db import backup as backups

    with one_line_errors():
        settings = Settings.load(os.environ, home=home)
        database = _database(settings, restoring=False)
        if not database.exists():
            raise Failure(f"there is no database at {database} to copy: start one with foliot up")
        backups.copy(database, file.expanduser())
        typer.echo(
            f"Copied {database} to {file}, at revision {backups.revision_of(file.expanduser())}; the copy is intact."
        )
        _mind_the_key(
            settings,
            "Also keep a copy of its master key, in another place: without it, the secrets in the backup cannot "
            "be decrypted",
        )


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def restore(
    file: File,
    home: Home = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an existing database; the old one is kept next to it.")
    ] = False,
) -> None:
    """Restore the SQLite database while Foliot is stopped. Missed instants are caught up as after an outage."""
    from foliot.config.settings import Settings
    from foliot.db import backup as backups
    from foliot.db.file_lock import only_one
    from foliot.db.migrate import NEWEST, refuse_newer

    with one_line_errors():
        settings = Settings.load(os.environ, home=home)
        database, source = _database(settings, restoring=True), file.expanduser()
        if not source.is_file():
            raise Failure(f"{file} is not a file")
        revision = backups.revision_of(source)
        refuse_newer(revision, str(file))
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with only_one(database):
            kept = backups.restore(source, database, replace=replace)
        typer.echo(
            f"Restored {database} from {file}, at revision {revision}."
            + (f" The previous database is now {kept}." if kept else "")
        )
        if revision != NEWEST:
            note(f"foliot up migrates it to revision {NEWEST}.")
        _mind_the_key(settings, "Restore its master key too, then run foliot ledger verify")


def _database(settings: Settings, *, restoring: bool) -> Path:
    """The SQLite file; for other databases an error names the tool to use."""
    if settings.sqlite_path is not None:
        return settings.sqlite_path
    for scheme, tools in TOOLS.items():
        if settings.database_url.startswith(scheme):
            raise Failure(
                f"{settings.database_shown} is a database server, which has its own tool: {tools[restoring]} "
                "(docs/how-to/operations.md says how)"
            )
    raise Failure(f"{settings.database_shown} is in memory: there is no file to copy")


def _mind_the_key(settings: Settings, what: str) -> None:
    from foliot.auth.keyring import NAME

    where = f"{settings.home / NAME}" if settings.local and not settings.secret_key else "FOLIOT_SECRET_KEY"
    note(f"{what}: {where}.")
