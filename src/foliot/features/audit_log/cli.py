"""`foliot audit list` and `revert`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.features.schedules.view import SCHEDULE
from foliot.terminal.group import CommandGroup, JsonObject, Table
from foliot.terminal.options import From, To

group = CommandGroup()


def _who(entry: JsonObject) -> str:
    return str(entry["user_id"]) + (f" ({entry['key_id']})" if entry["key_id"] else "")


ENTRIES = Table(
    "at: @at, who, via: door, verb, thing, id: thing_id, name: thing_name, seq, entry: id",
    computed={"who": _who},
    empty="No changes are recorded.",
)


@group.get("/api/audit", ENTRIES, paged=True)
def list_(
    *,
    user: Annotated[str | None, typer.Option(help="Only changes by this user.")] = None,
    thing: Annotated[str | None, typer.Option(help="Only changes of this kind of thing: schedule, run, key, …")] = None,
    thing_id: Annotated[str | None, typer.Option("--id", help="Only changes of the thing with this id.")] = None,
    verb: Annotated[str | None, typer.Option(help="Only this kind of change: create, patch, pause, …")] = None,
    from_: From = None,
    to: To = None,
) -> None:
    """List changes, newest first: who changed what, and when."""


@group.post("/api/audit/{entry}/revert", SCHEDULE)
def revert(entry: Annotated[str, typer.Argument(help="The entry's id (aud_…).", metavar="ENTRY")]) -> None:
    """Revert an edit of a schedule: restores what it was before, as a new edit."""
