"""`foliot quality …`."""

from __future__ import annotations

import typer

from foliot.terminal.group import CommandGroup, Facts, JsonObject
from foliot.terminal.options import RunId, ScheduleId
from foliot.terminal.output import moment
from foliot.terminal.table import table

group = CommandGroup("Show the quality of a schedule's data; release or drop the data of degraded runs.")

QUARANTINE = Facts("run: run_id, state, items, decided: @decided_at, by: decided_by, written by: release_id")


def _show_quality(answer: JsonObject) -> None:
    rows = []
    for run in answer["items"]:
        facts = run["facts"] or {}
        broken = [one["expectation"] for one in run["verdict"] or () if one["met"] is False]
        coverage = ", ".join(f"{name} {share:g}%" for name, share in (facts.get("coverage") or {}).items())
        rows.append(
            (
                moment(run["at"], utc=answer.utc),
                run["state"],
                facts.get("items", ""),
                facts.get("errors", ""),
                coverage,
                ", ".join(broken),
                run["run_id"],
            )
        )
    table(("ended", "state", "items", "errors", "coverage", "broken", "run"), rows, empty="No run has ended yet.")
    band = answer["baseline"]
    if band is None:
        typer.echo(f"\nNo baseline yet: {answer['good_runs']} of 5 good runs.")
    else:
        typer.echo(f"\nBaseline: {band['median']:g} items ({band['low']:g} to {band['high']:g}).")
        for name, one in answer["bands"].items():
            if name != "items":
                typer.echo(f"  {name}: {one['median']:g} ({one['low']:g} to {one['high']:g})")
    for one in answer["suggestions"]:
        typer.echo(f"Suggestion: {one['expectation']} {one['value']}  ({one['why']})")


@group.get("/api/schedules/{schedule}/quality", _show_quality)
def show(schedule: ScheduleId) -> None:
    """Show items, errors and coverage of the newest runs, the baseline, and suggested expectations."""


@group.get("/api/runs/{run}/quarantine", QUARANTINE)
def quarantine(run: RunId) -> None:
    """Show what became of the data of a degraded run."""


@group.post("/api/runs/{run}/quarantine/release", QUARANTINE)
def release(run: RunId) -> None:
    """Accept the data of a degraded run; those of a pipeline are written to its sinks."""


@group.post("/api/runs/{run}/quarantine/drop", QUARANTINE)
def drop(run: RunId) -> None:
    """Delete the withheld items of a degraded run."""
