"""`foliot plan` and `foliot apply`: schedules as files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.features.plans import view
from foliot.features.plans.model.request import MAX_FILE
from foliot.features.plans.source import DocumentFiles, FaultyFiles, read_files
from foliot.terminal.client import Client, connect
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Json, Yes, usage
from foliot.terminal.output import Failure, confirm, print_json

group = CommandGroup()

DIFFERS = 2
"""The exit code of a plan with changes."""
_UNNAMED = re.compile(r"[^A-Za-z0-9_.-]+")

Source = Annotated[Path, typer.Argument(help="A YAML or JSON file, or a directory of them.", metavar="PATH")]
Name = Annotated[
    str | None,
    typer.Option("--name", help="What the documents are managed by: file:NAME. By default the name of the path."),
]
Prune = Annotated[bool, typer.Option("--prune", help="Delete what PATH defined before and no longer contains.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Undo edits that were made by hand.")]

Spread = Annotated[
    bool, typer.Option("--spread", help="Propose other seconds and minutes that flatten the peaks of queues.")
]


@group.command()
def plan(
    path: Source,
    *,
    name: Name = None,
    prune: Prune = False,
    overwrite: Overwrite = False,
    spread: Spread = False,
    as_json: Json = False,
) -> None:
    """Show what applying files would change. Exit code: 0 if nothing, 2 if something, 1 on an error."""
    with connect() as client:
        files = _files(path)
        order = _order(path, name, files, {"prune": prune, "overwrite": overwrite, "spread": spread})
        answer = _planned(client, order, files)
        if as_json:
            print_json(answer)
        else:
            view.print_plan(answer, prune=prune)
    if view.differs(answer):
        raise typer.Exit(DIFFERS)


@group.command()
def apply(  # noqa: PLR0913 -- a command has as many arguments as flags
    path: Source,
    *,
    name: Name = None,
    prune: Prune = False,
    overwrite: Overwrite = False,
    spread: Spread = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Make the server match the files: plan, ask, and apply exactly that plan."""
    with connect() as client:
        files = _files(path)
        order = _order(path, name, files, {"prune": prune, "overwrite": overwrite, "spread": spread})
        answer = _planned(client, order, files)
        if not as_json:
            view.print_plan(answer, prune=prune)
        writes = view.changes_anything(answer)
        if writes:
            confirm("Apply this plan?", "nothing was changed", yes=yes)
        answer = view.apply_plan(client, order, answer)
        if as_json:
            print_json(answer)
        elif writes:
            typer.echo(f"Applied: {view.summary(answer, view.DONE)}")


def _files(path: Path) -> DocumentFiles:
    try:
        return read_files(path)
    except FaultyFiles as faulty:
        raise Failure(str(faulty), details={"faults": [fault.to_dict() for fault in faulty.faults]}) from None


def _order(path: Path, name: str | None, files: DocumentFiles, options: Mapping[str, bool]) -> view.PlanOrder:
    own = path.resolve()
    called = name or _UNNAMED.sub("-", own.stem if own.is_file() else own.name).strip("-.")[:MAX_FILE]
    if not called:
        raise usage("--name: give the documents a name, for the path has none")
    return view.PlanOrder(called, files.documents, options)


def _planned(client: Client, order: view.PlanOrder, files: DocumentFiles) -> dict[str, Any]:
    """The plan; errors of the server are faults of the files."""
    try:
        return view.request_plan(client, order)
    except Failure as failed:
        errors = view.refused(failed)
        found = [files.fault(str(error.get("field", "")), _said(error)) for error in errors]
        faults = [fault for fault in found if fault is not None]
        if not errors or len(faults) < len(errors):
            raise
        lines = "\n".join(map(str, faults))
        raise Failure(lines, details={"faults": [fault.to_dict() for fault in faults]}) from None


def _said(error: Mapping[str, Any]) -> str:
    got = f", got {json.dumps(error['got'], ensure_ascii=False)}" if error.get("got") is not None else ""
    hint = f"; did you mean {error['suggestion']}?" if error.get("suggestion") else ""
    return f"{error.get('message', '')}{got}{hint}"
