"""`foliot attention`, `timeline`, `calendar`, `ranking`: what needs a person, what ran, what will, and how it fares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from foliot.terminal.access import asks
from foliot.terminal.client import asking
from foliot.terminal.options import From, Json, To, Utc
from foliot.terminal.output import count, moment, note, print_json, table


@asks
def attention(as_json: Json = False, utc: Utc = False) -> None:
    """Show what needs a person: what fails, is late or missed, waits or is silent. Nothing means that all is well."""
    with asking() as client:
        found = client.get("/api/attention")
        if as_json:
            print_json(found)
            return
        rows = [(one["kind"], one["title"], one["reason"], moment(one["since"], utc=utc)) for one in found["items"]]
        table(("kind", "what", "why", "since"), rows, empty="All is well: nothing needs you.")


@asks
def timeline(
    *,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Only schedules that match this filter.")] = None,
    by: Annotated[str, typer.Option("--by", help="What the rows are: schedule, tag or queue.")] = "schedule",
    start: From = None,
    end: To = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Show what ran and what is planned, row by row; a day back and a day ahead unless said."""
    with asking() as client:
        found = client.get("/api/timeline", **{"from": start, "to": end, "group_by": by, "q": query})
        if as_json:
            print_json(found)
            return
        rows = [_row(group, found["now"], utc=utc) for group in found["groups"]]
        columns = ("name", "ran", "troubles", "last", "planned", "next", "when")
        table(columns, rows, empty="Nothing ran in this span, and nothing is planned.")
        for one in found["collisions"]:
            typer.echo(f"{count(one['count'], 'schedule')} begin at {moment(one['at'], utc=utc)}")
        if found["dropped_groups"]:
            note(f"{count(found['dropped_groups'], 'row')} more had no room: narrow it with --query")


@asks
def ranking(
    *,
    over: Annotated[str, typer.Option(help="How far back: 24h or 7d.")] = "24h",
    limit: Annotated[int, typer.Option(min=1, max=50, help="Of each, at most so many.")] = 5,
    as_json: Json = False,
) -> None:
    """Show the schedules that take longest, and those that fail most often."""
    with asking() as client:
        found = client.get("/api/schedules/ranking", over=over, limit=limit)
        if as_json:
            print_json(found)
            return
        slow = [(one["name"], f"{one['p95_ms'] / 1000:g} s", one["runs"], one["q"]["slow"]) for one in found["slowest"]]
        table(("slowest", "95 of 100 within", "runs", "show them with run list -q"), slow, empty="No run has ended.")
        flaky = [
            (one["name"], f"{one['failure_ratio']:.1%}", f"{one['failed']} of {one['runs']}", one["q"]["failed"])
            for one in found["flakiest"]
        ]
        table(("flakiest", "failed", "runs", "show them with run list -q"), flaky, empty="Nothing failed.")
        if not found["whole"]:
            note(f"of the newest {count(found['runs'], 'run')}: there are more")


def _row(group: Mapping[str, Any], now: str, *, utc: bool) -> tuple[object, ...]:
    past = [mark for mark in group["marks"] if mark["state"] != "planned"]
    ahead = [mark["at"] for mark in group["marks"] if mark["state"] == "planned"]
    bad = sum(mark["count"] for mark in past if mark["state"] in {"failed", "dead_letter", "missed"})
    last = max((mark["at"] for mark in past), default=None)
    due = min((at for at in ahead if at >= now), default=min(ahead, default=None))
    shown = moment(last, utc=utc), group["planned"], moment(due, utc=utc)
    return group["name"], group["runs"], bad or "", *shown, group["summary"]


@asks
def calendar(
    *,
    start: From = None,
    end: To = None,
    by: Annotated[str, typer.Option("--by", help="hour or day.")] = "day",
    timezone: Annotated[str | None, typer.Option(help="Whose hours and days, such as Europe/Stockholm.")] = None,
    schedule: Annotated[str | None, typer.Option(help="Only this schedule (sch_…).")] = None,
    as_json: Json = False,
) -> None:
    """Show what ran, what did not and what is planned, by day or hour; this month unless said."""
    with asking() as client:
        asked = {"from": start, "to": end, "granularity": by, "timezone": timezone, "schedule_id": schedule}
        found = client.get("/api/calendar", **asked)
        if as_json:
            print_json(found)
            return
        cells = [one for one in found["items"] if one["total"] or one["planned"] or one["missed"] or one["skipped"]]
        rows = [_cell(one, by) for one in cells]
        columns = (f"{by} in {found['timezone']}", "ran", "states", "missed", "skipped", "planned")
        table(columns, rows, empty="Nothing ran in this span, and nothing is planned.")
        if not found["exact"]:
            note("planned instants are very many: those of some schedules are spread evenly")


def _cell(one: Mapping[str, Any], by: str) -> tuple[object, ...]:
    local = one["local"][: 16 if by == "hour" else 10].replace("T", " ")
    states = ", ".join(f"{number} {state}" for state, number in sorted(one["counts"].items()))
    return local, one["total"], states, one["missed"] or "", one["skipped"] or "", one["planned"]
