"""`foliot dead-letter …`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.client import connect
from foliot.terminal.group import CommandGroup, JsonObject, Table, print_answer
from foliot.terminal.options import AsOf, Filter, Json, Kind, OfSchedule, Patch, SortDeadLetters, json_or_file, usage
from foliot.terminal.output import note
from foliot.terminal.reference import resolve

group = CommandGroup("Show runs that have failed for good, and replay them.")

GroupId = Annotated[
    str, typer.Argument(help="The group's fingerprint: foliot dead-letter groups.", metavar="FINGERPRINT")
]

LETTERS = Table(
    "count, code, what: message, kind, last: @last_at, run",
    computed={"run": lambda letter: next(iter(letter["ids"] or ()), "")},
    empty="No dead letters.",
)
GROUPS = Table(
    "count, fingerprint, what: message, host?, schedules?, last: @last_at, muted until: @mute.until",
    computed={"schedules": lambda group: ", ".join(schedule["name"] for schedule in group.each("schedules"))},
    empty="No dead letters.",
)
REPLAYED = Table(
    "run: id, state, replays: parent_id, version: schedule_version",
    empty="No dead letters match.",
    then=lambda answer: note("more match: run the same command again") if answer["more"] else None,
)


@group.get("/api/dead-letters", LETTERS, paged=True)
def list_(
    schedule_id: OfSchedule = None,
    kind: Kind = None,
    sort: SortDeadLetters = None,
) -> None:
    """List dead letters, grouped by error; the newest first or in another order."""


@group.get("/api/dead-letters/groups", GROUPS, paged=True)
def groups(q: Filter = None, sort: SortDeadLetters = None) -> None:
    """List dead letters grouped by cause, ignoring the numbers and ids in their messages.

    foliot dead-letter groups -q 'since:24h -muted:true'
    """


@group.command()
def replay(  # noqa: PLR0913 -- a command has as many arguments as flags
    runs: Annotated[
        list[str] | None, typer.Argument(help="Ids of dead letters (run_…), or their beginnings.", metavar="RUN...")
    ] = None,
    *,
    schedule: Annotated[str | None, typer.Option(help="All of this schedule (name or id).")] = None,
    kind: Annotated[str | None, typer.Option(help="All of this kind of action.")] = None,
    code: Annotated[str | None, typer.Option(help="All with this error code.")] = None,
    as_of: AsOf = None,
    patch: Patch = None,
    as_json: Json = False,
) -> None:
    """Replay dead letters, each as a new run; the dead letter stays until that run succeeds.

    Each uses the current settings of its schedule, unless --as-of then is given.
    To replay many at a limited rate, use foliot bulk start replay.
    """
    with connect() as client:
        given = {"schedule_id": schedule, "kind": kind, "code": code}
        chosen = {name: value for name, value in given.items() if value is not None}
        if bool(runs) == bool(chosen):
            raise usage("give either ids of runs, or --schedule, --kind or --code to choose them by")
        changes = None if patch is None else json_or_file("--patch", patch)
        if schedule is not None:
            chosen["schedule_id"] = resolve(client, "schedule", schedule)
        ids = [resolve(client, "dead_letter", run) for run in runs or ()]
        body = {"ids": ids or None, "filter": chosen or None, "as_of": as_of, "patch": changes}
        print_answer(client.request("POST", "/api/dead-letters/replay", body), REPLAYED, as_json=as_json)


def _show_mute(mute: JsonObject) -> None:
    typer.echo(f"Muted until {mute.at('until')}.")


@group.post("/api/dead-letters/groups/{fingerprint}/mute", _show_mute)
def mute(
    fingerprint: GroupId,
    hours: Annotated[int, typer.Option(min=1, max=720, help="For this many hours.")] = 24,
    reason: Annotated[str, typer.Option(help="Why; shown with the group.")] = "",
) -> None:
    """Mute a group of dead letters: foliot attention leaves it out until the time is up."""


@group.post("/api/dead-letters/groups/{fingerprint}/unmute", lambda _: typer.echo("Not muted."), utc=False)
def unmute(fingerprint: GroupId) -> None:
    """Unmute a group of dead letters before its time is up."""
