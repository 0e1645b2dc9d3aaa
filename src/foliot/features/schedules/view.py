"""Terminal output of a schedule."""

from __future__ import annotations

import json
from typing import Any

from foliot.terminal.group import Facts, JsonObject

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _paused(schedule: JsonObject) -> str | None:
    by = schedule["paused_by"]
    return schedule.at("paused_at") + (f" by {by}" if by else "") if schedule["paused_at"] else None


def _skips(schedule: JsonObject) -> str | None:
    return f"{schedule.at('skips.at')}, requested by {schedule['skips.by']}" if schedule["skips"] else None


def _notifies(schedule: JsonObject) -> str | None:
    alert = schedule["alert"]
    if not alert:
        return None
    failures = "a failure" if alert["after"] == 1 else f"{alert['after']} failures in a row"
    return f"{', '.join(alert['to'])}, after {failures}"


def span(seconds: float) -> str:
    """`90 s`, `1 h`: in the largest unit that divides it."""
    size, unit = next((one for one in _UNITS if seconds >= one[0] and seconds % one[0] == 0), _UNITS[-1])
    return f"{seconds / size:g} {unit}"


def _action(schedule: JsonObject) -> str | None:
    """What a webhook sends, as people write it; other kinds as JSON."""
    action: dict[str, Any] | None = schedule["action"]
    if not action:
        return None
    rest = {name: value for name, value in action.items() if value not in (None, {}, [])}
    if action.get("kind") != "webhook" or "url" not in action:
        return json.dumps(rest, ensure_ascii=False)
    method, url = rest.pop("method", "POST"), rest.pop("url")
    del rest["kind"]
    return f"{method} {url}" + (f" {json.dumps(rest, ensure_ascii=False)}" if rest else "")


def _catchup(schedule: JsonObject) -> str | None:
    rule = schedule["catchup"]
    if not rule:
        return None
    grace = f"late after {span(rule['grace_seconds'])}"
    if rule["mode"] == "none":
        return f"none; {grace}"
    which = "the latest missed run" if rule["mode"] == "latest" else f"missed runs, at most {rule['max_runs']}"
    return f"{rule['mode']}: {which}, of the last {span(rule['window_seconds'])}; {grace}"


def _retries(schedule: JsonObject) -> str | None:
    rule = schedule["retry_policy"]
    if not rule:
        return None
    end = "then a dead letter" if rule["dead_letter"] else "without a dead letter"
    if not rule["max_retries"]:
        return f"none, {end}"
    delays = f"after {span(rule['delay_seconds'])}"
    if rule["strategy"] != "fixed":
        delays += f" ({rule['strategy']}, at most {span(rule['max_delay_seconds'])})"
    return f"{rule['max_retries']}, {delays}, {end}"


SCHEDULE = Facts(
    "id, name, description, status, paused, reason: paused_reason, fault, when: summary, skips, "
    "next run: @next_run_at, last run: @last_run_at, action, queue, overlap, catch-up, "
    "retries, notifies, tags: tags[], version",
    computed={
        "paused": _paused,
        "skips": _skips,
        "notifies": _notifies,
        "action": _action,
        "catch-up": _catchup,
        "retries": _retries,
        "queue": lambda schedule: f"{schedule['queue']}, priority {schedule['priority']}",
    },
)
