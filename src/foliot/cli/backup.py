"""`foliot backup` and `foliot restore`, for SQLite."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.terminal.access import READ_INSTALLATION, WRITE_INSTALLATION, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Home
from foliot.terminal.output import Failure, note, one_line_errors

if TYPE_CHECKING:
    from foliot.config.settings import Settings

group = CommandGroup()

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
        typer.echo(f"{file}: {database} at revision {backups.revision_of(file.expanduser())}, whole.")
        _mind_the_key(
            settings, "Keep its master key too, and elsewhere: without it the secrets in the copy cannot be decrypted"
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
            f"{database} is {file} again, at revision {revision}." + (f" {kept} is what it was." if kept else "")
        )
        if revision != NEWEST:
            note(f"foliot up brings it to revision {NEWEST}.")
        _mind_the_key(settings, "Put its master key back too, then run foliot ledger verify")


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
    raise Failure(f"{settings.database_shown} lives in memory: there is not a file")


def _mind_the_key(settings: Settings, what: str) -> None:
    from foliot.auth.keyring import NAME

    where = f"{settings.home / NAME}" if settings.local and not settings.secret_key else "FOLIOT_SECRET_KEY"
    note(f"{what}: {where}.")
