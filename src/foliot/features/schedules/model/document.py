"""Parses the JSON document of a schedule, and serialises a schedule to it.

The record of a schedule that code or a preset declares.

Documents of schedules for the audit log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from foliot.commands.audit import AuditedChange, differences, masked
from foliot.core.access import Caller, Thing
from foliot.core.declaration import in_order, read_fields
from foliot.core.document import Complaints, Fields, rfc3339
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.json_values import check_plain
from foliot.core.mask import shown
from foliot.core.secrets import kept
from foliot.core.time.trigger import TriggerType
from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.restrictions import check_restriction, resolved
from foliot.engine.model.schedule import POLICIES, Schedule, ScheduleSpec
from foliot.engine.model.trigger_document import TriggerContext, read_trigger
from foliot.features.schedules.model.request import CreatedPaused, ScheduleDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSchedule:
    """What was declared under a name, and the schedule that was created from it."""

    tenant_id: str
    source: str
    name: str
    schedule_id: str | None
    wanted: str
    """Digest of the declared document."""
    made: Mapping[str, Any]
    """The schedule's document right after it was created: one that differs now was edited by a user."""


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


# Read-only fields of an answer, ignored in a request: an answer can be sent back without removing them first.
READ_ONLY = frozenset(
    {
        "id",
        "tenant_id",
        "user_id",
        "status",
        "paused_at",
        "paused_by",
        "skips",
        "next_run_at",
        "last_run_at",
        "summary",
        "version",
        "paused_reason",
        "fault",
        "managed_by",
        "links",
        "created_at",
        "updated_at",
    }
)


class ActionCheck(Protocol):
    """Validates an action's configuration and returns its stored form; `Invalid` names the field."""

    def __call__(self, kind: str, config: Mapping[str, Any]) -> dict[str, Any]: ...


CheckFor = Callable[[Caller], ActionCheck]
"""The check for a caller: tasks and services of other tenants are reported as unknown, as those that do not exist.

`Forbidden` for a kind of action that the caller's role may not write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDraft:
    """A validated request for a schedule."""

    name: str
    description: str
    tags: tuple[str, ...]
    spec: ScheduleSpec
    action: dict[str, Any]


def read_draft(raw: object, check: ActionCheck, standing: TriggerContext) -> ScheduleDraft:
    """Parse a whole request. `standing` is its context: the schedule's id, the present moment, the default zone."""
    if raw is None:
        raise Invalid("body", "is empty; it must be an object with name, type, and action or payload")
    if not isinstance(raw, Mapping):
        raise Invalid("body", "must be an object", got=raw)
    given = {name: value for name, value in raw.items() if name not in READ_ONLY}
    wrong = Complaints()
    asked = wrong.attempt(lambda: read_fields(ScheduleDocument, given))
    trigger = wrong.attempt(lambda: read_trigger(Fields("", given), standing))
    kind, action = wrong.attempt(lambda: _action(given, check)) or ("", {})
    if wrong.found:
        Complaints(in_order(ScheduleDocument, wrong.found)).speak()
    spec = ScheduleSpec(
        trigger=trigger,
        kind=kind,
        retry=asked.get("retry_policy", RetryPolicy()),
        **{name: asked[name] for name in POLICIES if name in asked},
    )
    spec = _restricted(spec, standing)
    labels = {"name": asked["name"], "description": asked.get("description", ""), "tags": asked.get("tags", ())}
    return ScheduleDraft(**labels, spec=spec, action=action)


def _restricted(spec: ScheduleSpec, standing: TriggerContext) -> ScheduleSpec:
    """With the calendars that it names, and the trigger that they leave."""
    if spec.restriction.empty:
        return spec
    found = resolved(spec.restriction, standing.calendars)
    spec = replace(spec, calendars=found.calendars).restricted()
    check_restriction(found, spec.trigger, standing.now, standing.before)
    return spec


def _action(raw: Mapping[str, Any], check: ActionCheck) -> tuple[str, dict[str, Any]]:
    action, payload = raw.get("action"), raw.get("payload")
    if action is not None and payload is not None:
        raise Invalid("payload", "cannot be combined with 'action': give one of the two")
    if payload is not None:
        return "webhook", read_action("payload", "webhook", payload, check)
    if action is None:
        raise Invalid("action", "is required, or 'payload' for a webhook")
    if not isinstance(action, Mapping):
        raise Invalid("action", "must be an object", got=action)
    kind = action.get("kind")
    if not isinstance(kind, str):
        raise Invalid("action.kind", "is required", got=kind)
    return kind, read_action("action", kind, {name: value for name, value in action.items() if name != "kind"}, check)


def put_back(raw: object, *before: Mapping[str, Any]) -> object:
    """The request with each `***` of its action replaced by the stored value it masks."""
    if not isinstance(raw, Mapping):
        return raw
    return {
        name: kept(name, value, *before) if name in {"action", "payload"} and isinstance(value, Mapping) else value
        for name, value in raw.items()
    }


def action_of(raw: object, check: ActionCheck) -> tuple[str, dict[str, Any]] | None:
    """The kind and configuration that a request asks for; None when they are invalid, which `read_draft` reports."""
    if not isinstance(raw, Mapping):
        return None
    try:
        return _action(raw, check)
    except Invalid:
        return None


def read_action(where: str, kind: str, config: object, check: ActionCheck) -> dict[str, Any]:
    """The configuration in its stored form; errors name its path in the request."""
    if not isinstance(config, Mapping):
        raise Invalid(where, "must be an object", got=config)
    check_plain(where, config)
    try:
        return check(kind, config)
    except Invalid as error:
        raise under(where, error) from None


def under(where: str, error: Invalid) -> Invalid:
    """The error, or several, with the path of the enclosing object in front."""
    if isinstance(error, InvalidMany):
        return InvalidMany([_under(where, one) for one in error.errors])
    return _under(where, error)


def _under(where: str, error: Invalid) -> Invalid:
    return Invalid(f"{where}.{error.field}" if error.field else where, error.message, got=error.got)


ASLEEP = frozenset(each.name for each in fields(CreatedPaused))
"""Fields of a request that are not part of the schedule itself."""


def asleep(raw: object) -> tuple[object, str | None]:
    """Split off the request to create the schedule paused: the rest of the request, and the reason; None without one.

    The `status` of an answer does not count as such a request: an answer that is sent back may be long out of date.
    """
    if not isinstance(raw, Mapping) or "paused" not in raw:
        return raw, None
    wish = read_fields(CreatedPaused, {name: raw[name] for name in ASLEEP if name in raw})
    reason = wish.get("paused_reason", "") if wish.get("paused") else None
    return {name: value for name, value in raw.items() if name not in ASLEEP}, reason


def document(schedule: Schedule) -> dict[str, Any]:
    """The request that would create this schedule, with its credentials masked."""
    return _document(schedule, shown(schedule.action))


def whole(schedule: Schedule) -> dict[str, Any]:
    """The same with its credentials as they are stored; for internal use only."""
    return _document(schedule, schedule.action)


def _document(schedule: Schedule, action: Mapping[str, Any]) -> dict[str, Any]:
    spec, trigger = schedule.spec, schedule.spec.trigger.as_dict()
    return {
        "name": schedule.name,
        "description": schedule.description,
        "tags": list(schedule.tags),
        "type": spec.type.value,
        "cron_expr": trigger.get("cron_expr"),
        "interval_seconds": trigger.get("interval_seconds"),
        "run_at": trigger.get("run_at"),
        "after": trigger.get("after"),
        "timezone": spec.trigger.rule.zone,
        "action": {"kind": spec.kind, **action},
        "retry_policy": spec.retry.as_dict(),
        "start_at": rfc3339(spec.trigger.start_at),
        "end_at": rfc3339(spec.trigger.end_at),
        **spec.policies(),
    }


_NESTED = ("retry_policy", "catchup", "action", "after", "alert")
_RULES = {
    TriggerType.CRON: ("cron_expr",),
    TriggerType.INTERVAL: ("interval_seconds", "interval"),
    TriggerType.ONEOFF: ("run_at",),
    TriggerType.AFTER: ("after",),
}


def merge(base: Mapping[str, Any], patch: object) -> dict[str, Any]:
    """Applies a merge patch to the document: a null resets a field to its default."""
    if patch is None:
        raise Invalid("body", "is empty; it must be an object with the fields to change")
    if not isinstance(patch, Mapping):
        raise Invalid("body", "must be an object", got=patch)
    merged, changes = dict(base), dict(patch)
    if changes.get("payload") is not None and changes.get("action") is None:
        changes["action"] = _as_action(changes.pop("payload"))
    if "type" in changes and changes["type"] != merged["type"]:
        for name in (name for names in _RULES.values() for name in names):
            merged.pop(name, None)
    if changes.get("interval") is not None:
        merged.pop("interval_seconds", None)
    for name, value in changes.items():
        merged[name] = _overlay(name, merged.get(name), value)
    return merged


def _as_action(payload: object) -> object:
    return {**payload, "kind": "webhook"} if isinstance(payload, Mapping) else payload


def _overlay(name: str, old: object, new: object) -> object:
    if name not in _NESTED or not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    if name == "action" and new.get("kind", old.get("kind")) != old.get("kind"):
        return new
    return {key: value for key, value in {**old, **new}.items() if value is not None}
