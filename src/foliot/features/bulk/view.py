"""Terminal output of bulk actions."""

from __future__ import annotations

import typer

from foliot.terminal.group import Facts, JsonObject, Table
from foliot.terminal.output import note, printable

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
