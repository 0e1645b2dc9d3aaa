"""Terminal output of runs and their events."""

from __future__ import annotations

from typing import Any

import typer

from foliot.features.runs.model.log import transcript_line
from foliot.terminal.output import moment, print_json
from foliot.terminal.view import Facts, Table

RUNS = Table(
    "id, schedule: schedule_name, state, kind, due: @scheduled_for|created_at, attempt, took: ~duration_ms, "
    "error: error.message",
    computed={"attempt": lambda run: f"{run['attempt']}/{run['max_attempts']}"},
    empty="No runs.",
)

_ATTEMPTS = Table(
    "attempt: number, outcome, started: @started_at, ended: @ended_at, status: response.status, error: error.message",
    items="attempts",
)

RUN = Facts(
    "id, schedule: schedule_id, kind, state, due: @scheduled_for, created: @created_at, started: @started_at, "
    "finished: @finished_at, took: ~duration_ms, late: ~lateness_ms, queue, attempt, waits until, "
    "because: waiting.message, worker, repeats: parent_id, resolved by, result, error",
    computed={
        "queue": lambda run: f"{run['queue']}, priority {run['priority']}",
        "attempt": lambda run: f"{run['attempt']} of {run['max_attempts']}",
        "waits until": lambda run: run.at("ready_at") if run["waiting"] else None,
    },
    then=_ATTEMPTS,
)


def print_event(event: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(event, indent=None)
    else:
        typer.echo(transcript_line(moment(event.get("at") or event.get("ts"), utc=utc), event))
