"""`foliot secret …`: set what webhooks may use and nobody may read."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from foliot.cli.access import READ_HOUSE, WRITE_HOUSE, asks, caller_of, needs
from foliot.cli.client import asking, segment
from foliot.cli.options import CLIENT_VARIABLES, SERVER_VARIABLES, Home, Json, Utc
from foliot.cli.printing import (
    Exit,
    Failure,
    count,
    counting,
    listing,
    moment,
    note,
    one_line_errors,
    print_json,
    printable,
)
from foliot.features.secrets.usecases import Secrets

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.secrets.usecases import Rekeyed

MOST = 64 * 1024
"""Characters read from standard input; far more than a secret may have, so that the server says what is wrong."""

group = typer.Typer(help="Secrets that webhooks use and nobody can read.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The secret's name.", metavar="NAME")]


@group.command("set", epilog=CLIENT_VARIABLES)
@asks
def set_(
    name: Name,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="Where it may be sent; may be repeated. Default: where the value before went."),
    ] = None,
) -> None:
    """Set a secret: its value is asked for, or read from standard input, and never an argument."""
    with asking() as client:
        value = _value(name)
        client.put(f"/api/secrets/{segment(name)}", {"value": value} | ({"hosts": host} if host else {}))
        note(f"secret {name} is set; runs use it within 5 seconds")


@group.command("list", epilog=CLIENT_VARIABLES)
@asks
def list_(as_json: Json = False, utc: Utc = False) -> None:
    """List secrets by name, without their values."""
    with asking() as client:
        listing(
            client.get("/api/secrets"),
            ("name", "version", "set", "by", "hosts", "previous signs until"),
            lambda each: (
                each["name"],
                each["version"],
                moment(each["created_at"], utc=utc),
                each["created_by"],
                ", ".join(each["hosts"]) or "any",
                moment(each["previous_until"], utc=utc),
            ),
            empty="No secrets. Set one with foliot secret set NAME.",
            as_json=as_json,
        )


@group.command(epilog=CLIENT_VARIABLES)
@asks
def delete(name: Name) -> None:
    """Delete a secret with all its versions; webhooks that name it fail from then on."""
    with asking() as client:
        client.delete(f"/api/secrets/{segment(name)}")
        note(f"secret {name} is deleted")


@group.command(epilog=SERVER_VARIABLES)
@needs(READ_HOUSE, WRITE_HOUSE)
def rekey(home: Home = None, as_json: Json = False) -> None:
    """Seal every secret with the first key of FOLIOT_SECRET_KEY; asks the database, not a server.

    Also the credentials that headers and URLs of schedules and runs hold, and those that an older Foliot left open.

    Interrupted, it goes on where it stopped when it is run again. Exit 1 when some could not be opened.
    """
    import asyncio

    from foliot.config.settings import Settings

    with one_line_errors():
        settings = Settings.load(os.environ, home=home)
        if settings.is_sqlite and (settings.sqlite_path is None or not settings.sqlite_path.exists()):
            raise Failure(f"there is no database at {settings.database_shown}: start one with foliot up")
        done = asyncio.run(_rekey(settings))
        if as_json:
            print_json({"ok": not done.shut, **asdict(done)})
        else:
            typer.echo(f"{count(done.done, 'version')} of secrets sealed with the newest key")
            if done.actions:
                typer.echo(f"credentials of {count(done.actions, 'stored action')} sealed with it too")
            for each in done.shut:
                note(printable(f"{each} cannot be opened by any key given: set it again, or give its key back"))
        raise typer.Exit(Exit.FAILED if done.shut else Exit.DONE)


async def _rekey(settings: Settings) -> Rekeyed:
    from foliot.app import build
    from foliot.cli.revision import refuse_other_revision

    caller = caller_of(rekey)
    await refuse_other_revision(settings)
    app = build.build(settings, http=False, engine=False)
    try:
        await app.start()
        with counting("secrets sealed", await app.usecases[Secrets].stale(caller)) as progress:
            return await app.usecases[Secrets].rekey(caller, progress)
    finally:
        await app.stop()


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True))
    # The end of a line belongs to the file or the pipe, not to the secret.
    value = sys.stdin.read(MOST).removesuffix("\n").removesuffix("\r")
    if not value:
        raise Failure("standard input held no value", Exit.USAGE)
    return value
