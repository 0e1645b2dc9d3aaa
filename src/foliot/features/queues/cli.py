"""`foliot queue …`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table

group = CommandGroup("Show queues; pause and resume them (role system).")

Queue = Annotated[str, typer.Argument(help="The queue's name.", metavar="QUEUE")]


def _paused(queue: JsonObject) -> str:
    if queue["paused_at"] is None:
        return ""
    return f"since {queue.at('paused_at')}" + (f": {queue['reason']}" if queue["reason"] else "")


QUEUES = Table(
    "queue: name, waiting: depth, oldest: @oldest, running: in_flight, ended/min: per_minute, workers, paused",
    computed={"workers": lambda queue: "" if queue["workers"] is None else len(queue["workers"]), "paused": _paused},
    empty="There are no queues.",
)
QUEUE = Facts(
    "queue: name, paused, by: paused_by, waiting: depth, running: in_flight, workers",
    computed={"paused": lambda queue: _paused(queue) or "no", "workers": lambda queue: len(queue["workers"] or ())},
)


@group.get("/api/queues", QUEUES)
def list_() -> None:
    """List queues, with how many runs wait and execute in each."""


@group.post("/api/queues/{queue}/pause", QUEUE)
def pause(queue: Queue, reason: Annotated[str, typer.Option(help="Why; shown with the queue.")] = "") -> None:
    """Pause a queue for all tenants: no run of it starts. Running ones continue; new ones wait."""


@group.post("/api/queues/{queue}/resume", QUEUE)
def resume(queue: Queue) -> None:
    """Resume a paused queue."""
