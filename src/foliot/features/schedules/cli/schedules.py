"""`foliot schedule …`: create, show and control schedules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from foliot.features.runs.view import RUN, RUNS
from foliot.features.schedules.cli.flags import At, Cron, Every, ScheduleFlags, Timezone, describes_a_schedule, trigger
from foliot.features.schedules.view import SCHEDULE
from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, JsonObject, Table
from foliot.terminal.options import (
    STATE_FLAGS,
    STATUS_FLAGS,
    From,
    Kind,
    ScheduleId,
    SortSchedules,
    To,
    Yes,
    document,
    json_or_file,
    usage,
)
from foliot.terminal.output import confirm, printable
from foliot.terminal.reference import resolve
from foliot.terminal.table import table

group = CommandGroup()

Search = Annotated[
    str | None,
    typer.Option("--search", "-q", help="Part of the name, or a filter such as 'tag:prices failing:true'."),
]

FILTERS = ("status", "type", "kind", "tag", "q")


def _none(answer: JsonObject) -> str:
    if any(answer.sent[name] is not None for name in FILTERS):
        return "No schedule matches these filters."
    return "No schedules. Create one: foliot schedule create NAME --every 15m --url https://…"


SCHEDULES = Table("name, status, next run: @next_run_at, when: summary, id?", empty=_none)
CHAIN = Table("name, status, when: summary, last run: state, id", items="schedules")
INSTANTS = Table("at: @at, outcome, reason, run: run_id", empty="No instants in this time range.")


@group.post("/api/schedules", SCHEDULE)
@describes_a_schedule
def create(
    name: Annotated[str | None, typer.Argument(help="Its name.")] = None,
    *,
    flags: ScheduleFlags,
    file: Annotated[
        str | None, typer.Option(help="The whole document as JSON (- for standard input); flags override it.")
    ] = None,
) -> dict[str, object]:
    """Create a schedule, from flags or from a file.

    foliot schedule create prices --cron '0 2 * * *' --timezone Europe/Stockholm --url https://example.com/hook
    """
    draft = document("--file", file) if file is not None else {}
    named = {} if name is None else {"name": name}
    return _complete(draft | flags.fields | named | _webhook(flags.request))


@group.get("/api/schedules/count", lambda answer: typer.echo(answer["count"]), utc=False)
def count_(q: Search = None) -> None:
    """Count schedules; the count is exact."""


@group.get("/api/schedules", SCHEDULES, paged=True)
def list_(
    *,
    status: Annotated[str | None, typer.Option(*STATUS_FLAGS, help="active, paused, completed or deleted.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="cron, interval, oneoff or after.")] = None,
    kind: Kind = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    q: Search = None,
    sort: SortSchedules = None,
) -> None:
    """List schedules, newest first or in another order.

    foliot schedule list --sort urgency
    """


@group.get("/api/schedules/{schedule}", SCHEDULE)
def show(schedule: ScheduleId) -> None:
    """Show a schedule."""


@group.post("/api/schedules/{schedule}/pause", SCHEDULE)
def pause(
    schedule: ScheduleId,
    reason: Annotated[str | None, typer.Option(help="Why; shown with the schedule.")] = None,
) -> None:
    """Pause a schedule: nothing runs until you resume it, and what it misses is not caught up."""


@group.post("/api/schedules/{schedule}/resume", SCHEDULE)
def resume(schedule: ScheduleId) -> None:
    """Resume a paused schedule."""


@group.post("/api/schedules/{schedule}/take-over", SCHEDULE)
def take_over(schedule: ScheduleId) -> None:
    """Edit a schedule by hand that `foliot apply` manages: its file leaves it alone from then on."""


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
        schedule_id = resolve(client, "schedule", schedule)
        confirm(f"Delete {schedule} and cancel its queued runs?", "nothing was deleted", yes=yes)
        client.delete(f"/api/schedules/{segment(schedule_id)}")
        typer.echo(f"{schedule} is deleted.")


def _show_preview(answer: JsonObject) -> None:
    typer.echo(printable(answer["summary"]))
    if answer.sent["words"] is not None:
        typer.echo(printable(_flags(answer)))
    rows = [(instant["local"], instant.at("at")) for instant in answer.each("next")]
    table(("in its zone", "UTC" if answer.utc else "here"), rows, empty="It never fires.")
    for remark in answer["notes"] or ():
        typer.echo(printable(f"Note: {remark}"))


def _flags(answer: JsonObject) -> str:
    """The flags of `create` that mean the same as the words."""
    if answer["cron_expr"]:
        return f"cron: {answer['cron_expr']}"
    if answer["run_at"]:
        return f"flags: --at {answer['run_at']}"
    start = f" --start-at {answer['start_at']}" if answer["start_at"] else ""
    return f"flags: --every {answer['interval_seconds']}s{start}"


@group.post("/api/schedules/preview", _show_preview)
def preview(  # noqa: PLR0913 -- a command has as many arguments as flags
    words: Annotated[str | None, typer.Argument(help="When, in words: 'every day at 02:30'.")] = None,
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    start: Annotated[str | None, typer.Option("--from", help="Count from this time instead of now.")] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many instants to show.")] = 10,
) -> dict[str, object]:
    """Show when a trigger would fire, without creating anything.

    foliot schedule preview 'weekdays at 9' --timezone Europe/Stockholm
    """
    body = trigger(cron, every, at, timezone)
    if ("type" in body) is (words is not None):
        raise usage("a preview needs a trigger: words such as 'every day at 9', --cron, --every or --at")
    return {**body, "count": count, "words": words, "start_at": start}


@group.get("/api/schedules/{schedule}/instants", INSTANTS, paged=True)
def instants(schedule: ScheduleId, from_: From = None, to: To = None) -> None:
    """List every instant of a time range, with its outcome or what is planned."""


@group.get("/api/schedules/{schedule}/chain", CHAIN)
def chain(schedule: ScheduleId) -> None:
    """List the schedules that a schedule follows, directly or not, and those that follow it."""


@group.get("/api/schedules/{schedule}/runs", RUNS, paged=True)
def runs(
    schedule: ScheduleId,
    state: Annotated[str | None, typer.Option(*STATE_FLAGS, help="Only runs in this state.")] = None,
) -> None:
    """List a schedule's runs, newest first."""


def _webhook(request: Mapping[str, Any]) -> dict[str, Any]:
    """The action; empty when no flag gives one."""
    if not request:
        return {}
    if "url" not in request:
        raise usage("--method, --header and --body need --url: they describe the request that is sent to it")
    return {"action": {"kind": "webhook", **request}}


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
