"""Sends documents to a server and prints the plan; for `foliot plan`, `apply` and other commands with documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer

from foliot.terminal.client import Client
from foliot.terminal.output import Failure, printable

THINGS = {"schedules": "schedule", "watches": "watch"}
SIGNS = {"create": "+", "change": "~", "delete": "-", "drift": "!"}
DONE = {"create": "created", "change": "changed", "delete": "deleted", "drift": "left alone: edited by hand"}
PLANNED = {"create": "to create", "change": "to change", "delete": "to delete", "drift": "edited by hand"}
_MOST = 80
_LISTED = 5


@dataclass(frozen=True, slots=True)
class PlanOrder:
    """Documents, and how they are compared: the body of `POST /api/plan`."""

    file: str
    documents: Mapping[str, Sequence[Any]]
    options: Mapping[str, Any] = field(default_factory=dict)
    """`prune`, `overwrite`, `spread`."""

    def body(self) -> dict[str, Any]:
        return {"file": self.file, "documents": dict(self.documents), **self.options}


def request_plan(client: Client, order: PlanOrder) -> dict[str, Any]:
    """The plan of these documents; `Failure` with the errors of the server in `details["errors"]`."""
    plan: dict[str, Any] = client.post("/api/plan", order.body())
    return plan


def apply_plan(client: Client, order: PlanOrder, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the plan that was shown; `Failure` when something has changed since."""
    shown = {"digest": plan["digest"], "offsets": plan["offsets"], "spread": False}
    applied: dict[str, Any] = client.post("/api/plan/apply", {**order.body(), **shown})
    return applied


def differs(plan: Mapping[str, Any]) -> bool:
    """Whether the plan holds any change, or drift."""
    return any(plan["counts"][act] for act in SIGNS)


def changes_anything(plan: Mapping[str, Any]) -> bool:
    """Whether applying it would write."""
    return any(plan["counts"][act] for act in ("create", "change", "delete"))


def print_plan(plan: Mapping[str, Any], *, prune: bool) -> None:
    """One line for each change, and one for each field below it."""
    for change in plan["changes"]:
        if change["act"] != "none":
            _print_change(change)
    left = [one["name"] for one in plan["changes"] if one["place"] is None and one["act"] == "none"]
    if left and not prune:
        names = printable(", ".join(sorted(left)[:5])) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        typer.echo(f"No longer in the file, and kept without --prune: {names}")
    typer.echo(summary(plan, PLANNED))
    if plan["simulation"] is not None and differs(plan):
        _print_forecast(plan["simulation"])


def summary(plan: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """`3 to create, 1 edited by hand.`"""
    counts = [f"{plan['counts'][act]:,} {word}" for act, word in words.items() if plan["counts"][act]]
    return (", ".join(counts) or f"Nothing to change: {plan['counts']['none']:,} as wanted") + "."


def _print_forecast(forecast: Mapping[str, Any]) -> None:
    """The peaks of queues and hosts where they change, and what to expect."""
    typer.echo("\nThe next 7 days:")
    for name, one in forecast["queues"].items():
        before, after = one["peak_before"]["count"], one["peak_after"]["count"]
        slots = "" if one["slots"] is None else f", {one['slots']} slots"
        typer.echo(f"  queue {printable(name)}: at most {before} open runs now, {after} after{slots}")
    for name, one in forecast["hosts"].items():
        before, after = one["peak_before"]["count"], one["peak_after"]["count"]
        if before != after:
            typer.echo(f"  host {printable(name)}: at most {before} open runs now, {after} after")
    for one in forecast["skipped"][:_LISTED]:
        part = f"{one['skipped']:,} of {one['instants']:,} instants"
        typer.echo(f"  {printable(one['name'])} will skip {part}: its runs take longer than the time between them")
    for one in forecast["crowded"][:1]:
        typer.echo(f"  {one['starts']} runs start at {one['at']}")
    for note in forecast["notes"]:
        typer.echo(f"  {printable(note)}")


def _print_change(change: Mapping[str, Any]) -> None:
    thing = THINGS.get(change["thing"], change["thing"])
    drift = " (edited by hand: left alone without --overwrite)" if change["act"] == "drift" else ""
    typer.echo(f"{SIGNS[change['act']]} {thing} {printable(change['name'])}{drift}")
    for one in change["fields"]:
        note = "  by hand" if one["by_hand"] else ""
        typer.echo(f"    {printable(one['field'])}: {_value(one['was'])} -> {_value(one['becomes'])}{note}")


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return printable(text if len(text) <= _MOST else text[: _MOST - 1] + "…")


def refused(failed: Failure) -> Sequence[Mapping[str, Any]]:
    """The errors of fields, where that is what the server refused."""
    errors: Sequence[Mapping[str, Any]] = failed.details.get("errors") or ()
    return errors
