"""`foliot schedule skip-next`, `realign`, `backfill`, `export`, `import`: acts on instants, and on many schedules."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from foliot.features.bulk.cli import show_bulk
from foliot.features.schedules.cli.schedules import group, show_schedule
from foliot.terminal import flag_values as drafting
from foliot.terminal.client import Client, asking, segment
from foliot.terminal.options import Json, ScheduleId, Utc
from foliot.terminal.output import Failure, count, moment, note, print_json, printable, table

__all__ = ["group"]

READ_APART = ("status", "paused_reason")
"""What a document has besides what makes its schedule."""
STATES = ("active", "paused", "completed", "deleted")
MOST_VALUES = 2_000_000
DEEPEST = 72
"""A schedule's payload may be nested 64 deep."""


@group.command("skip-next")
def skip_next(
    schedule: ScheduleId,
    at: Annotated[str | None, typer.Option(help="The instant that is meant; refuse if the next is another.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Do not skip it after all.")] = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Skip the next instant, once: it makes no run, and the ledger says who wanted that."""
    with asking() as client:
        if undo and at is not None:
            raise drafting.usage("--at and --undo exclude each other")
        path = f"/api/schedules/{segment(schedule)}/skip-next"
        said = client.delete(path) if undo else client.post(path, {} if at is None else {"at": at})
        show_schedule(said, as_json=as_json, utc=utc)


@group.command()
def realign(
    schedule: Annotated[str | None, typer.Argument(help="The schedule's id (sch_…); without it, --all.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every schedule that is ahead.")] = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Set a schedule back whose next instant a wrong clock moved into the future; nothing fires twice."""
    with asking() as client:
        if (schedule is not None) == every:
            raise drafting.usage("name one schedule, or say --all")
        if schedule is not None:
            show_schedule(client.post(f"/api/schedules/{segment(schedule)}/realign", {}), as_json=as_json, utc=utc)
            return
        found = client.post("/api/schedules/realign", {})
        if as_json:
            print_json(found)
            return
        rows = [(one["id"], one["name"], moment(one["next_run_at"], utc=utc)) for one in found["items"]]
        table(("id", "name", "next"), rows, empty="No schedule is ahead.")


@group.command()
def backfill(  # noqa: PLR0913 -- a command has as many arguments as flags
    schedule: ScheduleId,
    *,
    start: Annotated[str, typer.Option("--from", help="The first moment to make up for: 2027-01-01T00:00:00Z.")],
    end: Annotated[str | None, typer.Option("--to", help="The end, exclusive; now unless said.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also instants that succeeded, unless a backfill has made up for them.")
    ] = False,
    rate: Annotated[int, typer.Option(min=1, max=50, help="So many runs a second.")] = 5,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Refuse to make more runs than this.")] = 1000,
    stop_after: Annotated[int | None, typer.Option(min=1, help="Stop when so many failed.")] = None,
    newest: Annotated[bool, typer.Option("--newest-first", help="Begin with the newest.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    expect: Annotated[int | None, typer.Option(min=0, help="Refuse unless it would make so many runs now.")] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Make one run for each instant of a stretch that has had no success, as a bulk action.

    foliot schedule backfill SCHEDULE --from 2027-01-01T00:00:00Z --to 2027-01-08T00:00:00Z --dry-run
    """
    body: dict[str, Any] = {"from": start, "rate": rate, "limit": limit, "dry_run": dry_run}
    body |= {"which": "all"} if every else {}
    body |= {"order": "newest"} if newest else {}
    given = (("to", end), ("stop_after", stop_after), ("expect", expect))
    body |= {name: value for name, value in given if value is not None}
    with asking() as client:
        made = client.post(f"/api/schedules/{segment(schedule)}/backfill", body)
        if as_json:
            print_json(made)
        elif made.get("dry_run"):
            _print_trial(made, utc=utc)
        else:
            show_bulk(made, utc=utc)


def _print_trial(trial: Mapping[str, Any], *, utc: bool) -> None:
    typer.echo(f"would make {count(trial['count'], 'run')} for {count(trial['named'], 'instant')}")
    for why, number in trial["left_out"].items():
        typer.echo(f"left out: {number} {why}")
    if trial["hosts"]:
        typer.echo(printable(f"sends to {', '.join(trial['hosts'])}"))
    for warning in trial["warnings"]:
        note(warning)
    rows = [(moment(one["at"], utc=utc), one["outcome"], one["reason"]) for one in trial["sample"]]
    table(("at", "outcome", "reason"), rows, empty="Nothing is missing in this stretch.")


@group.command("export")
def export(
    search: Annotated[str, typer.Option("--query", "-q", help="Only schedules that match this filter.")] = "",
    *,
    form: Annotated[Literal["yaml", "json"], typer.Option("--format", help="How they are written.")] = "yaml",
    output: Annotated[str, typer.Option("--output", help="A file; - is standard output.")] = "-",
) -> None:
    """Write all matching schedules down, as `foliot schedule import` reads them."""
    with asking() as client:
        wanted = {"q": search or None, "format": form}
        if output == "-":
            for piece in client.download("/api/schedules/export", "*/*", **wanted):
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()
            return
        try:
            with Path(output).open("wb") as file:
                file.writelines(client.download("/api/schedules/export", "*/*", **wanted))
        except OSError as failed:
            raise drafting.usage(f"--output: cannot write {output!r} ({failed.strerror or failed})") from None


@group.command("import")
def import_(
    file: Annotated[str, typer.Argument(help="What `export` wrote, YAML or JSON; - is standard input.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace schedules that have the same name, instead of leaving them.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: Json = False,
) -> None:
    """Make schedules from documents. One whose name is taken is left alone, unless --replace is given."""
    with asking() as client:
        documents = read_documents(file, drafting.read("FILE", file))
        taken = _names(client)
        rows = [_bring(client, one, taken, replace=replace, dry_run=dry_run) for one in documents]
        if as_json:
            print_json([dict(zip(("name", "id", "did", "why"), row, strict=True)) for row in rows])
        else:
            table(("name", "id", "did", "why"), rows, empty="There is no schedule in it.")
        wrong = sum(row[2] == "refused" for row in rows)
        if wrong:
            raise Failure(f"{wrong} of {len(rows)} were refused")


def read_documents(name: str, text: str) -> list[dict[str, Any]]:
    """A list of documents, or one alone, as YAML or JSON."""
    found = _parsed(name, text)
    documents = [found] if isinstance(found, dict) else found
    if not isinstance(documents, list) or not all(isinstance(one, dict) for one in documents):
        raise drafting.usage(f"{name}: must hold a list of schedules, as `foliot schedule export` writes it")
    return documents


def _parsed(name: str, text: str) -> Any:
    if text.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(text)
        except ValueError as wrong:
            raise drafting.usage(f"{name}: is not JSON: {wrong}") from None
    # Only those who have YAML pay for its reader.
    from foliot.features.pipelines.file.parse import Room, Unreadable, compose

    try:
        node = compose(text, name, Room(MOST_VALUES, DEEPEST))
    except Unreadable as broken:
        raise drafting.usage(str(broken.fault)) from None
    if node is not None and node.faults:
        raise drafting.usage(str(node.faults[0]))
    return [] if node is None else node.plain()


def _names(client: Client) -> dict[str, list[str]]:
    """The schedules that there are, by name; of several with one name, the newest first, as `export` writes them."""
    found: dict[str, list[str]] = {}
    cursor: str | None = None
    more = True
    while more:
        page = client.get("/api/schedules", limit=500, cursor=cursor)
        for one in page["items"]:
            found.setdefault(one["name"], []).append(one["id"])
        cursor = page["next_cursor"]
        more = cursor is not None
    return found


def _instead(status: object, *, known: bool, replace: bool) -> tuple[str, str] | None:
    """What is done with a document that makes no schedule, and why."""
    if status not in STATES:
        return "refused", f"its status must be one of {', '.join(STATES)}, got {json.dumps(status)[:100]}"
    if status in {"completed", "deleted"}:
        return "left", f"it is {status}"
    return ("left", "there is one of this name") if known and not replace else None


def _bring(
    client: Client, document: Mapping[str, Any], taken: dict[str, list[str]], *, replace: bool, dry_run: bool
) -> tuple[str, str, str, str]:
    body = {name: value for name, value in document.items() if name not in READ_APART}
    name, status = str(body.get("name", "")), document.get("status", "active")
    alike = taken.get(name)
    # Each is somebody's counterpart once: documents that share a name share no schedule.
    known = alike.pop(0) if alike else ""
    if instead := _instead(status, known=bool(known), replace=replace):
        return name, known, *instead
    did = "replaced" if known else "created"
    if dry_run:
        return name, known, f"would be {did}", ""
    if status == "paused":
        # In the same step: made first and paused then, it could fire in between.
        body |= {"paused": True, "paused_reason": document.get("paused_reason", "")}
    try:
        made = client.put(f"/api/schedules/{segment(known)}", body) if known else client.post("/api/schedules", body)
    except Failure as refused:
        return name, known, "refused", str(refused)
    return name, made["id"], did, ""
