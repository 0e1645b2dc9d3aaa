"""Terminal output of bulk actions."""

from __future__ import annotations

from typing import Any

import typer

from foliot.terminal.client import Client, segment
from foliot.terminal.follow import until
from foliot.terminal.group import Facts, JsonObject, Table
from foliot.terminal.output import Exit, counting, note, printable

_OVER = frozenset({"finished", "stopped"})

_FAILURES = Table("id, why it failed: message", items="failures")
_SAMPLE = Table(
    "id, name, kind, state, what: message",
    empty="Nothing matches.",
    items="sample",
)

BULK = Facts(
    "id, action, filter, state, reason, done, runs, rate, details, by: user_id, created: @created_at, "
    "finished: @finished_at",
    computed={
        "done": lambda bulk: f"{bulk['done']} of {bulk['total']}: {bulk['ok']} ok, {bulk['failed']} failed",
        "runs": lambda bulk: ", ".join(f"{number} {state}" for state, number in bulk["outcomes"].items()),
        "rate": lambda bulk: f"{bulk['rate']} per second",
    },
    then=_FAILURES,
)


def show_bulk(action: str, answer: JsonObject) -> None:
    """A bulk action, or with `--dry-run` what it would do."""
    if not answer["dry_run"]:
        BULK(answer)
        return
    typer.echo(printable(f"{action} would act on {answer['count']}"))
    if answer["hosts"]:
        typer.echo(printable(f"sends to {', '.join(answer['hosts'])}"))
    if answer["rehearsal"]:
        _show_rehearsal(JsonObject(answer["rehearsal"]))
    for warning in answer["warnings"]:
        note(warning)
    _SAMPLE(answer)


def _show_rehearsal(rehearsal: JsonObject) -> None:
    """What a replay would do, judged by the first runs."""
    typer.echo(
        f"of the first {rehearsal['looked_at']}: {rehearsal['changed']} send something else than when they failed, "
        f"{rehearsal['duplicates']} duplicate another, {rehearsal['edited']} edited, {rehearsal['refused']} refused; "
        f"replayed at most {rehearsal['replays_most']} times before (limit {rehearsal['replays_cap']})"
    )
    for refusal in rehearsal.each("refusals"):
        note(f"{refusal['id']}: {refusal['message']}")


def follow_bulk(client: Client, bulk: Any) -> Any:
    """Wait until it is over, with a progress bar on a terminal; the final answer."""
    path = f"/api/bulk/{segment(bulk['id'])}"
    with counting(bulk["action"], bulk["total"]) as progress:
        latest = bulk
        for latest in until(lambda: client.get(path), lambda found: found["state"] in _OVER):
            if progress is not None:
                progress(latest["done"])
    return latest


def exit_of(bulk: Any) -> Exit:
    """How a command ends that has followed it."""
    if bulk["state"] == "stopped":
        return Exit.FAILED
    if not bulk["failed"]:
        return Exit.DONE
    return Exit.PARTIAL if bulk["ok"] else Exit.FAILED
