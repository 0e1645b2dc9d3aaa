"""Short forms of a schedule: `cron="0 2 * * *", webhook="https://…"` as the document that the API takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any


def schedule_document(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with `cron`, `every`, `at` and `webhook` written out."""
    document = dict(fields)
    if "cron" in document:
        _put(document, "cron", type="cron", cron_expr=document["cron"])
    if "every" in document:
        _put(document, "every", type="interval", interval_seconds=_seconds(document["every"]))
    if "at" in document:
        _put(document, "at", type="oneoff", run_at=document["at"])
    if "webhook" in document:
        webhook = document["webhook"]
        action = {"url": webhook} if isinstance(webhook, str) else dict(webhook)
        _put(document, "webhook", action={"kind": "webhook", **action})
    return document


def _put(document: dict[str, Any], short: str, **written_out: Any) -> None:
    del document[short]
    for name, value in written_out.items():
        if document.setdefault(name, value) != value:
            raise ValueError(f"{short} and {name} say different things: give one of them")


def _seconds(every: timedelta | float) -> int:
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    if seconds != int(seconds):
        raise ValueError(f"every: must be whole seconds, got {seconds}")
    return int(seconds)
