"""`foliot bulk …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.features.bulk.view import BULK, exit_of, follow_bulk, show_bulk
from foliot.terminal.client import Client, connect, segment
from foliot.terminal.group import CommandGroup, JsonObject, Table, print_answer
from foliot.terminal.options import (
    AsOf,
    Canary,
    DryRun,
    Json,
    NewestFirst,
    Patch,
    Rate,
    StopAfter,
    Utc,
    json_or_file,
    usage,
)
from foliot.terminal.output import count, note, print_json
from foliot.terminal.reference import Reference, resolve

group = CommandGroup("Act on everything that matches a filter, and follow the progress.")

BulkId = Annotated[
    str,
    typer.Argument(help="The bulk action's id (blk_…), or the beginning of it.", metavar="BULK"),
    Reference("bulk"),
]
Follow = Annotated[
    bool,
    typer.Option("--follow", "-f", help="Wait until it is over; exit 6 if some failed, 1 if all did or it stopped."),
]
SCHEDULE_ACTIONS = frozenset({"pause", "resume", "run", "tag", "delete"})
BULKS = Table(
    "id, action, state, done, failed, on, by: user_id",
    computed={
        "done": lambda bulk: f"{bulk['done']}/{bulk['total']}",
        "on": lambda bulk: count(bulk["ids_given"], "id") if bulk["filter"] is None else bulk["filter"],
    },
    empty="No bulk actions.",
)


@group.command()
def start(  # noqa: PLR0913 -- a command has as many arguments as flags
    action: Annotated[
        str,
        typer.Argument(help="On runs: cancel, retry, replay, discard. On schedules: pause, resume, run, tag, delete."),
    ],
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids, or names of schedules, instead of a filter.", metavar="ID..."),
    ] = None,
    *,
    q: Annotated[
        str | None,
        typer.Option("--query", "-q", help="Everything that matches this filter; '' means all it can act on."),
    ] = None,
    rate: Rate = 5,
    stop_after: StopAfter = None,
    newest: NewestFirst = False,
    dry_run: DryRun = False,
    expect: Annotated[int | None, typer.Option(min=0, help="Refuse unless exactly this many match now.")] = None,
    add_tag: Annotated[list[str] | None, typer.Option(help="With tag: a tag to add; may be repeated.")] = None,
    remove_tag: Annotated[list[str] | None, typer.Option(help="With tag: a tag to remove; may be repeated.")] = None,
    as_of: AsOf = None,
    patch: Patch = None,
    canary: Canary = None,
    follow: Follow = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Act on many runs or schedules. What matches now is fixed; each is acted on once, even across restarts.

    A replay sends one dead letter first. The others follow if it succeeds, retries included; else the action stops.

    foliot bulk start replay -q 'fingerprint:ab12 since:24h' --rate 5 --stop-after 3 --dry-run
    """
    with connect() as client:
        if bool(ids) == (q is not None):
            raise usage("give either ids, or --query with a filter")
        kind = "schedule" if action in SCHEDULE_ACTIONS else "run"
        body: dict[str, Any] = {
            "action": action,
            "ids": [resolve(client, kind, one) for one in ids or ()] or None,
            "filter": q,
            "rate": rate,
            "order": "newest" if newest else None,
            "dry_run": dry_run,
            "stop_after": stop_after,
            "expect": expect,
            "add_tags": add_tag or None,
            "remove_tags": remove_tag or None,
            "as_of": as_of,
            "canary": canary,
            "patch": None if patch is None else json_or_file("--patch", patch),
        }
        answer = client.request("POST", "/api/bulk", body)
        if follow and not dry_run:
            _follow(client, answer, as_json=as_json, utc=utc)
        elif as_json:
            print_json(answer)
        else:
            show_bulk(action, JsonObject(answer, utc))


def _follow(client: Client, bulk: Any, *, as_json: bool, utc: bool | None) -> None:
    """Print how it ended, and end likewise."""
    if not as_json:
        note(f"{bulk['id']} goes on if this is interrupted: foliot bulk show {bulk['id']} --follow")
    bulk = follow_bulk(client, bulk)
    print_answer(bulk, BULK, as_json=as_json, utc=utc)
    raise typer.Exit(exit_of(bulk))


@group.get("/api/bulk", BULKS, paged=True, utc=False)
def list_() -> None:
    """List bulk actions, newest first."""


@group.command()
def show(bulk: BulkId, *, follow: Follow = False, as_json: Json = False, utc: Utc = None) -> None:
    """Show the progress of a bulk action, and what failed."""
    with connect() as client:
        found = client.get(f"/api/bulk/{segment(resolve(client, 'bulk', bulk))}")
        if follow:
            _follow(client, found, as_json=as_json, utc=utc)
        print_answer(found, BULK, as_json=as_json, utc=utc)


@group.post("/api/bulk/{bulk}/pause", BULK)
def pause(bulk: BulkId) -> None:
    """Pause a bulk action until it is resumed."""


@group.post("/api/bulk/{bulk}/resume", BULK)
def resume(bulk: BulkId) -> None:
    """Resume a paused bulk action."""


@group.post("/api/bulk/{bulk}/stop", BULK)
def stop(bulk: BulkId) -> None:
    """Stop a bulk action for good; what has been done is not undone."""
