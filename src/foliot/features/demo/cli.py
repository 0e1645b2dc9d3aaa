"""`foliot demo …`: what `foliot up --demo` has made."""

from __future__ import annotations

import typer

from foliot.terminal.access import asks
from foliot.terminal.client import asking
from foliot.terminal.options import CLIENT_VARIABLES, Json
from foliot.terminal.output import count, print_json

group = typer.Typer(help="Look at the demo of foliot up --demo, or remove it.", no_args_is_help=True)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def status(as_json: Json = False) -> None:
    """Say whether the demo is on, and how much there is of it."""
    with asking() as client:
        found = client.get("/api/demo")
        if as_json:
            print_json(found)
        elif found["on"]:
            typer.echo(f"The demo is on: {count(found['schedules'], 'schedule')}, {count(found['runs'], 'run')}.")
        else:
            typer.echo("There is no demo here. Start one: foliot up --demo")


@group.command(epilog=CLIENT_VARIABLES)
@asks
def remove(as_json: Json = False) -> None:
    """Remove everything that the demo made, and nothing else."""
    with asking() as client:
        gone = client.delete("/api/demo")
        if as_json:
            print_json(gone)
        else:
            typer.echo(f"Removed {count(gone['schedules'], 'schedule')} and {count(gone['runs'], 'run')} of the demo.")
