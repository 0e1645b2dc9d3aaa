"""Every command, in the order in which `foliot --help` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

import foliot
from foliot.cli import runs, schedules, serve, upkeep
from foliot.cli.printing import EXIT_CODES

app = typer.Typer(
    name="foliot",
    help="Fires web work at the right instant, exactly once, and shows what happened and why.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foliot {foliot.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Fires web work at the right instant, exactly once, and shows what happened and why."""


SERVER = "Run a server"
UPKEEP = "Look after it"
CLIENT = "Talk to a running server"

app.command(rich_help_panel=SERVER)(serve.up)
app.command(rich_help_panel=SERVER)(serve.api)
app.command(rich_help_panel=SERVER)(serve.scheduler)
app.command(rich_help_panel=UPKEEP)(upkeep.migrate)
app.command(rich_help_panel=UPKEEP)(upkeep.check)
app.command(rich_help_panel=UPKEEP)(upkeep.audit)
app.add_typer(schedules.group, name="schedule", rich_help_panel=CLIENT)
app.add_typer(runs.group, name="run", rich_help_panel=CLIENT)
app.add_typer(runs.dead_letters, name="dead-letter", rich_help_panel=CLIENT)
app.command(rich_help_panel=CLIENT)(runs.health)
