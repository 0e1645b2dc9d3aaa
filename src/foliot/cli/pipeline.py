"""`foliot pipeline …`, with `check`, `run` and `plan`, which read a file here."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.features.pipelines import cli as pipelines
from foliot.terminal.access import READ_INSTALLATION, needs
from foliot.terminal.client import connect
from foliot.terminal.group import CommandGroup, JsonObject, Table
from foliot.terminal.options import Home, Json
from foliot.terminal.output import Exit, Failure, count, note, one_line_errors, print_json, printable

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.pipelines.model import FileContents, FileFault

group = CommandGroup("Check, run and show pipelines: chains of steps that a YAML file defines.")
group.add_typer(pipelines.group)

File = Annotated[Path, typer.Argument(help="The file that defines pipelines.", metavar="FILE")]
Name = Annotated[str, typer.Argument(help="The pipeline's name.", metavar="NAME")]


CHANGES = Table(
    "pipeline, change, revision, was",
    empty="No plan: the file cannot be read.",
)


@group.command()
@needs(READ_INSTALLATION)
def check(file: File, home: Home = None, as_json: Json = False) -> None:
    """Check a file and show its errors by line; exit 1 when there are any. Nothing runs."""
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
            typer.echo(f"{file}: {count(good, 'pipeline')} valid, {count(len(faults), 'error')}")
        raise typer.Exit(Exit.FAILED if faults else Exit.DONE)


@group.command()
@needs(READ_INSTALLATION)
def run(file: File, name: Name, home: Home = None, as_json: Json = False) -> None:
    """Run one pipeline of a file now, without a server; exit 1 unless it succeeds.

    foliot pipeline run pipelines.yml my_pipeline
    """
    from foliot.cli.pipeline_run import read_file, run_here

    with one_line_errors():
        settings = _settings(home)
        sheet = read_file(settings, file)
        pipeline = {each.name: each for each in sheet.pipelines}.get(name)
        if sheet.fault is not None:
            raise Failure(str(sheet.fault))
        if pipeline is None:
            named = ", ".join(one.name for one in sheet.pipelines) or "none"
            raise Failure(f"{file} has no pipeline {name!r}; it has {named}", Exit.NOT_FOUND)
        if pipeline.definition is None:
            raise Failure("\n".join(map(str, pipeline.faults)))
        raise typer.Exit(run_here(settings, [pipeline.definition], as_json=as_json))


@group.command()
def plan(file: File, as_json: Json = False) -> None:
    """Show what a server would change if it read this file: what is new, changed, removed or refused."""
    from foliot.cli.pipeline_run import read_file

    with connect() as client:
        sheet = read_file(_settings(None), file)
        current = {pipeline["name"]: pipeline for pipeline in client.get("/api/pipelines")["items"]}
        changes = [] if sheet.fault else _changes(sheet, current)
        faults = _faults(sheet)
        if as_json:
            print_json({"ok": not faults, "changes": changes, "faults": [asdict(fault) for fault in faults]})
        else:
            CHANGES(JsonObject({"items": changes}))
            for fault in faults:
                note(str(fault))
        raise typer.Exit(Exit.FAILED if faults else Exit.DONE)


def _settings(home: Path | None) -> Settings:
    from foliot.config.settings import Settings

    return Settings.load(os.environ, home=home)


def _faults(sheet: FileContents) -> list[FileFault]:
    return [sheet.fault] if sheet.fault else [fault for one in sheet.pipelines for fault in one.faults]


def _changes(sheet: FileContents, current: dict[str, Any]) -> list[dict[str, Any]]:
    changes = []
    for pipeline in sheet.pipelines:
        was = (current.get(pipeline.name) or {}).get("revision")
        revision = pipeline.definition.revision if pipeline.definition is not None else None
        if pipeline.definition is None:
            change = "refused"
        elif was is None:
            change = "new"
        else:
            change = "unchanged" if was == revision else "changed"
        changes.append({"pipeline": pipeline.name, "change": change, "revision": revision, "was": was})
    named = {pipeline.name for pipeline in sheet.pipelines}
    return changes + [
        {"pipeline": name, "change": "removed", "revision": None, "was": pipeline["revision"]}
        for name, pipeline in current.items()
        if name not in named
    ]
