"""Terminal output of a schedule."""

from __future__ import annotations

from foliot.terminal.group import Facts, JsonObject


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


SCHEDULE = Facts(
    "id, name, description, status, paused, reason: paused_reason, fault, when: summary, skips, "
    "next run: @next_run_at, last run: @last_run_at, action, queue, overlap, catch-up: catchup, "
    "retries: retry_policy, notifies, tags: tags[], version",
    computed={
        "paused": _paused,
        "skips": _skips,
        "notifies": _notifies,
        "queue": lambda schedule: f"{schedule['queue']}, priority {schedule['priority']}",
    },
)
