"""`foliot demo …`."""

from __future__ import annotations

import typer

from foliot.terminal.group import CommandGroup, JsonObject
from foliot.terminal.output import count

group = CommandGroup("Show or remove the demo data of foliot up --demo.")


def _show_status(demo: JsonObject) -> None:
    if demo["on"]:
        typer.echo(f"The demo is on: {count(demo['schedules'], 'schedule')}, {count(demo['runs'], 'run')}.")
    else:
        typer.echo("There is no demo here. Start one: foliot up --demo")


def _show_removed(removed: JsonObject) -> None:
    typer.echo(f"Removed {count(removed['schedules'], 'schedule')} and {count(removed['runs'], 'run')} of the demo.")


@group.get("/api/demo", _show_status, utc=False)
def status() -> None:
    """Show whether the demo is on, and how much data it has."""


@group.delete("/api/demo", _show_removed)
def remove() -> None:
    """Remove everything that the demo created, and nothing else."""
