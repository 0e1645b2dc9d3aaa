"""Creates the monitors of an import; one that exists by its name is compared, and changed only when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from foliot.features.imports.model.imported import Imported
from foliot.terminal.client import Client, segment
from foliot.terminal.output import printable

SIGNS = {"create": "+", "change": "~", "drift": "!"}
MOST = 500
_COMPARED = ("type", "cron_expr", "interval_seconds", "timezone", "grace_seconds", "tags")


def import_monitors(client: Client, imported: Imported, *, overwrite: bool, dry_run: bool) -> list[dict[str, Any]]:
    """What was done, or would be, with each: `create`, `change`, `drift` or `none`."""
    known = {one["name"]: one for one in client.get("/api/monitors", limit=MOST)["items"]}
    done = []
    for document in imported.monitors:
        there = known.get(document["name"])
        act = _act(document, there, overwrite=overwrite)
        done.append({"name": document["name"], "act": act})
        if dry_run or act in {"none", "drift"}:
            continue
        if there is None:
            made = client.post("/api/monitors", document)
            if document["name"] in imported.paused:
                client.post(f"/api/monitors/{segment(made['id'])}/pause")
        else:
            client.patch(f"/api/monitors/{segment(there['id'])}", document)
    return done


def _act(document: Mapping[str, Any], there: Mapping[str, Any] | None, *, overwrite: bool) -> str:
    if there is None:
        return "create"
    # An interval has no zone of its own.
    compared = [name for name in _COMPARED if name in document]
    if all(document[name] == there.get(name) for name in compared):
        return "none"
    return "change" if overwrite else "drift"


def print_monitors(done: list[dict[str, Any]], *, dry_run: bool) -> None:
    """One line for each that differs, and the counts."""
    for one in done:
        if one["act"] != "none":
            drift = " (differs: left alone without --overwrite)" if one["act"] == "drift" else ""
            typer.echo(f"{SIGNS[one['act']]} monitor {printable(one['name'])}{drift}")
    counts = {act: sum(one["act"] == act for one in done) for act in ("create", "change", "drift", "none")}
    words = {"create": "to create", "change": "to change"} if dry_run else {"create": "created", "change": "changed"}
    parts = [f"{counts[act]:,} {word}" for act, word in words.items() if counts[act]]
    parts += [f"{counts['drift']:,} different here"] if counts["drift"] else []
    typer.echo((", ".join(parts) or f"Nothing to change: {counts['none']:,} as wanted") + ".")
