"""`foliot attention`, `foliot timeline`, `foliot calendar`, `foliot ranking`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.group import CommandGroup, JsonObject, Table
from foliot.terminal.options import From, OfSchedule, To
from foliot.terminal.output import count, note
from foliot.terminal.table import table

group = CommandGroup()

TROUBLES = frozenset({"failed", "dead_letter", "missed"})
SHOW_THEM = "show them with run list -q"
NOTHING = "Nothing ran in this time range, and nothing is planned."

ATTENTION = Table(
    "kind, what: title, why: reason, since: @since",
    empty="All is well: nothing needs attention.",
    wrap=True,
)
SLOWEST = Table(
    f"slowest: name, 95th percentile, runs, {SHOW_THEM}: q.slow",
    computed={"95th percentile": lambda schedule: f"{schedule['p95_ms'] / 1000:g} s"},
    empty="No run has ended.",
    items="slowest",
)
FLAKIEST = Table(
    f"flakiest: name, failed, runs, {SHOW_THEM}: q.failed",
    computed={
        "failed": lambda schedule: f"{schedule['failure_ratio']:.1%}",
        "runs": lambda schedule: f"{schedule['failed']} of {schedule['runs']}",
    },
    empty="Nothing failed.",
    items="flakiest",
)


@group.get("/api/attention", ATTENTION)
def attention() -> None:
    """Show what needs attention: what is failing, late, missed, stuck or silent. An empty list means all is well."""


def _show_timeline(answer: JsonObject) -> None:
    rows = [_row(group, answer["now"]) for group in answer.each("groups")]
    rows += [
        (f"{fold['name']} ({count(fold['schedules'], 'schedule')})", *_row(fold, answer["now"])[1:])
        for fold in answer.each("rest")
    ]
    table(("name", "state", "ran", "problems", "last", "planned?", "next", "when?"), rows, empty=NOTHING)
    for collision in answer.each("collisions"):
        typer.echo(f"{count(collision['count'], 'schedule')} start at {collision.at('at')}")
    if answer["dropped_groups"]:
        note(f"{count(answer['dropped_groups'], 'more row')} did not fit: narrow the list with --query")


def _row(group: JsonObject, now: str) -> tuple[object, ...]:
    past = [mark for mark in group["marks"] if mark["state"] != "planned"]
    ahead = [mark["at"] for mark in group["marks"] if mark["state"] == "planned"]
    bad = sum(mark["count"] for mark in past if mark["state"] in TROUBLES)
    # Of folded marks, `at` is the first and `until` the last.
    last = max((mark.get("until") or mark["at"] for mark in past), default=None)
    due = min((at for at in ahead if at >= now), default=min(ahead, default=None))
    times = JsonObject({"last": last, "due": due}, group.utc, brief=True)
    return (
        group["name"],
        group["urgency"] or "",
        group["runs"],
        bad or "",
        times.at("last"),
        group["planned"],
        times.at("due"),
        group["summary"],
    )


@group.get("/api/timeline", _show_timeline)
def timeline(
    *,
    q: Annotated[str | None, typer.Option("--query", "-q", help="Only schedules that match this filter.")] = None,
    group_by: Annotated[
        str, typer.Option("--by", help="What each row stands for: schedule, tag or queue.")
    ] = "schedule",
    rows: Annotated[
        int, typer.Option(min=1, max=80, help="At most this many rows; the others are folded by tag or kind.")
    ] = 20,
    from_: From = None,
    to: To = None,
) -> None:
    """Show past and planned runs, the most urgent schedules first; the last 24 hours and the next by default."""


def _show_ranking(answer: JsonObject) -> None:
    SLOWEST(answer)
    FLAKIEST(answer)
    if not answer["whole"]:
        note(f"only the newest {count(answer['runs'], 'run')} were counted: there are more")


@group.get("/api/schedules/ranking", _show_ranking, utc=False)
def ranking(
    *,
    over: Annotated[str, typer.Option(help="How far back: 24h or 7d.")] = "24h",
    limit: Annotated[int, typer.Option(min=1, max=50, help="At most this many of each.")] = 5,
) -> None:
    """Show the slowest schedules, and those that fail most often."""


def _show_calendar(answer: JsonObject) -> None:
    by = answer.sent["granularity"]
    cells = [cell for cell in answer.each("items") if any(cell[n] for n in ("total", "planned", "missed", "skipped"))]
    rows = [
        (
            cell["local"][: 16 if by == "hour" else 10].replace("T", " "),
            cell["total"],
            ", ".join(f"{number} {state}" for state, number in sorted(cell["counts"].items())),
            cell["missed"] or "",
            cell["skipped"] or "",
            cell["planned"],
        )
        for cell in cells
    ]
    table((f"{by} in {answer['timezone']}", "ran", "states", "missed", "skipped", "planned"), rows, empty=NOTHING)
    if not answer["exact"]:
        note("there are very many planned instants: those of some schedules are estimated evenly")


@group.get("/api/calendar", _show_calendar, utc=False)
def calendar(
    *,
    from_: From = None,
    to: To = None,
    granularity: Annotated[str, typer.Option("--by", help="Group by hour or day.")] = "day",
    timezone: Annotated[str | None, typer.Option(help="Time zone of the hours and days: Europe/Stockholm.")] = None,
    schedule_id: OfSchedule = None,
) -> None:
    """Show what ran, what did not and what is planned, by day or hour; by default this month."""
