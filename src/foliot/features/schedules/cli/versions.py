"""`foliot schedule versions` and `foliot schedule diff`: what a schedule was, and what an edit changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from foliot.terminal.client import Client, connect, segment
from foliot.terminal.group import CommandGroup, JsonObject, Table
from foliot.terminal.options import Json, ScheduleId
from foliot.terminal.output import Exit, Failure, print_json
from foliot.terminal.reference import resolve
from foliot.terminal.table import table

group = CommandGroup()

PAGE = 200

VERSIONS = Table(
    "version, since: @at, by: user_id, change, status, reason",
    computed={"change": lambda version: (version["change"] or "").replace("_", " ")},
)

NewerVersion = Annotated[int | None, typer.Argument(min=1, help="The newer version; by default the newest.")]
OlderVersion = Annotated[int | None, typer.Argument(min=1, help="The older version; by default the one before it.")]


@group.get("/api/schedules/{schedule}/versions", VERSIONS, paged=True)
def versions(schedule: ScheduleId) -> None:
    """List a schedule's versions, newest first: every edit, pause and resume creates one."""


@group.command()
def diff(
    schedule: ScheduleId, newer: NewerVersion = None, older: OlderVersion = None, *, as_json: Json = False
) -> None:
    """Show which settings differ between two versions of a schedule.

    foliot schedule diff prices 7 3
    """
    with connect() as client:
        path = f"/api/schedules/{segment(resolve(client, 'schedule', schedule))}/versions"
        new, old = _pair(client, path, newer, older)
    changes = dict(_changes(old["settings"], new["settings"]))
    if as_json:
        named = {name: {"old": before, "new": after} for name, (before, after) in changes.items()}
        print_json({"older": old["version"], "newer": new["version"], "changes": named})
        return
    rows = [(name, _text(before), _text(after)) for name, (before, after) in changes.items()]
    heads = ("setting", f"version {old['version']}", f"version {new['version']}")
    table(heads, rows, empty=f"Versions {old['version']} and {new['version']} have the same settings.", wrap=True)


def _pair(client: Client, path: str, newer: int | None, older: int | None) -> tuple[JsonObject, JsonObject]:
    """The two versions, newer first."""
    if newer is not None and older is not None and newer < older:
        newer, older = older, newer
    new: JsonObject | None = None
    for version in _each(client, path):
        if new is None and newer in (None, version["version"]):
            new = version
        elif new is not None and older in (None, version["version"]):
            return new, version
    if new is None:
        raise Failure(f"there is no version {newer}", Exit.NOT_FOUND)
    missing = f"version {older} before version {new['version']}" if older else f"version before {new['version']}"
    raise Failure(f"there is no {missing}", Exit.NOT_FOUND)


def _each(client: Client, path: str) -> Iterator[JsonObject]:
    page = client.get(path, limit=PAGE)
    yield from map(JsonObject, page["items"])
    while page["next_cursor"] is not None:
        page = client.get(path, limit=PAGE, cursor=page["next_cursor"])
        yield from map(JsonObject, page["items"])


def _changes(old: object, new: object, path: str = "") -> Iterator[tuple[str, tuple[object, object]]]:
    """The paths whose values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _changes(old.get(name), new.get(name), f"{path}.{name}" if path else name)
    elif old != new:
        yield path, (old, new)


def _text(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
