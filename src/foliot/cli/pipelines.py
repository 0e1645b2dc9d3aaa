"""`foliot pipeline …`: check a file, see what it would change, run one of its pipelines, ask a server about them."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.features.runs.cli import show_run
from foliot.terminal.access import READ_HOUSE, asks, needs
from foliot.terminal.client import asking, segment
from foliot.terminal.options import CLIENT_VARIABLES, SERVER_VARIABLES, Home, Json, Utc
from foliot.terminal.output import (
    Exit,
    Failure,
    count,
    facts,
    listing,
    moment,
    note,
    one_line_errors,
    print_json,
    printable,
    table,
)

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.pipelines.model.file import Fault, Sheet

group = typer.Typer(help="Chains of steps that a YAML file defines.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="The file that defines pipelines.", metavar="FILE")]
Name = Annotated[str, typer.Argument(help="The pipeline's name.", metavar="NAME")]


@group.command(epilog=SERVER_VARIABLES)
@needs(READ_HOUSE)
def check(file: File, home: Home = None, as_json: Json = False) -> None:
    """Read a file and say what is wrong with it, by line; exit 1 when anything is. Nothing runs."""
    from foliot.cli.pipeline_run import read_file

    with one_line_errors():
        sheet = read_file(_settings(home), file)
        faults = _faults(sheet)
        if as_json:
            names = [one.name for one in sheet.pipelines if one.definition is not None]
            print_json({"ok": not faults, "pipelines": names, "faults": [asdict(fault) for fault in faults]})
        else:
            for fault in faults:
                typer.echo(printable(str(fault)))
            good = sum(one.definition is not None for one in sheet.pipelines)
            typer.echo(f"{file}: {count(good, 'pipeline')} in order, {count(len(faults), 'fault')}")
        raise typer.Exit(Exit.FAILED if faults else Exit.DONE)


@group.command(epilog=SERVER_VARIABLES)
@needs(READ_HOUSE)
def run(file: File, name: Name, home: Home = None, as_json: Json = False) -> None:
    """Run one pipeline of a file here and now, without a server; exit 1 unless it succeeds.

    foliot pipeline run pipelines.yml my_pipeline
    """
    from foliot.cli.pipeline_run import read_file, run_here

    with one_line_errors():
        settings = _settings(home)
        sheet = read_file(settings, file)
        found = {one.name: one for one in sheet.pipelines}.get(name)
        if sheet.fault is not None:
            raise Failure(str(sheet.fault))
        if found is None:
            named = ", ".join(one.name for one in sheet.pipelines) or "none"
            raise Failure(f"{file} has no pipeline {name!r}; it has {named}", Exit.NOT_FOUND)
        if found.definition is None:
            raise Failure("\n".join(map(str, found.faults)))
        raise typer.Exit(run_here(settings, [found.definition], as_json=as_json))


@group.command(epilog=CLIENT_VARIABLES)
@asks
def plan(file: File, as_json: Json = False) -> None:
    """Show what a server would change if it read this file: what is new, changed, removed or refused."""
    from foliot.cli.pipeline_run import read_file

    with asking() as client:
        sheet = read_file(_settings(None), file)
        stands = {one["name"]: one for one in client.get("/api/pipelines")["items"]}
        changes = [] if sheet.fault else _changes(sheet, stands)
        faults = _faults(sheet)
        if as_json:
            print_json({"ok": not faults, "changes": changes, "faults": [asdict(fault) for fault in faults]})
        else:
            rows = [(each["pipeline"], each["change"], each["revision"], each["was"]) for each in changes]
            table(("pipeline", "change", "revision", "was"), rows, empty="Nothing to say: the file cannot be read.")
            for fault in faults:
                note(str(fault))
        raise typer.Exit(Exit.FAILED if faults else Exit.DONE)


@group.command("list", epilog=CLIENT_VARIABLES)
@asks
def list_(as_json: Json = False, utc: Utc = False) -> None:
    """List the pipelines of a server, and when each runs next."""
    with asking() as client:
        found = client.get("/api/pipelines")

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            last = each["last_run"]["state"] if each["last_run"] else None
            return each["name"], _state(each), each["summary"], moment(each["next_run_at"], utc=utc), last

        columns = ("name", "state", "when", "next run", "last run")
        broken = "No pipelines: their file is not in order."
        empty = broken if found["faults"] else "No pipelines. Start the server with --pipelines FILE."
        listing(found, columns, row, empty=empty, as_json=as_json)
        if not as_json:
            beside = [each["error"] for each in found["items"] if each["error"]]
            for told in dict.fromkeys(map(_told, [*found["faults"], *beside])):
                note(told)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def show(name: Name, as_json: Json = False, utc: Utc = False) -> None:
    """Show a pipeline of a server: its steps, its part of the file, its newest runs."""
    with asking() as client:
        found = client.get(f"/api/pipelines/{segment(name)}")
        if as_json:
            print_json(found)
            return
        facts(
            [
                ("name", found["name"]),
                ("state", _state(found)),
                ("error", _told(found["error"]) if found["error"] else None),
                ("when", found["summary"]),
                ("next run", moment(found["next_run_at"], utc=utc)),
                ("schedule", found["schedule_id"]),
                ("revision", found["revision"]),
                ("file", found["file"]),
                ("steps", " → ".join(step["name"] for step in found["steps"])),
            ]
        )
        typer.echo("\n".join(printable(line) for line in found["yaml"].splitlines()))
        rows = [
            (each["id"], each["state"], moment(each["started_at"], utc=utc), each["duration_ms"], _items(each))
            for each in found["runs"]
        ]
        table(("run", "state", "started", "ms", "items of each step"), rows, empty="It has not run yet.")


@group.command(epilog=CLIENT_VARIABLES)
@asks
def start(name: Name, as_json: Json = False, utc: Utc = False) -> None:
    """Run a pipeline of a server now, outside its schedule."""
    with asking() as client:
        show_run(client.post(f"/api/pipelines/{segment(name)}/run"), as_json=as_json, utc=utc)


def _settings(home: Path | None) -> Settings:
    from foliot.config.settings import Settings

    return Settings.load(os.environ, home=home)


def _faults(sheet: Sheet) -> list[Fault]:
    return [sheet.fault] if sheet.fault else [fault for one in sheet.pipelines for fault in one.faults]


def _changes(sheet: Sheet, stands: dict[str, Any]) -> list[dict[str, Any]]:
    made = []
    for one in sheet.pipelines:
        was = (stands.get(one.name) or {}).get("revision")
        revision = one.definition.revision if one.definition is not None else None
        if one.definition is None:
            change = "refused"
        elif was is None:
            change = "new"
        else:
            change = "unchanged" if was == revision else "changed"
        made.append({"pipeline": one.name, "change": change, "revision": revision, "was": was})
    named = {one.name for one in sheet.pipelines}
    gone = [one for name, one in stands.items() if name not in named]
    return made + [
        {"pipeline": one["name"], "change": "removed", "revision": None, "was": one["revision"]} for one in gone
    ]


def _state(found: dict[str, Any]) -> str:
    return "paused" if found["state"] == "loaded" and found["status"] == "paused" else str(found["state"])


def _told(error: dict[str, Any]) -> str:
    place = error["file"] if error["line"] is None else f"{error['file']}:{error['line']}:{error['column']}"
    return f"{place}: {error['message']}" + (f" ({error['suggestion']})" if error["suggestion"] else "")


def _items(run: dict[str, Any]) -> str:
    return ", ".join(f"{step['name']} {step['out']}" for step in run["steps"])
