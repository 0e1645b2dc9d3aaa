"""`foliot preset …`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table, facts
from foliot.terminal.options import json_or_file, usage
from foliot.terminal.output import note

group = CommandGroup("Create ready-made sets of schedules, and remove them.")

Name = Annotated[str, typer.Argument(help="The preset's name, such as price-monitoring.", metavar="PRESET")]

PRESETS = Table(
    "name, schedules, what: description",
    computed={"schedules": lambda preset: len(preset["schedules"])},
    empty="There are no presets.",
)
_SCHEDULES = Table(
    "schedule: schedule.name, when (UTC): schedule.cron_expr, queue: schedule.queue, task: schedule.action.task",
    empty="It creates no schedules.",
    items="schedules",
)


def _show_settings(preset: JsonObject) -> None:
    for name, description in preset["settings"].items():
        facts([(f"--set {name}=…", description)])
    _SCHEDULES(preset)


PRESET = Facts("name, what: description", then=_show_settings)
LOADED = Table(
    "id: schedule_id, name: schedule, outcome, next run: @next_run_at",
    empty="Nothing of this preset is loaded.",
)


@group.get("/api/presets", PRESETS, utc=False)
def list_() -> None:
    """List presets."""


@group.get("/api/presets/{preset}", PRESET, utc=False)
def show(preset: Name) -> None:
    """Show a preset: its settings, and the schedules that it creates."""


@group.post("/api/presets/{preset}/load", LOADED)
def load(
    preset: Name,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting: name=JSON, or name=@FILE. May be repeated."),
    ] = None,
) -> dict[str, object]:
    """Create a preset's schedules. Running it again creates nothing twice and keeps your edits.

    foliot preset load price-monitoring --set products=@products.json
    """
    settings = {}
    for text in set_ or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise usage(f"--set: must be name=JSON or name=@FILE, got {text!r}")
        settings[name.strip()] = json_or_file("--set", value)
    return {"settings": settings or None}


def _show_unloaded(answer: JsonObject) -> None:
    LOADED(answer)
    if any(item["outcome"] == "kept" for item in answer.each("items")):
        note("edited schedules are kept: --edited deletes them too")


@group.post("/api/presets/{preset}/unload", _show_unloaded)
def unload(
    preset: Name,
    edited: Annotated[bool, typer.Option("--edited", help="Also delete those that were edited.")] = False,
) -> None:
    """Delete the schedules that a preset created and that were not edited."""
