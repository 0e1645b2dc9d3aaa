"""`foliot open`: the dashboard's page of a schedule, a run, a job or a part of the dashboard."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from foliot.terminal.client import Client, connect, segment
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Json
from foliot.terminal.output import note, print_json
from foliot.terminal.reference import resolve

group = CommandGroup()

PAGES = (
    "schedules",
    "calendar",
    "runs",
    "crawls",
    "pipelines",
    "dead-letters",
    "alerts",
    "endpoints",
    "queues",
    "audit-log",
    "settings",
)
"""Pages that are opened by their name; a schedule of that name is opened by its id."""


@group.command()
def open_(
    what: Annotated[
        str | None,
        typer.Argument(
            help=f"A schedule's name or id, a run's id, or a page: {', '.join(PAGES)}. Without it, the overview.",
            metavar="WHAT",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Only print the address.")] = False,
    as_json: Json = False,
) -> None:
    """Open a page of the dashboard in the browser; without a browser, print its address.

    foliot open nightly-prices
    """
    with connect() as client:
        url = f"{client.address}/{_page(client, what)}"
        if as_json:
            print_json({"url": url})
            return
        typer.echo(url)
        if not show and not _browse(url):
            note("no browser found here: open the URL yourself")


def _page(client: Client, what: str | None) -> str:
    if what is None:
        return ""
    if what in PAGES:
        return what
    if what.startswith("run_"):
        return f"runs/{segment(resolve(client, 'run', what))}"
    if what.startswith("blk_"):
        return f"bulk/{segment(resolve(client, 'bulk', what))}"
    return f"schedules/{segment(resolve(client, 'schedule', what))}"


def _browse(url: str) -> bool:
    """Whether a browser was started. A text browser would take over the terminal: it counts as none."""
    if not os.environ.get("BROWSER") and sys.platform.startswith("linux"):
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            return False
    import webbrowser

    return webbrowser.open(url)
