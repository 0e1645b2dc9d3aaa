"""`foliot migrate`."""

from __future__ import annotations

import os

import typer

from foliot.terminal.access import WRITE_INSTALLATION, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Home
from foliot.terminal.output import one_line_errors

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

        settings = Settings.load(os.environ, home=home)
        make_private(settings.sqlite_path)
        found, newest = asyncio.run(build.current_revision(settings))
        refuse_newer(found, settings.database_shown)
        with only_one(settings.sqlite_path if found != newest else None):
            before, after = asyncio.run(build.migrate(settings))
        if before == after:
            typer.echo(f"{settings.database_shown} is at the newest revision, {newest}.")
            return
        typer.echo(f"{settings.database_shown} went from revision {before or 'none'} to {after}.")
