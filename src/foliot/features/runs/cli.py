"""`foliot run …`."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from foliot.features.runs.view import RUN, RUNS, print_event
from foliot.terminal.client import connect, segment
from foliot.terminal.follow import follow_run, matching_lines, stored_events, write
from foliot.terminal.group import CommandGroup, JsonObject, duration, facts
from foliot.terminal.options import (
    STATE_FLAGS,
    Filter,
    From,
    JsonLines,
    Kind,
    OfSchedule,
    Output,
    RunId,
    SortRuns,
    To,
    Utc,
)
from foliot.terminal.output import Exit, Failure, count, moment, note, print_json
from foliot.terminal.reference import resolve
from foliot.terminal.table import table


class ExportFormat(StrEnum):
    """How exported runs are written."""

    NDJSON = "ndjson"
    CSV = "csv"


group = CommandGroup("Show runs, follow their logs, cancel and retry them.")


@group.get("/api/runs", RUNS, paged=True)
def list_(
    *,
    state: Annotated[
        str | None, typer.Option(*STATE_FLAGS, help="Only this state, or several separated by commas.")
    ] = None,
    schedule_id: OfSchedule = None,
    kind: Kind = None,
    queue: Annotated[str | None, typer.Option(help="Only runs of this queue.")] = None,
    q: Filter = None,
    sort: SortRuns = None,
) -> None:
    """List runs, newest first or in another order.

    foliot run list -q 'state:failed,dead_letter schedule:nightly* since:24h'
    """


def _show_count(answer: JsonObject) -> None:
    typer.echo(answer["count"])
    by_state: dict[str, int] = answer["by_state"]
    facts((state, by_state[state]) for state in sorted(by_state, key=by_state.__getitem__, reverse=True))


@group.get("/api/runs/count", _show_count, utc=False)
def count_(q: Filter = None) -> None:
    """Count runs, in total and by state; the count is exact."""


def _show_points(answer: JsonObject) -> None:
    begins = datetime.fromisoformat(answer["from"])
    points = zip(answer["at_ms"], answer["state"], answer["took_ms"], answer["id"], strict=True)
    rows = [
        (
            moment((begins + timedelta(milliseconds=at)).isoformat(), utc=answer.utc),
            answer["states"][state],
            duration(took),
            run,
        )
        for at, state, took, run in sorted(points)
    ]
    table(("created", "state", "took", "run"), rows, empty="No run started in this time range.")
    for state, number in answer["counts"].items():
        if (shown := answer["shown"].get(state, 0)) < number:
            note(f"{shown:,} of {number:,} {state} are shown, sampled at random: narrow the range, or raise --limit")
    if answer["not_begun"]:
        note(f"{count(answer['not_begun'], 'more run')} had not started")


@group.get("/api/runs/points", _show_points)
def points(
    *,
    q: Filter = None,
    from_: From = None,
    to: To = None,
    limit: Annotated[int, typer.Option(min=1, max=50_000, help="Show about this many.")] = 1000,
) -> None:
    """Show single runs over time and how long they took; by default the last 24 hours."""


@group.command()
def export(
    q: Filter = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="One JSON object per line, or CSV.")] = (
        ExportFormat.NDJSON
    ),
    output: Output = None,
) -> None:
    """Download all runs that match a filter, newest first, without a limit.

    foliot run export -q 'state:failed since:7d' --format csv -o failed.csv
    """
    with connect() as client:
        write(client.download("/api/runs/export", "*/*", q=q, format=form.value), output)


@group.get("/api/runs/{run}", RUN)
def show(run: RunId) -> None:
    """Show a run with its attempts."""


@group.command()
def logs(  # noqa: PLR0913 -- a command has as many arguments as flags
    run: RunId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing until the run has ended.")] = False,
    after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
    grep: Annotated[str | None, typer.Option(help="Only log lines that contain this text, ignoring case.")] = None,
    level: Annotated[
        str | None, typer.Option(help="Only log lines of at least this level: debug, info, warning, error or critical.")
    ] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only log lines of this attempt.")] = None,
    category: Annotated[
        str | None, typer.Option(help="Only log lines of this category, such as retry; several with commas.")
    ] = None,
    counted: Annotated[
        bool, typer.Option("--count", help="Only count the log lines, by level, category and attempt.")
    ] = False,
    as_json: JsonLines = False,
    utc: Utc = None,
) -> None:
    """Print a run's events and log lines; with -f as they happen, resuming when the connection is cut."""
    filters = {"grep": grep, "level": level, "attempt": attempt, "category": category}
    with connect() as client:
        run = resolve(client, "run", run)
        if counted:
            _show_line_counts(
                JsonObject(client.get(f"/api/runs/{segment(run)}/logs/count", **filters)), as_json=as_json
            )
            return
        if all(value is None for value in filters.values()):
            events = follow_run(client, run, after) if follow else stored_events(client, run, after)
        elif follow:
            raise Failure("--follow shows every line: leave out --grep, --level, --attempt and --category", Exit.USAGE)
        else:
            events = matching_lines(client, run, after, **filters)
        for event in events:
            print_event(event, as_json=as_json, utc=utc)


def _show_line_counts(answer: JsonObject, *, as_json: bool) -> None:
    if as_json:
        print_json(answer.raw, indent=None)
        return
    typer.echo(answer["count"])
    facts([*answer["by_level"].items(), *answer["by_category"].items()])
    facts([(f"attempt {attempt}", number) for attempt, number in answer["by_attempt"].items()])


@group.get("/api/runs/{run}/children", RUNS, paged=True)
def children(run: RunId) -> None:
    """List the runs that follow a run, newest first."""


@group.get("/api/runs/{run}/parents", RUNS)
def parents(run: RunId) -> None:
    """List the runs that a run follows."""


@group.post("/api/runs/{run}/cancel", RUN)
def cancel(run: RunId) -> None:
    """Cancel a run: a waiting one at once, a running one within seconds."""


@group.post("/api/runs/{run}/retry", RUN)
def retry(run: RunId) -> None:
    """Create a new run of the same work, linked to this one."""
