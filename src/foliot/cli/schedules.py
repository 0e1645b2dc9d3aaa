"""`foliot schedule …`: what is to be done, and when."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from foliot.cli import drafting
from foliot.cli.client import asking, segment
from foliot.cli.options import STATE_FLAGS, STATUS_FLAGS, Cursor, Json, Limit, ScheduleId, Utc
from foliot.cli.printing import facts, listing, moment, print_json, printable, table
from foliot.cli.runs import show_run, show_runs

group = typer.Typer(help="Create, look at and control schedules.", no_args_is_help=True)

Cron = Annotated[str | None, typer.Option(help="A cron expression: 5 fields, 6 with seconds first, or @daily.")]
Every = Annotated[str | None, typer.Option(help="An interval: 30s, 15m, 4h, 1h30m.")]
At = Annotated[str | None, typer.Option(help="One moment, with its offset: 2027-01-01T09:00:00Z.")]
Timezone = Annotated[str | None, typer.Option(help="Time zone of the trigger, such as Europe/Stockholm.")]


@group.command()
def create(  # noqa: PLR0913 -- a command has as many arguments as flags
    name: Annotated[str | None, typer.Argument(help="What people call it.")] = None,
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    url: Annotated[str | None, typer.Option(help="Where the webhook goes.")] = None,
    method: Annotated[str | None, typer.Option(help="Its method.", show_default="POST")] = None,
    header: Annotated[list[str] | None, typer.Option(help="A header, 'Name: value'; may be repeated.")] = None,
    body: Annotated[str | None, typer.Option(help="Its body: JSON, or @FILE.")] = None,
    overlap: Annotated[
        str | None,
        typer.Option(help="skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all."),
    ] = None,
    catchup: Annotated[str | None, typer.Option(help="After an outage: none, latest or all.")] = None,
    retries: Annotated[int | None, typer.Option(help="How often a failed run is tried again.")] = None,
    queue: Annotated[str | None, typer.Option(help="The queue of its runs.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 (most urgent) to 10.")] = None,
    timeout: Annotated[str | None, typer.Option(help="How long an attempt may take: 30s, 5m.")] = None,
    jitter: Annotated[str | None, typer.Option(help="Spread the starts over this long: 30s.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    file: Annotated[
        str | None, typer.Option(help="The whole document as JSON (- for standard input); flags add to it and win.")
    ] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Create a schedule, from flags or from a file.

    foliot schedule create prices --cron '0 2 * * *' --timezone Europe/Stockholm --url https://example.com/hook
    """
    with asking() as client:
        draft = drafting.document("--file", file) if file is not None else {}
        draft |= drafting.trigger(cron, every, at, timezone) | drafting.webhook(url, method, header or [], body)
        flags = {
            "name": name,
            "overlap": overlap,
            "catchup": None if catchup is None else {"mode": catchup},
            "retry_policy": None if retries is None else {"max_retries": retries},
            "queue": queue,
            "priority": priority,
            "timeout_seconds": None if timeout is None else drafting.duration("--timeout", timeout),
            "jitter_seconds": None if jitter is None else drafting.duration("--jitter", jitter),
            "tags": tag or None,
            "description": description,
        }
        draft |= {key: value for key, value in flags.items() if value is not None}
        made = client.post("/api/schedules", drafting.complete(draft))
        show_schedule(made, as_json=as_json, utc=utc)


@group.command("count")
def count_(
    search: Annotated[
        str | None,
        typer.Option("--search", "-q", help="Part of the name, or a filter such as 'tag:prices failing:true'."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count schedules; exactly."""
    with asking() as client:
        found = client.get("/api/schedules/count", q=search)
        if as_json:
            print_json(found)
        else:
            typer.echo(found["count"])


@group.command("list")
def list_(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    status: Annotated[str | None, typer.Option(*STATUS_FLAGS, help="active, paused, completed or deleted.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="cron, interval or oneoff.")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of action, such as webhook.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only those with this tag.")] = None,
    search: Annotated[
        str | None,
        typer.Option("--search", "-q", help="Part of the name, or a filter such as 'tag:prices failing:true'."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List schedules, newest first."""
    with asking() as client:
        found = client.get(
            "/api/schedules", status=status, type=type_, kind=kind, tag=tag, q=search, limit=limit, cursor=cursor
        )

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            next_run = moment(each.get("next_run_at"), utc=utc)
            return each["id"], each["name"], each["status"], each.get("summary"), next_run

        filtered = any(value is not None for value in (status, type_, kind, tag, search))
        first = "No schedules. Make one: foliot schedule create NAME --every 15m --url https://…"
        listing(
            found,
            ("id", "name", "status", "when", "next run"),
            row,
            empty="No schedule fits these filters." if filtered else first,
            as_json=as_json,
        )


@group.command()
def show(schedule: ScheduleId, as_json: Json = False, utc: Utc = False) -> None:
    """Show a schedule."""
    with asking() as client:
        show_schedule(client.get(f"/api/schedules/{segment(schedule)}"), as_json=as_json, utc=utc)


@group.command()
def pause(
    schedule: ScheduleId,
    reason: Annotated[str | None, typer.Option(help="Why; shown with the schedule.")] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Pause a schedule: no later instant fires, and paused time is never caught up."""
    with asking() as client:
        body = {} if reason is None else {"reason": reason}
        show_schedule(client.post(f"/api/schedules/{segment(schedule)}/pause", body), as_json=as_json, utc=utc)


@group.command()
def resume(schedule: ScheduleId, as_json: Json = False, utc: Utc = False) -> None:
    """Resume a paused schedule."""
    with asking() as client:
        show_schedule(client.post(f"/api/schedules/{segment(schedule)}/resume"), as_json=as_json, utc=utc)


@group.command("run-now")
def run_now(
    schedule: ScheduleId,
    payload: Annotated[str | None, typer.Option(help="Overrides for this one run: JSON, or @FILE.")] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Make a run now, besides the schedule's instants."""
    with asking() as client:
        body = {} if payload is None else {"payload": drafting.json_or_file("--payload", payload)}
        run = client.post(f"/api/schedules/{segment(schedule)}/run-now", body)
        show_run(run, as_json=as_json, utc=utc)


@group.command()
def delete(
    schedule: ScheduleId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Needed where there is no terminal.")] = False,
) -> None:
    """Delete a schedule and cancel its queued runs; what it did stays on record."""
    with asking() as client:
        if not yes:
            if not sys.stdin.isatty():
                raise drafting.usage("there is no terminal to ask for confirmation, so nothing was deleted: give --yes")
            typer.confirm(f"Delete {schedule} and cancel its queued runs?", abort=True)
        client.delete(f"/api/schedules/{segment(schedule)}")
        typer.echo(f"{schedule} is deleted.")


@group.command()
def preview(  # noqa: PLR0913 -- a command has as many arguments as flags
    words: Annotated[str | None, typer.Argument(help="When, in words: 'every day at 02:30'.")] = None,
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    start: Annotated[str | None, typer.Option("--from", help="Count from this moment instead of now.")] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many instants.")] = 10,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Show when a trigger would fire, without creating anything.

    foliot schedule preview 'weekdays at 9' --timezone Europe/Stockholm
    """
    with asking() as client:
        body = drafting.trigger(cron, every, at, timezone) | {"count": count}
        if ("type" in body) is (words is not None):
            raise drafting.usage("a preview needs a trigger: words such as 'every day at 9', --cron, --every or --at")
        if words is not None:
            body["words"] = words
        if start is not None:
            body["start_at"] = start
        found = client.post("/api/schedules/preview", body)
        if as_json:
            print_json(found)
            return
        typer.echo(printable(found["summary"]))
        if words is not None and found["cron_expr"]:
            typer.echo(printable(f"cron: {found['cron_expr']}"))
        rows = [(each.get("local"), moment(each["at"], utc=utc)) for each in found["next"]]
        table(("in its zone", "UTC" if utc else "here"), rows, empty="It never fires.")
        for remark in found.get("notes") or []:
            typer.echo(printable(f"Note: {remark}"))


@group.command()
def instants(  # noqa: PLR0913 -- a command has as many arguments as flags
    schedule: ScheduleId,
    *,
    start: Annotated[str | None, typer.Option("--from", help="Beginning of the span: 2027-01-01T00:00:00Z.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Its end, exclusive.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Show every instant of a span, and what became of it or is planned."""
    with asking() as client:
        found = client.get(
            f"/api/schedules/{segment(schedule)}/instants",
            **{"from": start, "to": end, "limit": limit, "cursor": cursor},
        )

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            return moment(each["at"], utc=utc), each["outcome"], each.get("reason"), each.get("run_id")

        columns = ("at", "outcome", "reason", "run")
        listing(found, columns, row, empty="No instants in this span.", as_json=as_json)


@group.command("runs")
def runs_(
    schedule: ScheduleId,
    status: Annotated[str | None, typer.Option(*STATE_FLAGS, help="Only runs in this state.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List a schedule's runs, newest first."""
    with asking() as client:
        found = client.get(f"/api/schedules/{segment(schedule)}/runs", state=status, limit=limit, cursor=cursor)
        show_runs(found, as_json=as_json, utc=utc)


def show_schedule(schedule: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    """A schedule as people read it."""
    if as_json:
        print_json(schedule)
        return
    facts(
        [
            ("id", schedule["id"]),
            ("name", schedule["name"]),
            ("description", schedule.get("description")),
            ("status", schedule["status"]),
            ("paused", _paused(schedule, utc=utc)),
            ("reason", schedule.get("paused_reason")),
            ("fault", schedule.get("fault")),
            ("when", schedule.get("summary")),
            ("skips", _skips(schedule, utc=utc)),
            ("next run", moment(schedule.get("next_run_at"), utc=utc)),
            ("last run", moment(schedule.get("last_run_at"), utc=utc)),
            ("action", schedule.get("action")),
            ("queue", f"{schedule.get('queue')}, priority {schedule.get('priority')}"),
            ("overlap", schedule.get("overlap")),
            ("catch-up", schedule.get("catchup")),
            ("retries", schedule.get("retry_policy")),
            ("tags", ", ".join(schedule.get("tags") or [])),
            ("version", schedule.get("version")),
        ]
    )


def _paused(schedule: dict[str, Any], *, utc: bool) -> str | None:
    at, by = schedule.get("paused_at"), schedule.get("paused_by")
    return f"{moment(at, utc=utc)}{f' by {by}' if by else ''}" if at else None


def _skips(schedule: dict[str, Any], *, utc: bool) -> str | None:
    skips = schedule.get("skips")
    return None if not skips else f"{moment(skips['at'], utc=utc)}, as {skips['by']} wants"
