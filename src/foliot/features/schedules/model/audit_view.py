"""Documents of schedules for the audit log."""

from __future__ import annotations

from typing import Any

from foliot.commands.audit import AuditedChange, differences, masked
from foliot.core.access import Thing
from foliot.core.document import rfc3339
from foliot.engine.model.schedule import Schedule
from foliot.features.schedules.model.document import document


def edited(verb: str, was: Schedule, became: Schedule) -> AuditedChange:
    """The audited change of a schedule that was edited in part: only the fields that differ."""
    before, after = differences(_standing(was), _standing(became))
    return AuditedChange(verb, Thing.SCHEDULE, became.id, masked(before), masked(after))


def audit_view(schedule: Schedule) -> dict[str, Any]:
    """A schedule as the audit log records it."""
    return masked(_standing(schedule))


def _standing(schedule: Schedule) -> dict[str, Any]:
    state: dict[str, Any] = {"status": schedule.status.value, "paused_reason": schedule.paused_reason}
    state["version"] = schedule.version
    if schedule.skip_at is not None:
        state["skips"] = rfc3339(schedule.skip_at)
    return {**document(schedule), **state}
