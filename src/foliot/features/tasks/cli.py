"""`foliot task …`: which functions schedules can run, and running one now."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from foliot.features.runs.cli import print_event, show_run
from foliot.terminal import flag_values as drafting
from foliot.terminal.client import Client, asking, segment
from foliot.terminal.options import Json, Utc
from foliot.terminal.output import Exit, facts, listing, note, print_json

group = typer.Typer(help="See the registered functions, and run one.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The task's name.", metavar="NAME")]
ENDED_WELL = frozenset({"success", "partial"})


@group.command("list")
def list_(as_json: Json = False) -> None:
    """List tasks: built in, of FOLIOT_TASKS, and of installed packages."""
    with asking() as client:
        found = client.get("/api/tasks")

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            where = "built in" if each["built_in"] else each["module"]
            return each["name"], where, each["queue"], _taken(each), each["description"]

        listing(found, ("name", "where", "queue", "parameters", "what"), row, empty="No tasks.", as_json=as_json)
        for fault in () if as_json else found.get("faults") or ():
            note(fault)


@group.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show a task and what it takes."""
    with asking() as client:
        found = client.get(f"/api/tasks/{segment(name)}")
        if as_json:
            print_json(found)
            return
        facts(
            [
                ("name", found["name"]),
                ("what", found["description"]),
                ("where", found["module"]),
                ("queue", found["queue"]),
                ("retries", found["retries"]),
                ("own process", "yes" if found["cpu"] else ""),
                ("schedule", found["schedule"]),
                ("parameters", found["parameters"].get("properties")),
                ("required", ", ".join(found["parameters"].get("required", []))),
            ]
        )


@group.command()
def run(  # noqa: PLR0913 -- a command has as many arguments as flags
    name: Name,
    param: Annotated[
        list[str] | None,
        typer.Option(help="key=value; JSON where it is JSON, else text; key=@FILE reads JSON. May be repeated."),
    ] = None,
    *,
    queue: Annotated[str | None, typer.Option(help="The queue of the run.", show_default="manual")] = None,
    timeout: Annotated[str | None, typer.Option(help="How long an attempt may take: 30s, 5m.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Stay until it has ended; exit 1 unless it ended well.")
    ] = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Run a task now, outside any schedule.

    foliot task run resize_pictures --param folder=/srv/pictures --param width=800 --follow
    """
    with asking() as client:
        body: dict[str, Any] = {"parameters": dict(_parameter(text) for text in param or [])}
        if queue is not None:
            body["queue"] = queue
        if timeout is not None:
            body["timeout_seconds"] = drafting.duration("--timeout", timeout)
        made = client.post(f"/api/tasks/{segment(name)}/run", body)
        if not follow:
            show_run(made, as_json=as_json, utc=utc)
            return
        _follow(client, made["id"], as_json=as_json, utc=utc)


def _follow(client: Client, run_id: str, *, as_json: bool, utc: bool) -> None:
    from foliot.terminal.follow import follow_run

    for event in follow_run(client, run_id, 0):
        if not as_json:
            print_event(event, as_json=False, utc=utc)
    ended = client.get(f"/api/runs/{segment(run_id)}")
    show_run(ended, as_json=as_json, utc=utc)
    raise typer.Exit(Exit.DONE if ended["state"] in ENDED_WELL else Exit.FAILED)


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise drafting.usage(f"--param: must be key=value, got {text!r}")
    if value.startswith("@"):
        return name.strip(), drafting.json_or_file("--param", value)
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _taken(task: dict[str, Any]) -> str:
    needed = set(task["parameters"].get("required", []))
    names = task["parameters"].get("properties", {})
    return ", ".join(name if name in needed else f"[{name}]" for name in names)
