"""`foliot dead-letter …`: runs that gave up, by cause, and how to send them again."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

from foliot.terminal.client import asking, segment
from foliot.terminal.options import Cursor, Filter, Json, Limit, Utc
from foliot.terminal.output import Exit, Failure, listing, moment, note, print_json, table

group = typer.Typer(help="Runs that gave up, and how to send them again.", no_args_is_help=True)


class AsOf(StrEnum):
    """By which settings of its schedule a letter is sent again."""

    NOW = "now"
    THEN = "then"


Settings = Annotated[
    AsOf | None,
    typer.Option(
        "--as-of", help="By the settings of their schedules now, or by those of then.", show_default=AsOf.NOW.value
    ),
]
Patch = Annotated[
    str | None,
    typer.Option(help='A JSON merge patch laid over each payload: \'{"body": {"sku": 991}}\'; null takes away.'),
]
GroupId = Annotated[
    str, typer.Argument(help="The group's fingerprint: foliot dead-letter groups.", metavar="FINGERPRINT")
]


@group.command("list")
def list_(
    schedule: Annotated[str | None, typer.Option(help="Only those of this schedule (its id).")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of action, such as webhook.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List dead letters, grouped by what went wrong."""
    with asking() as client:
        found = client.get("/api/dead-letters", schedule_id=schedule, kind=kind, limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            newest = (each.get("ids") or [""])[0]
            last = moment(each.get("last_at"), utc=utc)
            return each["count"], each.get("code"), each.get("message"), each.get("kind"), last, newest

        columns = ("count", "code", "what", "kind", "last", "run")
        listing(found, columns, row, empty="No dead letters.", as_json=as_json)


@group.command()
def groups(q: Filter = None, limit: Limit = 50, cursor: Cursor = None, as_json: Json = False, utc: Utc = False) -> None:
    """List dead letters by what went wrong, whatever the numbers and ids in their messages.

    foliot dead-letter groups -q '-muted:true since:24h'
    """
    with asking() as client:
        found = client.get("/api/dead-letters/groups", q=q, limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            names = ", ".join(one["name"] for one in each.get("schedules", ()))
            last = moment(each.get("last_at"), utc=utc)
            muted = moment((each.get("mute") or {}).get("until"), utc=utc)
            return each["count"], each["fingerprint"], each.get("message"), each.get("host"), names, last, muted

        columns = ("count", "fingerprint", "what", "host", "schedules", "last", "muted until")
        listing(found, columns, row, empty="No dead letters.", as_json=as_json)


@group.command()
def replay(  # noqa: PLR0913 -- a command has as many arguments as flags
    runs: Annotated[list[str] | None, typer.Argument(help="Ids of dead runs.", metavar="[RUN]...")] = None,
    *,
    schedule: Annotated[str | None, typer.Option(help="All of this schedule (its id).")] = None,
    kind: Annotated[str | None, typer.Option(help="All of this kind of action.")] = None,
    code: Annotated[str | None, typer.Option(help="All with this error code.")] = None,
    as_of: Settings = None,
    patch: Patch = None,
    as_json: Json = False,
) -> None:
    """Send dead letters again, each as a new run; the letter stays until the new run succeeds.

    Each follows its schedule as it is now, unless --as-of then. Many at a bounded pace: foliot bulk start replay.
    """
    with asking() as client:
        wanted = {"schedule_id": schedule, "kind": kind, "code": code}
        chosen = {name: value for name, value in wanted.items() if value is not None}
        if bool(runs) == bool(chosen):
            raise Failure("give either ids of runs, or --schedule, --kind or --code to choose them by", Exit.USAGE)
        body: dict[str, Any] = {"ids": runs} if runs else {"filter": chosen}
        made = client.post("/api/dead-letters/replay", body | terms(as_of, patch))
        if as_json:
            print_json(made)
            return
        rows = [
            (each["id"], each["state"], each.get("parent_id"), each.get("schedule_version"))
            for each in made.get("items", [])
        ]
        table(("run", "state", "replays", "version"), rows, empty="No dead letters were found to replay.")
        if made.get("more"):
            note("there are more that match: give the same command again")


@group.command()
def mute(
    fingerprint: GroupId,
    hours: Annotated[int, typer.Option(min=1, max=720, help="For so long.")] = 24,
    reason: Annotated[str, typer.Option(help="Why, for those who wonder.")] = "",
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Let a group of dead letters need nobody's attention for a while; it comes back by itself."""
    with asking() as client:
        path = f"/api/dead-letters/groups/{segment(fingerprint)}/mute"
        made = client.post(path, {"hours": hours, "reason": reason})
        if as_json:
            print_json(made)
        else:
            typer.echo(f"Muted until {moment(made['until'], utc=utc)}.")


@group.command()
def unmute(fingerprint: GroupId, as_json: Json = False) -> None:
    """Hear of a group of dead letters again, before its time."""
    with asking() as client:
        made = client.post(f"/api/dead-letters/groups/{segment(fingerprint)}/unmute")
        if as_json:
            print_json(made)
        else:
            typer.echo("Not muted.")


def terms(as_of: AsOf | None, patch: str | None) -> dict[str, Any]:
    """On what terms letters are sent again, as a request says it."""
    said: dict[str, Any] = {} if as_of is None else {"as_of": as_of.value}
    if patch is None:
        return said
    try:
        return {**said, "patch": json.loads(patch)}
    except ValueError as wrong:
        raise Failure(f"--patch: is not JSON: {wrong}", Exit.USAGE) from None
