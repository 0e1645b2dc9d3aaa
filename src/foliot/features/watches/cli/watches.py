"""`foliot watches …`: watched pages, their versions, and lists of URLs to watch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from foliot.features.watches.cli.imported import create_each, read_source
from foliot.features.watches.model.imported import UnreadableBackup
from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.options import DryRun, Json, Yes, duration
from foliot.terminal.output import Exit, Failure, note, print_json
from foliot.terminal.reference import Reference, resolve

MOST_NOTES = 50
"""Of an import, that are printed; --json has all."""
group = CommandGroup("Watch pages for changes.")

WatchName = Annotated[
    str,
    typer.Argument(help="The watch's name, its id (wat_…) or the beginning of it.", metavar="WATCH"),
    Reference("watch"),
]
Page = Annotated[str, typer.Argument(help="The id of one of its pages (wpg_…).", metavar="PAGE")]


def shown_fields(fields: Mapping[str, Any]) -> str:
    """Values of fields in one cell: `price 24.90 EUR, title Kettle`."""
    return ", ".join(f"{name} {shown_value(value)}" for name, value in fields.items())


def shown_value(value: Any) -> str:
    if isinstance(value, Mapping):
        value = f"{value.get('amount')} {value.get('currency') or ''}".strip()
    text = "nothing" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _states(watch: JsonObject) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(watch["states"].items()))


def _problem(one: JsonObject) -> str:
    return one["problem"]["message"] if one["problem"] else ""


WATCHES = Table(
    "id, name, status, pages, changes, last visit: @last_visit_at, last change: @last_change_at, next: @next_visit_at",
    empty="No watches. Create one with foliot watch URL --every 1h.",
)
WATCH = Facts(
    "watch: id, name, status, visits: summary, pages, states, changes, when, at, last visit: @last_visit_at,"
    " last change: @last_change_at, next visit: @next_visit_at, problem, feed: feed_url, schedule: schedule_id,"
    " tags: tags[], created: @created_at, by: created_by",
    computed={"states": _states, "problem": _problem},
)
PAGES = Table(
    "id, state, values, last visit: @last_visit_at, last change: @last_change_at, why: why_then, problem, url",
    computed={"values": lambda page: shown_fields(page["fields"]), "problem": _problem},
    empty="No pages.",
)
VERSIONS = Table(
    "id, at: @at, values", computed={"values": lambda one: shown_fields(one["fields"])}, empty="No version is kept."
)


@group.get("/api/watches", WATCHES, paged=True)
def list_(q: Annotated[str, typer.Option("--query", "-q", help="Part of the name.")] = "") -> None:
    """List watches."""


@group.get("/api/watches/{watch}", WATCH)
def show(watch: WatchName) -> None:
    """Show a watch: its pages by state, its last change and its next visit."""


@group.get("/api/watches/{watch}/pages", PAGES, paged=True)
def pages(
    watch: WatchName,
    state: Annotated[str | None, typer.Option(help="new, same, changed, removed, error or blocked.")] = None,
) -> Mapping[str, object]:
    """List the pages of a watch: their values, and when each is visited next and why."""
    return {"state": state}


@group.get("/api/watches/{watch}/pages/{page}/versions", VERSIONS, paged=True)
def versions(watch: WatchName, page: Page) -> None:
    """List the versions of a page, newest first."""


@group.command()
def diff(
    watch: WatchName,
    page: Page,
    *,
    from_: Annotated[str | None, typer.Option("--from", help="A version (wve_…); default: the one before.")] = None,
    to: Annotated[str | None, typer.Option(help="A version (wve_…); default: the newest.")] = None,
    by: Annotated[str, typer.Option("--by", help="fields, lines or words.")] = "lines",
    as_json: Json = False,
) -> None:
    """Print what differs between two versions of a page."""
    asked = {name: value for name, value in {"from": from_, "to": to, "as": by}.items() if value}
    with connect() as client:
        watch_id = resolve(client, "watch", watch)
        path = f"/api/watches/{segment(watch_id)}/pages/{segment(page)}/diff"
        answer = client.request("GET", path, asked)
    if as_json:
        print_json(answer)
        return
    for name, both in answer["fields"].items():
        typer.echo(f"{name}: {shown_value(both['old'])} → {shown_value(both['new'])}")
    for part in answer["parts"]:
        for line in part["text"].splitlines() if part["sign"] != "=" else ():
            typer.echo(f"{part['sign']} {line}")


@group.post("/api/watches/{watch}/pause", WATCH)
def pause(watch: WatchName) -> None:
    """Pause a watch: no page is visited."""


@group.post("/api/watches/{watch}/resume", WATCH)
def resume(watch: WatchName) -> None:
    """Resume a watch: its pages are visited again."""


@group.command()
def visit(watch: WatchName, as_json: Json = False) -> None:
    """Visit all pages of a watch now."""
    with connect() as client:
        run = client.request("POST", f"/api/watches/{segment(resolve(client, 'watch', watch))}/visit", {})
    if as_json:
        print_json(run)
    else:
        note(f"its pages are being visited: foliot run show {run['id']}")


@group.command()
def delete(watch: WatchName, yes: Yes = False) -> None:
    """Delete a watch with its pages, their versions and changes."""
    if not yes and not typer.confirm(f"Delete the watch {watch} with its history?", err=True):
        raise typer.Exit(1)
    with connect() as client:
        client.delete(f"/api/watches/{segment(resolve(client, 'watch', watch))}")
        note(f"watch {watch} is deleted")


@group.command("import")
def import_(
    source: Annotated[
        str, typer.Argument(help="A backup (.zip or url-watches.json), or URLs, one per line; - is standard input.")
    ],
    *,
    name: Annotated[str, typer.Option(help="The name of the watch of a list of URLs.")] = "Imported pages",
    every: Annotated[str, typer.Option(help="The time between visits of a list of URLs: 15m, 1h.")] = "1h",
    active: Annotated[bool, typer.Option("--active", help="Do not pause what is created.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Create watches from a backup of changedetection.io or a list of URLs, paused.

    Watches whose names are taken are left alone, so importing again creates nothing twice.
    """
    try:
        imported = read_source(source, name, duration("--every", every))
    except UnreadableBackup as wrong:
        raise Failure(f"{source}: {wrong}") from None
    if dry_run:
        print_json({"watches": imported.documents, "notes": [list(each) for each in imported.notes]})
        return
    done = create_each(imported, active=active)
    if as_json:
        print_json({**done, "notes": [list(each) for each in imported.notes]})
    else:
        typer.echo(f"{len(done['created'])} watches created, {len(done['taken'])} already existed")
        for named, text in imported.notes[:MOST_NOTES]:
            note(f"{named}: {text}")
        for refused in done["refused"]:
            note(f"{refused['name']} was refused: {refused['message']}")
        if done["created"] and not active:
            note("They are paused: foliot watches resume NAME")
    if done["refused"]:
        raise typer.Exit(Exit.FAILED)
