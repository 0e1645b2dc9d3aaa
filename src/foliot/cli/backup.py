"""`foliot backup`, `foliot restore`: a copy of the SQLite file while Foliot runs, and the way back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.terminal.access import READ_HOUSE, WRITE_HOUSE, needs
from foliot.terminal.options import Home
from foliot.terminal.output import Failure, note, one_line_errors

if TYPE_CHECKING:
    from foliot.config.settings import Settings

TOOLS = {
    "postgresql": ('pg_dump --format=custom --file=FILE "$DATABASE_URL"', 'pg_restore --dbname="$DATABASE_URL" FILE'),
    "mysql": ("mariadb-dump --single-transaction … > FILE", "mariadb … < FILE"),
}
"""What the servers bring for it themselves."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="The copy.")]


@needs(READ_HOUSE)
def backup(file: File, home: Home = None) -> None:
    """Copy the SQLite database to a file, also while Foliot runs. Servers have tools of their own, which are named."""
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
            settings, "Keep its master key too, and elsewhere: without it the secrets in the copy stay sealed"
        )


@needs(READ_HOUSE, WRITE_HOUSE)
def restore(
    file: File,
    home: Home = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of a database that is there; it is kept beside.")
    ] = False,
) -> None:
    """Make a copy the SQLite database again, with Foliot stopped. What was due since is owed, as after an outage."""
    from foliot.config.settings import Settings
    from foliot.db import backup as backups
    from foliot.db.file_lock import only_one
    from foliot.db.migrate import NEWEST, refuse_newer

    with one_line_errors():
        settings = Settings.load(os.environ, home=home)
        database, found = _database(settings, restoring=True), file.expanduser()
        if not found.is_file():
            raise Failure(f"{file} is no file")
        revision = backups.revision_of(found)
        refuse_newer(revision, str(file))
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with only_one(database):
            kept = backups.restore(found, database, replace=replace)
        typer.echo(
            f"{database} is {file} again, at revision {revision}." + (f" {kept} is what it was." if kept else "")
        )
        if revision != NEWEST:
            note(f"foliot up brings it to revision {NEWEST}.")
        _mind_the_key(settings, "Put its master key back too, then run foliot audit")


def _database(settings: Settings, *, restoring: bool) -> Path:
    """The file; who has none is told what to use instead."""
    if settings.sqlite_path is not None:
        return settings.sqlite_path
    for scheme, tools in TOOLS.items():
        if settings.database_url.startswith(scheme):
            raise Failure(
                f"{settings.database_shown} is a server, which has its own tool: {tools[restoring]} "
                "(docs/how-to/operations.md says how)"
            )
    raise Failure(f"{settings.database_shown} lives in memory: there is no file")


def _mind_the_key(settings: Settings, what: str) -> None:
    from foliot.auth.keyfile import NAME

    where = f"{settings.home / NAME}" if settings.local and not settings.secret_key else "FOLIOT_SECRET_KEY"
    note(f"{what}: {where}.")
