"""`foliot worker list`, `ping`, `drain` and `restart`."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Annotated, Any

import typer

from foliot.terminal.client import connect
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table, print_answer
from foliot.terminal.options import Json
from foliot.terminal.output import Exit

group = CommandGroup()

PAUSE = 0.1
"""Seconds between two checks of which processes have answered."""
NONE = "No process has reported: foliot up starts one."

Node = Annotated[str, typer.Argument(help="The process's id, as foliot worker list shows it.", metavar="WORKER")]


def _state(worker: JsonObject) -> str:
    return f"{worker['state']}, then restarts" if worker["wish"] == "restart" else str(worker["state"])


def _queues(worker: JsonObject) -> str:
    return "every queue" if worker["queues"] is None else ", ".join(worker["queues"])


def _running(worker: JsonObject) -> str:
    return f"{worker['in_flight']} of {worker['slots']}"


WORKERS = Table(
    "id, role, state, running, queues, started: @started_at, seen: @seen_at",
    computed={"state": _state, "running": _running, "queues": _queues},
    empty=NONE,
)
WORKER = Facts(
    "id, role, state, running, queues, seen: @seen_at",
    computed={"state": _state, "running": _running, "queues": _queues},
)
ANSWERS = Table(
    "id, role, answer",
    computed={"answer": lambda node: f"pong after {node['milliseconds']} ms" if node["answered"] else "no answer"},
    empty=NONE,
)


@group.get("/api/workers", WORKERS)
def list_() -> None:
    """List the processes that fire schedules and execute runs, with what each is doing."""


@group.command()
def ping(
    timeout: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds to wait for the answers.")] = 10.0,
    as_json: Json = False,
) -> None:
    """Ask every process to report. Exit 1 if one does not answer, or if there is none."""
    with connect() as client:
        asked = {node["id"]: node for node in client.post("/api/workers/ping")["items"]}
        waiting = {node_id for node_id, node in asked.items() if node["state"] != "stale"}
        began, took = monotonic(), dict[str, float]()
        while waiting and monotonic() - began < timeout:
            for node in client.get("/api/workers")["items"]:
                if node["id"] in waiting and node["seen_at"] != asked[node["id"]]["seen_at"]:
                    waiting.discard(node["id"])
                    took[node["id"]] = monotonic() - began
            if waiting:
                threading.Event().wait(PAUSE)
    answers = {"items": [_answer(node, took.get(node_id)) for node_id, node in asked.items()]}
    print_answer(answers, ANSWERS, as_json=as_json)
    raise typer.Exit(Exit.FAILED if waiting or not took else Exit.DONE)


def _answer(node: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    return {
        "id": node["id"],
        "role": node["role"],
        "answered": seconds is not None,
        "milliseconds": None if seconds is None else round(seconds * 1000),
    }


@group.post("/api/workers/{worker}/drain", WORKER)
def drain(worker: Node) -> None:
    """Drain a process: it takes no new runs, finishes those it has, and waits to be stopped or restarted."""


@group.post("/api/workers/{worker}/restart", WORKER)
def restart(worker: Node) -> None:
    """Restart a process: it takes no new runs, finishes those it has, and starts again."""
