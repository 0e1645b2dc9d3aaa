"""`foliot view …`: saved views."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, Table
from foliot.terminal.output import note
from foliot.terminal.reference import Reference, resolve

group = CommandGroup("Save filters of runs and schedules under a name, for yourself or for the tenant.")

VIEWS = Table(
    "id, list, name, filter: q, sort, shared, by: user_id",
    empty="No saved views. Save one with foliot view save runs NAME -q FILTER.",
)
VIEW = Facts("id, list, name, filter: q, sort, shared, by: user_id, created: @created_at")


@group.get("/api/views", VIEWS, utc=False)
def list_(
    list_: Annotated[str | None, typer.Option("--list", help="Only those of runs, or of schedules.")] = None,
) -> dict[str, object]:
    """List your saved views, and those that others share."""
    return {"list": list_}


@group.post("/api/views", VIEW)
def save(
    list_: Annotated[str, typer.Argument(help="runs or schedules.", metavar="LIST")],
    name: Annotated[str, typer.Argument(help="The view's name.", metavar="NAME")],
    *,
    q: Annotated[str, typer.Option("--query", "-q", help="Its filter; empty matches all.")] = "",
    sort: Annotated[str | None, typer.Option(help="Its order, such as -duration.", metavar="[-]FIELD")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Show it to the whole tenant.")] = False,
) -> dict[str, object]:
    """Save a view. The dashboard shows it above the list.

    foliot view save runs "Failed prices" -q 'state:failed tag:prices since:24h' --shared
    """
    return {"list": list_, "name": name, "q": q, "sort": sort, "shared": shared}


@group.command()
def delete(
    view: Annotated[
        str,
        typer.Argument(help="The view's id (viw_…), the beginning of it, or its name.", metavar="VIEW"),
        Reference("view"),
    ],
) -> None:
    """Delete a saved view."""
    with connect() as client:
        client.delete(f"/api/views/{segment(resolve(client, 'view', view))}")
        note(f"view {view} is deleted")
