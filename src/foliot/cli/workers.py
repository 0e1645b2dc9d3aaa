"""`foliot worker`: starts one; its commands look at those that run and ask something of them."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Annotated, Any

import typer

from foliot.cli import serve
from foliot.terminal.access import READ_HOUSE, WRITE_HOUSE, asks, needs
from foliot.terminal.client import asking, segment
from foliot.terminal.options import CLIENT_VARIABLES, Json, Utc
from foliot.terminal.output import Exit, facts, listing, moment, print_json, table

group = typer.Typer(invoke_without_command=True)

PAUSE = 0.1
"""Seconds between two looks at who has answered."""

Node = Annotated[str, typer.Argument(help="The process's id, as foliot worker list shows it.", metavar="WORKER")]


@group.callback()
@needs(READ_HOUSE, WRITE_HOUSE)
def worker(
    context: typer.Context,
    queues: serve.Queues = None,
    concurrency: serve.Concurrency = None,
    max_runs: serve.MaxRuns = None,
    log_level: serve.LogLevel = None,
) -> None:
    """Run a worker alone: it executes what schedulers fire. As many as wanted share a database, and a broker.

    Without FOLIOT_BROKER_URL it takes its runs from the database.
    """
    if context.invoked_subcommand is None:
        serve.worker(queues, concurrency, max_runs, log_level)


@group.command("list", epilog=CLIENT_VARIABLES)
@asks
def list_(as_json: Json = False, utc: Utc = False) -> None:
    """List the processes that fire and execute, with what each is doing."""
    with asking() as client:
        found = client.get("/api/workers")

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            return (
                each["id"],
                each["role"],
                _state(each),
                f"{each['in_flight']} of {each['slots']}",
                _queues(each),
                moment(each["started_at"], utc=utc),
                moment(each["seen_at"], utc=utc),
            )

        columns = ("id", "role", "state", "running", "queues", "started", "seen")
        listing(found, columns, row, empty="No process has reported: foliot up starts one.", as_json=as_json)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def ping(
    timeout: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds to wait for the answers.")] = 10.0,
    as_json: Json = False,
) -> None:
    """Ask every process whether it lives. Exit 1 when one does not answer, or there is none."""
    with asking() as client:
        asked = {each["id"]: each for each in client.post("/api/workers/ping")["items"]}
        waiting = {node for node, each in asked.items() if each["state"] != "stale"}
        began, took = monotonic(), dict[str, float]()
        while waiting and monotonic() - began < timeout:
            for each in client.get("/api/workers")["items"]:
                if each["id"] in waiting and each["seen_at"] != asked[each["id"]]["seen_at"]:
                    waiting.discard(each["id"])
                    took[each["id"]] = monotonic() - began
            if waiting:
                threading.Event().wait(PAUSE)
    _pinged(asked, took, as_json=as_json)
    raise typer.Exit(Exit.FAILED if waiting or not took else Exit.DONE)


def _pinged(asked: dict[str, dict[str, Any]], took: dict[str, float], *, as_json: bool) -> None:
    answers = [
        {
            "id": node,
            "role": each["role"],
            "answered": node in took,
            "milliseconds": round(took[node] * 1000) if node in took else None,
        }
        for node, each in asked.items()
    ]
    if as_json:
        print_json({"items": answers})
        return
    rows = [
        (each["id"], each["role"], f"pong after {each['milliseconds']} ms" if each["answered"] else "no answer")
        for each in answers
    ]
    table(("id", "role", "answer"), rows, empty="No process has reported: foliot up starts one.")


@group.command(epilog=CLIENT_VARIABLES)
@asks
def drain(worker: Node, as_json: Json = False, utc: Utc = False) -> None:
    """Let a process take no new runs; it finishes those it has, and waits to be stopped or restarted."""
    _ask(worker, "drain", as_json=as_json, utc=utc)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def restart(worker: Node, as_json: Json = False, utc: Utc = False) -> None:
    """Let a process take no new runs, finish those it has, and begin anew."""
    _ask(worker, "restart", as_json=as_json, utc=utc)


def _ask(worker: str, wish: str, *, as_json: bool, utc: bool) -> None:
    with asking() as client:
        found = client.post(f"/api/workers/{segment(worker)}/{wish}")
        if as_json:
            print_json(found)
            return
        facts(
            [
                ("id", found["id"]),
                ("role", found["role"]),
                ("state", _state(found)),
                ("running", f"{found['in_flight']} of {found['slots']}"),
                ("queues", _queues(found)),
                ("seen", moment(found["seen_at"], utc=utc)),
            ]
        )


def _state(worker: dict[str, Any]) -> str:
    wish = worker.get("wish")
    return f"{worker['state']}, then restarts" if wish == "restart" else str(worker["state"])


def _queues(worker: dict[str, Any]) -> str:
    return "every queue" if worker.get("queues") is None else ", ".join(worker["queues"])
