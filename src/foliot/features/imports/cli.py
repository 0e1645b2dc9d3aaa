"""`foliot import`: schedules of another scheduler, as documents that are planned and applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from foliot.features.imports.model.imported import Imported, UnreadableSource
from foliot.features.imports.monitors import import_monitors, print_monitors
from foliot.features.imports.sources import read_source
from foliot.features.plans import view
from foliot.terminal.client import Client, connect
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import DryRun, Json
from foliot.terminal.output import Failure, note, print_json

group = CommandGroup()

Kind = Literal[
    "crontab", "systemd", "celery-beat", "django-celery-beat", "redbeat", "apscheduler", "airflow",
    "scrapydweb", "healthchecks",
]  # fmt: skip
PAUSED = "imported, and not resumed yet"


@group.command("import")
def import_(  # noqa: PLR0913 -- a command has as many arguments as flags
    kind: Annotated[Kind, typer.Argument(help="The scheduler that the entries come from.", metavar="KIND")],
    source: Annotated[
        str, typer.Argument(help="Where they are: a file or directory; - is standard input.", metavar="SOURCE")
    ],
    *,
    active: Annotated[bool, typer.Option("--active", help="Do not pause what is created.")] = False,
    timezone: Annotated[
        str | None, typer.Option(help="The time zone of entries that name none. By default that of the source.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="What the schedules are managed by: file:NAME. By default KIND.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Undo edits that were made by hand.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Create schedules from the entries of another scheduler, paused.

    KIND is crontab, systemd, celery-beat, django-celery-beat, redbeat (SOURCE is its Redis), apscheduler, airflow,
    scrapydweb or healthchecks, whose checks become monitors. Nothing of the source is run. Importing again
    changes what differs, and nothing else.

    crontab -l | foliot import crontab - --dry-run
    """
    with connect() as client:
        imported = _read(kind, source, timezone)
        if imported.monitors:
            done = import_monitors(client, imported, overwrite=overwrite, dry_run=dry_run)
            if as_json:
                print_json({"monitors": done, "notes": _notes(imported)})
                return
            print_monitors(done, dry_run=dry_run)
            _print_notes(imported)
            return
        order = view.PlanOrder(name or kind, {"schedules": imported.documents}, {"overwrite": overwrite})
        answer = _planned(client, order, imported)
        if not active:
            answer = _paused(client, order, imported, answer)
        if not dry_run and view.changes_anything(answer):
            answer = view.apply_plan(client, order, answer)
    if as_json:
        print_json({**answer, "notes": _notes(imported)})
        return
    view.print_plan(answer, prune=False)
    applied = not dry_run and view.changes_anything(answer)
    if applied:
        typer.echo(f"Imported: {view.summary(answer, view.DONE)}")
    _print_notes(imported)
    if applied and not active and answer["counts"]["create"]:
        note(f"They are paused. To resume all: foliot bulk start resume -q 'tag:from-{kind}'")


def _notes(imported: Imported) -> list[dict[str, str | None]]:
    return [{"entry": each.entry, "text": each.text} for each in imported.notes]


def _print_notes(imported: Imported) -> None:
    for each in imported.notes:
        note(f"{each.entry}: {each.text}" if each.entry else each.text)


def _read(kind: str, source: str, zone: str | None) -> Imported:
    try:
        return read_source(kind, source, zone)
    except UnreadableSource as wrong:
        raise Failure(str(wrong)) from None


def _planned(client: Client, order: view.PlanOrder, imported: Imported) -> dict[str, Any]:
    try:
        return view.request_plan(client, order)
    except Failure as failed:
        lines = [_said(each, imported) for each in view.refused(failed)]
        if not lines:
            raise
        raise Failure("\n".join(dict.fromkeys(lines)), details=failed.details) from None


def _said(error: Mapping[str, Any], imported: Imported) -> str:
    """An error of the server with the entry that it is about: `schedules[3].action.argv`."""
    field = str(error.get("field", ""))
    place, _, rest = field.removeprefix("schedules[").partition("]")
    if field.startswith("schedules[") and place.isdigit() and int(place) < len(imported.documents):
        field = f"{imported.documents[int(place)]['name']}: {rest.lstrip('.')}"
    return f"{field}: {error.get('message', '')}"


def _paused(client: Client, order: view.PlanOrder, imported: Imported, answer: dict[str, Any]) -> dict[str, Any]:
    """The plan with those paused that it creates: one that exists keeps its status, which a person chose."""
    new = {each["name"] for each in answer["changes"] if each["act"] == "create"}
    if not new:
        return answer
    for document in imported.documents:
        if document["name"] in new:
            document.setdefault("paused_reason", PAUSED)
            document["paused"] = True
    return _planned(client, order, imported)
