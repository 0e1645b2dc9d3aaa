"""`foliot queue …`: what waits where, and pausing it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.terminal.client import asking, segment
from foliot.terminal.options import Json, Utc
from foliot.terminal.output import facts, listing, moment, print_json

group = typer.Typer(help="See what waits where; for the role system: pause and resume.", no_args_is_help=True)

Queue = Annotated[str, typer.Argument(help="The queue's name.", metavar="QUEUE")]


@group.command("list")
def list_(as_json: Json = False, utc: Utc = False) -> None:
    """List queues, with what waits and runs in each."""
    with asking() as client:
        found = client.get("/api/queues")

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            return (
                each["name"],
                each["depth"],
                moment(each.get("oldest"), utc=utc),
                each["in_flight"],
                each.get("per_minute"),
                "" if each.get("workers") is None else len(each["workers"]),
                _paused(each, utc=utc),
            )

        columns = ("queue", "waiting", "oldest", "running", "ended/min", "workers", "paused")
        listing(found, columns, row, empty="There are no queues.", as_json=as_json)


@group.command()
def pause(
    queue: Queue,
    reason: Annotated[str, typer.Option(help="Why, for whoever looks.")] = "",
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Let no run of a queue start, whichever tenant's. What runs goes on; what comes waits."""
    with asking() as client:
        _show(client.post(f"/api/queues/{segment(queue)}/pause", {"reason": reason}), as_json=as_json, utc=utc)


@group.command()
def resume(queue: Queue, as_json: Json = False, utc: Utc = False) -> None:
    """Let the runs of a queue start again."""
    with asking() as client:
        _show(client.post(f"/api/queues/{segment(queue)}/resume"), as_json=as_json, utc=utc)


def _show(queue: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(queue)
        return
    facts(
        [
            ("queue", queue["name"]),
            ("paused", _paused(queue, utc=utc) or "no"),
            ("by", queue.get("paused_by")),
            ("waiting", queue["depth"]),
            ("running", queue["in_flight"]),
            ("workers", len(queue.get("workers") or [])),
        ]
    )


def _paused(queue: dict[str, Any], *, utc: bool) -> str:
    if queue.get("paused_at") is None:
        return ""
    why = f": {queue['reason']}" if queue.get("reason") else ""
    return f"since {moment(queue['paused_at'], utc=utc)}{why}"
