"""A feature uses the model, SQL and use cases of another, never its interfaces, actions, actors or wiring."""

from __future__ import annotations

import ast
from pathlib import Path

FEATURES = Path(__file__).parents[2] / "src" / "foliot" / "features"
OUTER = {"rest", "cli", "rpc", "action", "actor", "wiring"}
"""What import-linter cannot say: a wildcard does not tell a feature's own files from another's."""

EXCEPTIONS = {
    ("crawls", "jobs.rest"): "a crawl's log is that of its job",
    ("live", "jobs.rest"): "both WebSockets share the handling of a connection",
    ("live", "runs.rest"): "log lines are encoded once for SSE and WebSocket",
    ("live", "bulk.rest"): "the progress of bulk actions is encoded as in their routes",
    ("runs", "jobs.rest"): "CSV and NDJSON are written by the same code",
    ("watches", "jobs.rest"): "CSV and NDJSON are written by the same code",
    ("schedules", "bulk.rest"): "a backfill answers with a bulk action",
    ("reextractions", "bulk.rest"): "reading pages again answers with a bulk action",
}


def imports() -> set[tuple[str, str]]:
    """(feature, other feature's file) of every import between features that names an outer file."""
    found = set()
    for path in FEATURES.rglob("*.py"):
        feature = path.relative_to(FEATURES).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foliot.features."):
                for name in node.names:
                    other, *file = [*str(node.module).split(".")[2:], name.name]
                    if other != feature and file and file[0] in OUTER:
                        found.add((feature, f"{other}.{file[0]}"))
    return found


def test_no_feature_imports_the_outer_files_of_another() -> None:
    assert imports() - EXCEPTIONS.keys() == set(), "use its use cases, or move what both need below"


def test_every_listed_exception_is_still_needed() -> None:
    assert EXCEPTIONS.keys() - imports() == set()
