"""`foliot preset …`: schedules that belong together, loaded and unloaded as one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.terminal import flag_values as drafting
from foliot.terminal.client import asking, segment
from foliot.terminal.options import Json, Utc
from foliot.terminal.output import facts, listing, moment, note, print_json, table

group = typer.Typer(help="Load schedules that belong together.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The preset's name, such as price-monitoring.", metavar="PRESET")]


@group.command("list")
def list_(as_json: Json = False) -> None:
    """List presets."""
    with asking() as client:
        found = client.get("/api/presets")

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            return each["name"], len(each["schedules"]), each["description"]

        listing(found, ("name", "schedules", "what"), row, empty="There are no presets.", as_json=as_json)


@group.command()
def show(preset: Name, as_json: Json = False) -> None:
    """Show a preset: its settings, and the schedules that it makes."""
    with asking() as client:
        found = client.get(f"/api/presets/{segment(preset)}")
        if as_json:
            print_json(found)
            return
        facts([("name", found["name"]), ("what", found["description"])])
        for name, what in found["settings"].items():
            facts([(f"--set {name}=…", what)])
        rows = [
            (one["name"], one["cron_expr"], one["queue"], one["action"].get("task"))
            for one in (each["schedule"] for each in found["schedules"])
        ]
        table(("schedule", "when (UTC)", "queue", "task"), rows, empty="It makes no schedules.")


@group.command()
def load(
    preset: Name,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting: name=JSON, or name=@FILE. May be repeated."),
    ] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Make a preset's schedules. Again: nothing twice, and what you edited stays.

    foliot preset load price-monitoring --set products=@products.json
    """
    with asking() as client:
        settings = dict(_setting(text) for text in set_ or [])
        body = {"settings": settings} if settings else {}
        _show(client.post(f"/api/presets/{segment(preset)}/load", body), as_json=as_json, utc=utc)


@group.command()
def unload(
    preset: Name,
    edited: Annotated[bool, typer.Option("--edited", help="Also those that somebody edited.")] = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Delete the schedules that a preset made and nobody edited."""
    with asking() as client:
        done = client.post(f"/api/presets/{segment(preset)}/unload", {"edited": edited})
        _show(done, as_json=as_json, utc=utc)
        if not as_json and any(each["outcome"] == "kept" for each in done["items"]):
            note("what was edited is kept: --edited deletes it too")


def _show(done: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(done)
        return
    rows = [
        (each["schedule_id"], each["schedule"], each["outcome"], moment(each["next_run_at"], utc=utc))
        for each in done["items"]
    ]
    table(("id", "name", "outcome", "next run"), rows, empty="Nothing of this preset was loaded.")


def _setting(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise drafting.usage(f"--set: must be name=JSON or name=@FILE, got {text!r}")
    return name.strip(), drafting.json_or_file("--set", value)
