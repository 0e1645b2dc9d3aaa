"""How a schedule is printed at a terminal."""

from __future__ import annotations

from foliot.terminal.view import Facts, JsonObject, at, joined


def _paused(schedule: JsonObject) -> str | None:
    by = schedule["paused_by"]
    return schedule.at("paused_at") + (f" by {by}" if by else "") if schedule["paused_at"] else None


def _skips(schedule: JsonObject) -> str | None:
    return f"{schedule.at('skips.at')}, requested by {schedule['skips.by']}" if schedule["skips"] else None


SCHEDULE = Facts(
    {
        "id": "id",
        "name": "name",
        "description": "description",
        "status": "status",
        "paused": _paused,
        "reason": "paused_reason",
        "fault": "fault",
        "when": "summary",
        "skips": _skips,
        "next run": at("next_run_at"),
        "last run": at("last_run_at"),
        "action": "action",
        "queue": lambda schedule: f"{schedule['queue']}, priority {schedule['priority']}",
        "overlap": "overlap",
        "catch-up": "catchup",
        "retries": "retry_policy",
        "tags": joined("tags"),
        "version": "version",
    }
)
