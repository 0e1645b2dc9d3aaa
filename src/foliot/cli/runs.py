"""`foliot run …` and `foliot health`: what happened, and why."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.cli.access import asks
from foliot.cli.client import asking, segment
from foliot.cli.options import STATE_FLAGS, Cursor, Filter, From, Json, Limit, RunId, To, Utc
from foliot.cli.printing import Exit, Failure, count, facts, listing, moment, note, print_json, printable, table


class Format(StrEnum):
    """How an export is written."""

    NDJSON = "ndjson"
    CSV = "csv"


group = typer.Typer(help="Look at runs, follow their logs, cancel and retry them.", no_args_is_help=True)


@group.command("list")
def list_(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    status: Annotated[
        str | None, typer.Option(*STATE_FLAGS, help="Only this state, or several separated by commas.")
    ] = None,
    schedule: Annotated[str | None, typer.Option(help="Only runs of this schedule (its id).")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of action, such as webhook.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only runs of this queue.")] = None,
    q: Filter = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List runs, newest first.

    foliot run list -q 'state:failed,dead_letter schedule:nightly* since:24h'
    """
    with asking() as client:
        chosen = {"state": status, "schedule_id": schedule, "kind": kind, "queue": queue, "q": q}
        show_runs(client.get("/api/runs", **chosen, limit=limit, cursor=cursor), as_json=as_json, utc=utc)


@group.command("count")
def count_(q: Filter = None, as_json: Json = False) -> None:
    """Count runs, altogether and by state; exactly."""
    with asking() as client:
        found = client.get("/api/runs/count", q=q)
        if as_json:
            print_json(found)
            return
        by_state = sorted(found["by_state"].items(), key=lambda one: -one[1])
        typer.echo(found["count"])
        facts(by_state)


@group.command()
def points(
    *,
    q: Filter = None,
    start: From = None,
    end: To = None,
    limit: Annotated[int, typer.Option(min=1, max=50_000, help="About how many to show.")] = 1000,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Show single runs over time and how long they took; the last 24 hours unless said."""
    with asking() as client:
        found = client.get("/api/runs/points", **{"q": q, "from": start, "to": end, "limit": limit})
        if as_json:
            print_json(found)
        else:
            show_points(found, utc=utc)


@group.command()
def export(
    q: Filter = None,
    form: Annotated[Format, typer.Option("--format", help="A JSON document per line, or a table.")] = Format.NDJSON,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all of it into this file, once it is there whole.")
    ] = None,
) -> None:
    """Download all runs that match a filter, newest first, however many there are.

    foliot run export -q 'state:failed since:7d' --format csv -o failed.csv
    """
    from foliot.cli.crawl_printing import pour, print_safely, save

    with asking() as client:
        pieces = client.download("/api/runs/export", "*/*", q=q, format=form.value)
        if output is not None:
            save(output, pieces)
        elif sys.stdout.isatty():
            print_safely(pieces)
        else:
            pour(pieces)


@group.command()
def show(run: RunId, as_json: Json = False, utc: Utc = False) -> None:
    """Show a run with its attempts."""
    with asking() as client:
        show_run(client.get(f"/api/runs/{segment(run)}"), as_json=as_json, utc=utc)


@group.command()
def logs(  # noqa: PLR0913 -- a command has as many arguments as flags
    run: RunId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Stay until the run has ended.")] = False,
    after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
    grep: Annotated[str | None, typer.Option(help="Only log lines that say this, in any case.")] = None,
    level: Annotated[
        str | None, typer.Option(help="Only log lines at least so severe: debug, info, warning, error or critical.")
    ] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only log lines of this attempt.")] = None,
    category: Annotated[
        str | None, typer.Option(help="Only log lines that tell of this, such as retry; several with commas.")
    ] = None,
    counted: Annotated[bool, typer.Option("--count", help="Only how many log lines there are, of what kind.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    utc: Utc = False,
) -> None:
    """Print a run's events and log lines; with -f as they happen, resuming where a cut connection left off."""
    from foliot.cli.following import follow_run, found_lines, stored_events

    wanted = {"grep": grep, "level": level, "attempt": attempt, "category": category}
    with asking() as client:
        if counted:
            show_line_counts(client.get(f"/api/runs/{segment(run)}/logs/count", **wanted), as_json=as_json)
            return
        if all(wish is None for wish in wanted.values()):
            events = follow_run(client, run, after) if follow else stored_events(client, run, after)
        elif follow:
            raise Failure("--follow shows every line: leave out --grep, --level, --attempt and --category", Exit.USAGE)
        else:
            events = found_lines(client, run, after, **wanted)
        for event in events:
            print_event(event, as_json=as_json, utc=utc)


@group.command()
def cancel(run: RunId, as_json: Json = False, utc: Utc = False) -> None:
    """Cancel a run: a waiting one at once, a running one within seconds."""
    with asking() as client:
        show_run(client.post(f"/api/runs/{segment(run)}/cancel"), as_json=as_json, utc=utc)


@group.command()
def retry(run: RunId, as_json: Json = False, utc: Utc = False) -> None:
    """Make a new run of the same work, linked to this one."""
    with asking() as client:
        show_run(client.post(f"/api/runs/{segment(run)}/retry"), as_json=as_json, utc=utc)


@asks
def health(as_json: Json = False, utc: Utc = False) -> None:
    """Ask a running server how it is, part by part. Exit 1 when something it needs is down."""
    with asking() as client:
        status, found = client.send("GET", "/health/detailed")
        if status not in (200, 503) or not isinstance(found, dict):
            raise client.failure(status, found)
        if as_json:
            print_json(found)
        else:
            _print_health(found, utc=utc)
        raise typer.Exit(Exit.DONE if status == 200 else Exit.FAILED)


def show_runs(found: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    def row(each: dict[str, Any]) -> tuple[object, ...]:
        return (
            each["id"],
            each.get("schedule_name"),
            each["state"],
            each.get("kind"),
            moment(each.get("scheduled_for") or each.get("created_at"), utc=utc),
            f"{each.get('attempt')}/{each.get('max_attempts')}",
            _took(each.get("duration_ms")),
            (each.get("error") or {}).get("message"),
        )

    columns = ("id", "schedule", "state", "kind", "due", "attempt", "took", "error")
    listing(found, columns, row, empty="No runs.", as_json=as_json)


def show_points(found: dict[str, Any], *, utc: bool) -> None:
    begins = datetime.fromisoformat(found["from"])
    columns = zip(found["at_ms"], found["state"], found["took_ms"], found["id"], strict=True)
    rows = [
        (moment((begins + timedelta(milliseconds=at)).isoformat(), utc=utc), found["states"][state], _took(took), run)
        for at, state, took, run in sorted(columns)
    ]
    table(("made", "state", "took", "run"), rows, empty="No run has begun in this span.")
    for state, number in found["counts"].items():
        if (shown := found["shown"].get(state, 0)) < number:
            note(f"{shown:,} of {number:,} {state} are shown, chosen by chance: narrow the span, or give --limit")
    if found["not_begun"]:
        note(f"{count(found['not_begun'], 'run')} more had not begun")


def show_line_counts(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found, indent=None)
        return
    typer.echo(found["count"])
    facts([*found["by_level"].items(), *found["by_category"].items()])
    facts([(f"attempt {attempt}", number) for attempt, number in found["by_attempt"].items()])


def show_run(run: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(run)
        return
    facts(
        [
            ("id", run["id"]),
            ("schedule", run.get("schedule_id")),
            ("kind", run.get("kind")),
            ("state", run["state"]),
            ("due", moment(run.get("scheduled_for"), utc=utc)),
            ("created", moment(run.get("created_at"), utc=utc)),
            ("started", moment(run.get("started_at"), utc=utc)),
            ("finished", moment(run.get("finished_at"), utc=utc)),
            ("took", _took(run.get("duration_ms"))),
            ("late", _took(run.get("lateness_ms"))),
            ("queue", f"{run.get('queue')}, priority {run.get('priority')}"),
            ("attempt", f"{run.get('attempt')} of {run.get('max_attempts')}"),
            ("waits until", moment(run["ready_at"], utc=utc) if run.get("waiting") else None),
            ("because", (run.get("waiting") or {}).get("message")),
            ("worker", run.get("worker")),
            ("repeats", run.get("parent_id")),
            ("resolved by", run.get("resolved_by")),
            ("result", run.get("result")),
            ("error", run.get("error")),
        ]
    )
    if attempts := run.get("attempts"):
        rows = [
            (
                each.get("number"),
                each.get("outcome"),
                moment(each.get("started_at"), utc=utc),
                moment(each.get("ended_at"), utc=utc),
                (each.get("response") or {}).get("status"),
                (each.get("error") or {}).get("message"),
            )
            for each in attempts
        ]
        table(("attempt", "outcome", "started", "ended", "status", "error"), rows, empty="")


def print_event(event: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(event, indent=None)
        return
    from foliot.features.runs.model.transcript import transcript_line

    typer.echo(transcript_line(moment(event.get("at") or event.get("ts"), utc=utc), event))


def _print_health(found: dict[str, Any], *, utc: bool) -> None:
    database = found.get("database") or {}
    typer.echo(f"{found.get('status')}, version {found.get('version')}")
    for problem in found.get("problems") or []:
        typer.echo(printable(f"  {problem}"))
    rows = [
        ("database", database.get("status"), database.get("error") or f"answers in {database.get('latency_ms')} ms")
    ]
    if feed := found.get("feed"):
        rows.append(("feed", "ok" if feed["connected"] else "away", feed.get("error") or feed["kind"]))
    if broker := found.get("broker"):
        rows.append(("broker", "ok" if broker["publishing"] else "away", broker.get("error") or broker["url"]))
    rows += [(f"Scrapyd {each['name']}", each["status"], _node(each)) for each in found.get("scrapyd") or []]
    rows += [
        (f"{node['role']} {node['id']}", "ok", f"seen {moment(node.get('seen_at'), utc=utc)}")
        for node in found.get("nodes") or []
    ]
    rows += [
        (f"queue {each['queue']}", "", f"{count(each['depth'], 'run')} waiting") for each in found.get("queues") or []
    ]
    rows += [(f"schedule {each['schedule_id']}", "damaged", each["fault"]) for each in found.get("damaged") or []]
    rows += [
        (f"schedule {each['schedule_id']}", "ahead", "a wrong clock led it ahead: foliot schedule realign")
        for each in found.get("ahead") or []
    ]
    table(("part", "status", "detail"), rows, empty="")


def _node(scrapyd: dict[str, Any]) -> str:
    if scrapyd.get("error"):
        return f"{scrapyd['url']}: {scrapyd['error']}"
    load = f"{scrapyd.get('running')} running, {scrapyd.get('pending')} waiting"
    return f"{scrapyd['url']}: {load}, answers in {scrapyd.get('latency_ms')} ms"


def _took(milliseconds: object) -> str:
    if not isinstance(milliseconds, int | float):
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.1f} s"
