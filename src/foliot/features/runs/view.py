"""Terminal output of runs and their events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from foliot.features.runs.model.log import transcript_line
from foliot.terminal.group import Facts, JsonObject, Table
from foliot.terminal.output import moment, print_json

RUNS = Table(
    "id, schedule: schedule_name, state, kind?, due: @scheduled_for|created_at, attempt?, took: ~duration_ms, "
    "error?: error.message",
    computed={"attempt": lambda run: f"{run['attempt']}/{run['max_attempts']}"},
    empty="No runs.",
)

_REQUESTS = Table(
    "attempt: number, request, dns: ~timing.dns_ms, connect: ~timing.connect_ms, tls: ~timing.tls_ms, "
    "first byte: ~timing.first_byte_ms, total: ~timing.total_ms",
    items="attempts",
    computed={"request": lambda attempt: f"{attempt['request.method']} {attempt['request.url']}"},
)


def _sent(run: JsonObject) -> None:
    """The requests of its attempts, and how long each phase took."""
    _REQUESTS(replace(run, raw={"attempts": [each.raw for each in run.each("attempts") if each["request"]]}))


_ATTEMPTS = Table(
    "attempt: number, outcome, started: @started_at, ended: @ended_at, status: response.status, error: error.message",
    items="attempts",
    then=_sent,
)

RUN = Facts(
    "id, schedule, kind, state, due: @scheduled_for, created: @created_at, started: @started_at, "
    "finished: @finished_at, took: ~duration_ms, late: ~lateness_ms, queue, attempt, waits until, "
    "because: waiting.message, worker, repeats, follows, resolved by, result, error",
    computed={
        "schedule": lambda run: " ".join(filter(None, (run["schedule_name"], run["schedule_id"]))),
        "queue": lambda run: f"{run['queue']}, priority {run['priority']}",
        "attempt": lambda run: f"{run['attempt']} of {run['max_attempts']}",
        "repeats": lambda run: None if run["origin"] == "after" else run["parent_id"],
        "follows": lambda run: run["parent_id"] if run["origin"] == "after" else None,
        "waits until": lambda run: run.at("ready_at") if run["waiting"] else None,
    },
    then=_ATTEMPTS,
)


def print_event(event: dict[str, Any], *, as_json: bool, utc: bool | None) -> None:
    if as_json:
        print_json(event, indent=None)
    else:
        typer.echo(transcript_line(moment(event.get("at") or event.get("ts"), utc=utc), event))
