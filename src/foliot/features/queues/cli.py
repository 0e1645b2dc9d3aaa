"""`foliot queue …`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from foliot.features.queues.model import HistoryRange
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table, duration
from foliot.terminal.output import moment
from foliot.terminal.table import table

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


def _show_history(answer: JsonObject) -> None:
    """The steps that were sampled: of one queue, or of all slots."""
    rows: list[tuple[object, ...]] = []
    (queue,) = answer.each("queues") if answer.sent.get("queue") else (None,)
    for place, at in enumerate(answer["at"]):
        if answer["slots"][place] is None:
            continue
        start = moment(at, utc=answer.utc)
        if queue is None:
            waiting = sum(one["waiting"][place] for one in answer.each("queues"))
            ended = sum(one["ended"][place] for one in answer.each("queues"))
            rows.append((start, waiting, answer["busy"][place], answer["slots"][place], ended))
        else:
            waited = duration(queue["oldest_ms"][place] or None)
            rows.append((start, queue["waiting"][place], waited, queue["running"][place], queue["ended"][place]))
    head = ("from", "waiting", "busy", "slots", "ended") if queue is None else _QUEUE_HISTORY
    table(head, rows, empty="Nothing was sampled in this time.", rigid=("from",))


_QUEUE_HISTORY = ("from", "waiting", "longest wait", "running", "ended")
History = Annotated[
    HistoryRange, typer.Option("--range", help="24h in steps of 15 minutes, or 7d in steps of an hour.")
]
OneQueue = Annotated[str | None, typer.Argument(help="The queue's name; without it, all queues.", metavar="[QUEUE]")]


@group.get("/api/queues/history", _show_history)
def history(queue: OneQueue = None, range_: History = HistoryRange.DAY) -> Mapping[str, object]:
    """Show what waited, ran and ended over time, and how many slots were busy (role system)."""
    return {"range": range_.value, **({} if queue is None else {"queue": queue})}
