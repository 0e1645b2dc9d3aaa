"""Healthchecks.io, and Healthchecks on a server of one's own: the checks of a project, as its API lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from foliot.features.imports.model.imported import Imported, UnknownTerm, UnreadableSource, checked_zone

_HOW = "give what GET /api/v3/checks/ of Healthchecks answers"
LONGEST_GRACE = 31 * 86_400
_LOST = {
    "methods": "only POST requests count as pings",
    "filter_subject": "pings are filtered by the subject of mails",
    "filter_body": "pings are filtered by their body",
    "success_kw": "a keyword decides whether a ping is a success",
    "failure_kw": "a keyword decides whether a ping is a failure",
}


def read_healthchecks(text: str, name: str, zone: str | None = None) -> Imported:
    """Every check becomes a monitor, with a ping address of its own."""
    try:
        answer = json.loads(text)
    except ValueError as wrong:
        raise UnreadableSource(f"{name}: is not JSON ({wrong}); {_HOW}") from None
    checks = answer.get("checks") if isinstance(answer, dict) else answer
    if not isinstance(checks, list) or not checks or not all(isinstance(one, dict) for one in checks):
        raise UnreadableSource(f"{name}: has no checks; {_HOW}")
    imported = Imported("healthchecks")
    for check in checks:
        title = str(check.get("name") or check.get("slug") or "unnamed check")
        try:
            _add(imported, title, check, zone)
        except UnknownTerm as unknown:
            imported.left_out(title, unknown)
    imported.note("each monitor has a ping address of its own: put it in place of the old one (foliot monitor list)")
    return imported


def _add(imported: Imported, title: str, check: Mapping[str, Any], zone: str | None) -> None:
    grace = check.get("grace", 3600)
    if not isinstance(grace, int):
        raise UnknownTerm(f"its grace time {grace!r} is no number of seconds")
    tags = [tag for tag in str(check.get("tags") or "").split() if tag]
    name = imported.add_monitor(
        title,
        _trigger(check, zone),
        grace_seconds=min(grace, LONGEST_GRACE),
        tags=tags,
        paused=check.get("status") == "paused",
    )
    if check.get("desc"):
        imported.note("its description is not kept", name)
    if check.get("channels"):
        imported.note("notifications are sent by alert rules here: create one for monitors (docs/how-to/monitors.md)")
    for field, text in _LOST.items():
        if check.get(field):
            imported.note(f"{text}: here every ping counts as its address says", name)


def _trigger(check: Mapping[str, Any], zone: str | None) -> dict[str, Any]:
    if expression := check.get("schedule"):
        fields = str(expression).split()
        if len(fields) != 5:
            raise UnknownTerm(f"the schedule {expression!r} is no cron expression of five fields")
        named = checked_zone(zone or str(check.get("tz") or "UTC"))
        return {"type": "cron", "cron_expr": " ".join(fields), "timezone": named}
    timeout = check.get("timeout")
    if not isinstance(timeout, int) or timeout < 1:
        raise UnknownTerm("it has neither a schedule nor a timeout")
    return {"type": "interval", "interval_seconds": timeout}
