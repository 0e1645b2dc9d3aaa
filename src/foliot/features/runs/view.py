"""How runs and their events are printed at a terminal."""

from __future__ import annotations

from typing import Any

import typer

from foliot.features.runs.model.transcript import transcript_line
from foliot.terminal.output import moment, print_json
from foliot.terminal.view import Facts, Table, at, took

RUNS = Table(
    {
        "id": "id",
        "schedule": "schedule_name",
        "state": "state",
        "kind": "kind",
        "due": at("scheduled_for", "created_at"),
        "attempt": lambda run: f"{run['attempt']}/{run['max_attempts']}",
        "took": took("duration_ms"),
        "error": "error.message",
    },
    empty="No runs.",
)

_ATTEMPTS = Table(
    {
        "attempt": "number",
        "outcome": "outcome",
        "started": at("started_at"),
        "ended": at("ended_at"),
        "status": "response.status",
        "error": "error.message",
    },
    items="attempts",
)

RUN = Facts(
    {
        "id": "id",
        "schedule": "schedule_id",
        "kind": "kind",
        "state": "state",
        "due": at("scheduled_for"),
        "created": at("created_at"),
        "started": at("started_at"),
        "finished": at("finished_at"),
        "took": took("duration_ms"),
        "late": took("lateness_ms"),
        "queue": lambda run: f"{run['queue']}, priority {run['priority']}",
        "attempt": lambda run: f"{run['attempt']} of {run['max_attempts']}",
        "waits until": lambda run: run.at("ready_at") if run["waiting"] else None,
        "because": "waiting.message",
        "worker": "worker",
        "repeats": "parent_id",
        "resolved by": "resolved_by",
        "result": "result",
        "error": "error",
    },
    then=_ATTEMPTS,
)


def print_event(event: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(event, indent=None)
    else:
        typer.echo(transcript_line(moment(event.get("at") or event.get("ts"), utc=utc), event))
