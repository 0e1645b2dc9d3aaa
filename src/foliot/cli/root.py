"""The root of the command line with the servers; `app` hangs all other commands on it.

A server's start is waited for, and has no use for the commands that ask one: they would take a tenth of it.
"""

from __future__ import annotations

from typing import Annotated

import typer

import foliot
from foliot.cli import serve
from foliot.terminal.options import SERVER_VARIABLES
from foliot.terminal.output import EXIT_CODES

SERVER = "Run a server"
SERVERS = (serve.up, serve.api, serve.grpc, serve.discord, serve.scheduler)


def root() -> typer.Typer:
    """`foliot`, with the servers as its only commands."""
    app = typer.Typer(
        name="foliot",
        help="Fires web work at the right instant, exactly once, and shows what happened and why.",
        epilog=EXIT_CODES,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for server in SERVERS:
        app.command(rich_help_panel=SERVER, epilog=SERVER_VARIABLES)(server)
    return app


def is_server(words: list[str]) -> bool:
    """Whether these words of a command line begin with a server's name."""
    return bool(words) and words[0] in {server.__name__ for server in SERVERS}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foliot {foliot.__version__}")
        raise typer.Exit


def _root(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Fires web work at the right instant, exactly once, and shows what happened and why."""
