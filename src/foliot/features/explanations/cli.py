"""`foliot why`: explains a run, or a time of a schedule."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.core.time.zone import zone_info
from foliot.features.explanations.model.asked_time import CLOCK_TIME, on_clock
from foliot.terminal.client import Client, connect, segment
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Json, Utc, usage
from foliot.terminal.output import moment, now, print_json, printable
from foliot.terminal.reference import resolve
from foliot.terminal.table import table

group = CommandGroup()

Target = Annotated[str, typer.Argument(help="A run's id, or the name or id of a schedule.", metavar="RUN|SCHEDULE")]


@group.command()
def why(
    target: Target,
    at: Annotated[
        str | None,
        typer.Option(help="The time in question: 12:00, '2027-03-28 02:30' (in the schedule's zone), or RFC 3339."),
    ] = None,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Explain why a run happened, waits or failed, or why a schedule did not run at a time."""
    with connect() as client:
        if target.startswith("run_"):
            if at is not None:
                raise usage("--at belongs to a schedule; a run has its own time")
            answer = client.get(f"/api/runs/{segment(resolve(client, 'run', target))}/explain")
        else:
            schedule_id = segment(resolve(client, "schedule", target))
            asked = {} if at is None else {"at": _moment(client, schedule_id, at)}
            answer = client.get(f"/api/schedules/{schedule_id}/explain", **asked)
    if as_json:
        print_json(answer)
    else:
        _show(answer, utc=utc)


def _moment(client: Client, schedule_id: str, text: str) -> str:
    """A time of day, with or without a date, on the clock of the schedule's zone; anything else as it is."""
    if not CLOCK_TIME.fullmatch(text.strip()):
        return text
    zone = zone_info(client.get(f"/api/schedules/{schedule_id}")["timezone"])
    try:
        found = on_clock(text, zone, now())
    except ValueError as wrong:
        raise usage(f"--at: {wrong}, got {text!r}") from None
    return text if found is None else found.isoformat()


def _show(answer: dict[str, Any], *, utc: bool | None) -> None:
    typer.echo(printable(answer["summary"]) + "\n")
    rows = [
        (
            moment(fact["at"], utc=utc) or "now",
            fact["code"],
            ", ".join(f"{name} {value}" for name, value in fact["proof"].items() if value is not None),
        )
        for fact in answer["facts"]
    ]
    table(("at", "fact", "proof"), rows, empty="")
