"""`foliot pipeline list`, `show` and `start`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.features.runs.view import RUN
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.output import note, printable

group = CommandGroup()

Name = Annotated[str, typer.Argument(help="The pipeline's name.", metavar="NAME")]


def _state(pipeline: JsonObject) -> str:
    paused = pipeline["state"] == "loaded" and pipeline["status"] == "paused"
    return "paused" if paused else str(pipeline["state"])


def _error(error: JsonObject) -> str | None:
    if not error.raw:
        return None
    place = error["file"] if error["line"] is None else f"{error['file']}:{error['line']}:{error['column']}"
    return f"{place}: {error['message']}" + (f" ({error['suggestion']})" if error["suggestion"] else "")


def _note_errors(answer: JsonObject) -> None:
    errors = [*answer.each("faults"), *(JsonObject(pipeline["error"]) for pipeline in answer.each("items"))]
    for error in dict.fromkeys(filter(None, map(_error, errors))):
        note(error)


def _show_yaml(pipeline: JsonObject) -> None:
    typer.echo("\n".join(printable(line) for line in pipeline["yaml"].splitlines()))
    _RUNS(pipeline)


PIPELINES = Table(
    "name, state, when: summary, next run: @next_run_at, last run: last_run.state",
    computed={"state": _state},
    empty=lambda answer: (
        "No pipelines: the file has errors."
        if answer["faults"]
        else "No pipelines. Start the server with --pipelines FILE."
    ),
    then=_note_errors,
)
PIPELINE = Facts(
    "name, state, error, when: summary, next run: @next_run_at, schedule: schedule_id, revision, file, steps",
    computed={
        "state": _state,
        "error": lambda pipeline: _error(JsonObject(pipeline["error"])),
        "steps": lambda pipeline: " → ".join(step["name"] for step in pipeline["steps"]),
    },
    then=_show_yaml,
)
_RUNS = Table(
    "run: id, state, started: @started_at, ms: duration_ms, items of each step",
    computed={"items of each step": lambda run: ", ".join(f"{step['name']} {step['out']}" for step in run["steps"])},
    empty="It has not run yet.",
    items="runs",
)


@group.get("/api/pipelines", PIPELINES)
def list_() -> None:
    """List the pipelines of a server, and when each runs next."""


@group.get("/api/pipelines/{name}", PIPELINE)
def show(name: Name) -> None:
    """Show a pipeline of a server: its steps, its definition in the file, and its newest runs."""


@group.post("/api/pipelines/{name}/run", RUN)
def start(name: Name) -> None:
    """Run a pipeline of a server now, outside its schedule."""
