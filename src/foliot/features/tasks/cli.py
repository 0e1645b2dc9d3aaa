"""`foliot task …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.features.runs.view import RUN, print_event
from foliot.terminal.client import Client, connect, segment
from foliot.terminal.follow import follow_run
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.options import Json, Utc, duration, parameter
from foliot.terminal.output import Exit, note, print_json

group = CommandGroup("Show the registered Python functions, and run one.")

Name = Annotated[str, typer.Argument(help="The task's name.", metavar="NAME")]


def _parameters(task: JsonObject) -> str:
    required = task["parameters.required"] or ()
    return ", ".join(name if name in required else f"[{name}]" for name in task["parameters.properties"] or ())


def _note_faults(answer: JsonObject) -> None:
    for fault in answer["faults"] or ():
        note(fault)


TASKS = Table(
    "name, where, queue, parameters, what: description",
    computed={"where": lambda task: "built in" if task["built_in"] else task["module"], "parameters": _parameters},
    empty="No tasks.",
    then=_note_faults,
)
TASK = Facts(
    "name, what: description, where: module, queue, retries, own process, schedule, "
    "parameters: parameters.properties, required: parameters.required[]",
    computed={"own process": lambda task: "yes" if task["cpu"] else ""},
)


@group.get("/api/tasks", TASKS, utc=False)
def list_() -> None:
    """List tasks: built in, from FOLIOT_TASKS, and from installed packages."""


@group.get("/api/tasks/{name}", TASK, utc=False)
def show(name: Name) -> None:
    """Show a task and its parameters."""


@group.command()
def run(  # noqa: PLR0913 -- a command has as many arguments as flags
    name: Name,
    param: Annotated[
        list[str] | None,
        typer.Option(help="key=value; JSON if it parses as JSON, else text; key=@FILE reads JSON. May be repeated."),
    ] = None,
    *,
    queue: Annotated[str | None, typer.Option(help="The queue of the run.", show_default="manual")] = None,
    timeout: Annotated[str | None, typer.Option(help="How long an attempt may take: 30s, 5m.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait until it has ended; exit 1 unless it succeeds.")
    ] = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Run a task now, outside any schedule.

    foliot task run resize_pictures --param folder=/srv/pictures --param width=800 --follow
    """
    with connect() as client:
        body: dict[str, Any] = {
            "parameters": dict(parameter("--param", text) for text in param or ()),
            "queue": queue,
            "timeout_seconds": None if timeout is None else duration("--timeout", timeout),
        }
        started = client.request("POST", f"/api/tasks/{segment(name)}/run", body)
        ended = _follow(client, started["id"], quiet=as_json, utc=utc) if follow else None
        if as_json:
            print_json(ended or started)
        else:
            RUN(JsonObject(ended or started, utc))
        if ended is not None:
            raise typer.Exit(Exit.of_state(ended["state"]))


def _follow(client: Client, run_id: str, *, quiet: bool, utc: bool | None) -> dict[str, Any]:
    """Print the events until the run has ended; returns it."""
    for event in follow_run(client, run_id, 0):
        if not quiet:
            print_event(event, as_json=False, utc=utc)
    ended: dict[str, Any] = client.get(f"/api/runs/{segment(run_id)}")
    return ended
