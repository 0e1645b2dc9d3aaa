"""`foliot schedule skip-next`, `realign` and `backfill`: change what happens at instants."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.features.bulk.view import BULK
from foliot.features.schedules.view import SCHEDULE
from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, JsonObject, Table, print_answer
from foliot.terminal.options import DryRun, Json, NewestFirst, Rate, ScheduleId, StopAfter, Utc, usage
from foliot.terminal.output import count, note, print_json, printable
from foliot.terminal.reference import resolve

group = CommandGroup()

REALIGNED = Table("id, name, next: @next_run_at", empty="No schedule is ahead.")
_SAMPLE = Table(
    "at: @at, outcome, reason",
    empty="Nothing is missing in this time range.",
    items="sample",
)


@group.command()
def skip_next(
    schedule: ScheduleId,
    at: Annotated[str | None, typer.Option(help="The instant to skip; refused if it is not the next one.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the skip.")] = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Skip the next instant once: it creates no run, and the ledger records who skipped it."""
    with connect() as client:
        if undo and at is not None:
            raise usage("--at and --undo cannot be combined")
        path = f"/api/schedules/{segment(resolve(client, 'schedule', schedule))}/skip-next"
        answer = client.delete(path) if undo else client.post(path, {} if at is None else {"at": at})
        print_answer(answer, SCHEDULE, as_json=as_json, utc=utc)


@group.command()
def realign(
    schedule: Annotated[str | None, typer.Argument(help="The schedule's name or id, unless --all is given.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every schedule that is ahead.")] = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Move a schedule back after a clock that ran ahead pushed it into the future; nothing fires twice."""
    with connect() as client:
        if (schedule is not None) == every:
            raise usage("give the name or id of a schedule, or --all")
        one = "" if schedule is None else f"/{segment(resolve(client, 'schedule', schedule))}"
        answer = client.post(f"/api/schedules{one}/realign", {})
        if as_json:
            print_json(answer)
        else:
            (SCHEDULE if schedule else REALIGNED)(JsonObject(answer, utc))


def _show_backfill(answer: JsonObject) -> None:
    if not answer["dry_run"]:
        BULK(answer)
        return
    typer.echo(f"would create {count(answer['count'], 'run')} for {count(answer['named'], 'instant')}")
    for why, number in answer["left_out"].items():
        typer.echo(f"left out: {number} {why}")
    if answer["hosts"]:
        typer.echo(printable(f"sends to {', '.join(answer['hosts'])}"))
    for warning in answer["warnings"]:
        note(warning)
    _SAMPLE(answer)


@group.post("/api/schedules/{schedule}/backfill", _show_backfill)
def backfill(  # noqa: PLR0913 -- a command has as many arguments as flags
    schedule: ScheduleId,
    *,
    start: Annotated[str, typer.Option("--from", help="Start of the time range: 2027-01-01T00:00:00Z.")],
    end: Annotated[
        str | None, typer.Option("--to", help="End of the time range, exclusive.", show_default="now")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also instants that succeeded, unless a backfill has already repeated them.")
    ] = False,
    rate: Rate = 5,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Refuse to create more runs than this.")] = 1000,
    stop_after: StopAfter = None,
    newest: NewestFirst = False,
    dry_run: DryRun = False,
    expect: Annotated[
        int | None, typer.Option(min=0, help="Refuse unless it would create exactly this many runs now.")
    ] = None,
) -> dict[str, object]:
    """Create one run for each instant of a time range that has not succeeded, as a bulk action.

    foliot schedule backfill SCHEDULE --from 2027-01-01T00:00:00Z --to 2027-01-08T00:00:00Z --dry-run
    """
    return {
        "from": start,
        "to": end,
        "which": "all" if every else None,
        "order": "newest" if newest else None,
        "rate": rate,
        "limit": limit,
        "stop_after": stop_after,
        "dry_run": dry_run,
        "expect": expect,
    }
