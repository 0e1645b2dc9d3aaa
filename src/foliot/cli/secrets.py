"""`foliot secret …`, with `rekey`, which opens the database itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from foliot.features.secrets import cli as secrets
from foliot.terminal.access import READ_INSTALLATION, WRITE_INSTALLATION, caller_of, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Home, Json
from foliot.terminal.output import Exit, count, counting, note, one_line_errors, print_json, printable

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.secrets.usecases import RekeyResult

group = CommandGroup("Manage secrets: webhooks can use them, and they can never be read back.")
group.add_typer(secrets.group)


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def rekey(home: Home = None, as_json: Json = False) -> None:
    """Encrypt every secret with the first key of FOLIOT_SECRET_KEY, in the database itself, without a server.

    Also encrypts credentials in headers and URLs of schedules and runs, and plain text that old versions stored.

    After an interruption, run it again: it continues where it stopped. Exit 1 when some could not be decrypted.
    """
    import asyncio

    from foliot.cli.database import existing_database

    with one_line_errors():
        rekeyed = asyncio.run(_rekey(existing_database(home, "rekey")))
        if as_json:
            print_json({"ok": not rekeyed.shut, **asdict(rekeyed)})
        else:
            typer.echo(f"{count(rekeyed.done, 'version')} of secrets encrypted with the newest key")
            if rekeyed.actions:
                typer.echo(f"credentials of {count(rekeyed.actions, 'stored action')} encrypted too")
            for name in rekeyed.shut:
                note(printable(f"{name} cannot be decrypted with any given key: set it again, or give its key"))
        raise typer.Exit(Exit.FAILED if rekeyed.shut else Exit.DONE)


async def _rekey(settings: Settings) -> RekeyResult:
    from foliot.cli.database import opened
    from foliot.features.secrets.usecases import Secrets

    caller = caller_of(rekey)
    async with opened(settings) as app:
        secrets = app.usecases[Secrets]
        with counting("secrets encrypted", await secrets.stale(caller)) as progress:
            return await secrets.rekey(caller, progress)
