"""`foliot schedule …`: create, show and control schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from foliot.features.runs.view import RUN, RUNS
from foliot.features.schedules.view import SCHEDULE
from foliot.terminal.client import connect, segment
from foliot.terminal.flag_values import document, duration, json_or_file, usage
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import STATE_FLAGS, STATUS_FLAGS, From, Kind, ScheduleId, To, Yes
from foliot.terminal.output import confirm, printable, table
from foliot.terminal.view import JsonObject, Table

group = CommandGroup()

Cron = Annotated[str | None, typer.Option(help="A cron expression: 5 fields, 6 with seconds first, or @daily.")]
Every = Annotated[str | None, typer.Option(help="An interval: 30s, 15m, 4h, 1h30m.")]
At = Annotated[str | None, typer.Option(help="A single time, with its offset: 2027-01-01T09:00:00Z.")]
Timezone = Annotated[str | None, typer.Option(help="Time zone of the trigger, such as Europe/Stockholm.")]
Search = Annotated[
    str | None,
    typer.Option("--search", "-q", help="Part of the name, or a filter such as 'tag:prices failing:true'."),
]

FILTERS = ("status", "type", "kind", "tag", "q")


def _none(answer: JsonObject) -> str:
    if any(answer.sent[name] is not None for name in FILTERS):
        return "No schedule matches these filters."
    return "No schedules. Create one: foliot schedule create NAME --every 15m --url https://…"


SCHEDULES = Table("id, name, status, when: summary, next run: @next_run_at", empty=_none)
INSTANTS = Table("at: @at, outcome, reason, run: run_id", empty="No instants in this time range.")


@group.post("/api/schedules", SCHEDULE)
def create(  # noqa: PLR0913 -- a command has as many arguments as flags
    name: Annotated[str | None, typer.Argument(help="Its name.")] = None,
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    url: Annotated[str | None, typer.Option(help="URL of the webhook.")] = None,
    method: Annotated[str | None, typer.Option(help="HTTP method of the webhook.", show_default="POST")] = None,
    header: Annotated[list[str] | None, typer.Option(help="A header, 'Name: value'; may be repeated.")] = None,
    body: Annotated[str | None, typer.Option(help="Body of the webhook: JSON, or @FILE.")] = None,
    overlap: Annotated[
        str | None,
        typer.Option(help="skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all."),
    ] = None,
    catchup: Annotated[str | None, typer.Option(help="After an outage: none, latest or all.")] = None,
    retries: Annotated[int | None, typer.Option(help="How often a failed run is retried.")] = None,
    queue: Annotated[str | None, typer.Option(help="The queue of its runs.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 (most urgent) to 10.")] = None,
    timeout: Annotated[str | None, typer.Option(help="How long an attempt may take: 30s, 5m.")] = None,
    jitter: Annotated[str | None, typer.Option(help="Spread the starts over this long: 30s.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    file: Annotated[
        str | None, typer.Option(help="The whole document as JSON (- for standard input); flags override it.")
    ] = None,
) -> dict[str, object]:
    """Create a schedule, from flags or from a file.

    foliot schedule create prices --cron '0 2 * * *' --timezone Europe/Stockholm --url https://example.com/hook
    """
    draft = document("--file", file) if file is not None else {}
    draft |= _trigger(cron, every, at, timezone) | _webhook(url, method, header or [], body)
    flags = {
        "name": name,
        "overlap": overlap,
        "catchup": None if catchup is None else {"mode": catchup},
        "retry_policy": None if retries is None else {"max_retries": retries},
        "queue": queue,
        "priority": priority,
        "timeout_seconds": None if timeout is None else duration("--timeout", timeout),
        "jitter_seconds": None if jitter is None else duration("--jitter", jitter),
        "tags": tag or None,
        "description": description,
    }
    return _complete(draft | {key: value for key, value in flags.items() if value is not None})


@group.get("/api/schedules/count", lambda answer: typer.echo(answer["count"]), utc=False)
def count_(q: Search = None) -> None:
    """Count schedules; the count is exact."""


@group.get("/api/schedules", SCHEDULES, paged=True)
def list_(
    *,
    status: Annotated[str | None, typer.Option(*STATUS_FLAGS, help="active, paused, completed or deleted.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="cron, interval or oneoff.")] = None,
    kind: Kind = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    q: Search = None,
) -> None:
    """List schedules, newest first."""


@group.get("/api/schedules/{schedule}", SCHEDULE)
def show(schedule: ScheduleId) -> None:
    """Show a schedule."""


@group.post("/api/schedules/{schedule}/pause", SCHEDULE)
def pause(
    schedule: ScheduleId,
    reason: Annotated[str | None, typer.Option(help="Why; shown with the schedule.")] = None,
) -> None:
    """Pause a schedule: no later instant fires, and paused time is never caught up."""


@group.post("/api/schedules/{schedule}/resume", SCHEDULE)
def resume(schedule: ScheduleId) -> None:
    """Resume a paused schedule."""


@group.post("/api/schedules/{schedule}/run-now", RUN)
def run_now(
    schedule: ScheduleId,
    payload: Annotated[str | None, typer.Option(help="Overrides for this one run: JSON, or @FILE.")] = None,
) -> dict[str, object]:
    """Start a run now, in addition to the schedule's instants."""
    return {} if payload is None else {"payload": json_or_file("--payload", payload)}


@group.command()
def delete(schedule: ScheduleId, yes: Yes = False) -> None:
    """Delete a schedule and cancel its queued runs; its history is kept."""
    with connect() as client:
        confirm(f"Delete {schedule} and cancel its queued runs?", "nothing was deleted", yes=yes)
        client.delete(f"/api/schedules/{segment(schedule)}")
        typer.echo(f"{schedule} is deleted.")


def _show_preview(answer: JsonObject) -> None:
    typer.echo(printable(answer["summary"]))
    if answer.sent["words"] is not None and answer["cron_expr"]:
        typer.echo(printable(f"cron: {answer['cron_expr']}"))
    rows = [(instant["local"], instant.at("at")) for instant in answer.each("next")]
    table(("in its zone", "UTC" if answer.utc else "here"), rows, empty="It never fires.")
    for remark in answer["notes"] or ():
        typer.echo(printable(f"Note: {remark}"))


@group.post("/api/schedules/preview", _show_preview)
def preview(  # noqa: PLR0913 -- a command has as many arguments as flags
    words: Annotated[str | None, typer.Argument(help="When, in words: 'every day at 02:30'.")] = None,
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    start: Annotated[str | None, typer.Option("--from", help="Count from this time instead of now.")] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many instants.")] = 10,
) -> dict[str, object]:
    """Show when a trigger would fire, without creating anything.

    foliot schedule preview 'weekdays at 9' --timezone Europe/Stockholm
    """
    body = _trigger(cron, every, at, timezone)
    if ("type" in body) is (words is not None):
        raise usage("a preview needs a trigger: words such as 'every day at 9', --cron, --every or --at")
    return {**body, "count": count, "words": words, "start_at": start}


@group.get("/api/schedules/{schedule}/instants", INSTANTS, paged=True)
def instants(schedule: ScheduleId, from_: From = None, to: To = None) -> None:
    """List every instant of a time range, with its outcome or what is planned."""


@group.get("/api/schedules/{schedule}/runs", RUNS, paged=True)
def runs(
    schedule: ScheduleId,
    state: Annotated[str | None, typer.Option(*STATE_FLAGS, help="Only runs in this state.")] = None,
) -> None:
    """List a schedule's runs, newest first."""


def _trigger(cron: str | None, every: str | None, at: str | None, timezone: str | None) -> dict[str, Any]:
    """The trigger; empty when no flag gives one."""
    given = [flag for flag, value in (("--cron", cron), ("--every", every), ("--at", at)) if value is not None]
    if len(given) > 1:
        raise usage(f"{' and '.join(given)} exclude each other: a schedule has one trigger")
    zone = {"timezone": timezone} if timezone is not None else {}
    if cron is not None:
        return {"type": "cron", "cron_expr": cron, **zone}
    if every is not None:
        return {"type": "interval", "interval_seconds": duration("--every", every), **zone}
    if at is not None:
        return {"type": "oneoff", "run_at": at, **zone}
    return zone


def _webhook(url: str | None, method: str | None, headers: Sequence[str], body: str | None) -> dict[str, Any]:
    """The action; empty when no flag gives one."""
    if url is None:
        if method or headers or body:
            raise usage("--method, --header and --body need --url: they describe the request that is sent to it")
        return {}
    action: dict[str, Any] = {"kind": "webhook", "url": url}
    if method is not None:
        action["method"] = method.upper()
    if headers:
        action["headers"] = dict(_header(text) for text in headers)
    if body is not None:
        action["body"] = json_or_file("--body", body)
    return {"action": action}


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise usage(f"--header: must be 'Name: value', got {text!r}")
    return name.strip(), value.strip()


def _complete(draft: Mapping[str, Any]) -> dict[str, Any]:
    """The document without absent values; a usage error when something required is missing."""
    fields = {key: value for key, value in draft.items() if value is not None}
    if not fields.get("name"):
        raise usage("a schedule needs a name: foliot schedule create NAME …, or one in --file")
    if "type" not in fields:
        raise usage("a schedule needs a trigger: give --cron '0 2 * * *', --every 15m or --at 2027-01-01T09:00:00Z")
    if "action" not in fields and "payload" not in fields:
        raise usage("a schedule needs something to do: give --url, or an action in --file")
    return fields
