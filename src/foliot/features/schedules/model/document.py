"""Parses the JSON document of a schedule, and serialises a schedule to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from foliot.core.credential import kept
from foliot.core.document import Complaints, Fields, read_name, rfc3339
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.json_limits import check_plain
from foliot.core.mask import shown
from foliot.core.queue_name import DEFAULT_QUEUE, MAX_REASON, queue_name
from foliot.core.time.trigger import TriggerType
from foliot.core.visible_text import check_name, check_prose
from foliot.engine.model.retry import RetryPolicy
from foliot.engine.model.run import DEFAULT_PRIORITY
from foliot.engine.model.schedule import MAX_JITTER, MAX_TIMEOUT, Catchup, Overlap, Schedule, ScheduleSpec
from foliot.engine.model.trigger_document import TriggerContext, read_trigger

MAX_DESCRIPTION = 10_000
MAX_TAGS = 20
MAX_TAG = 64
MAX_RUNS = 2**31 - 1


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


KNOWN = frozenset(
    {
        *("name", "description", "tags", "type", "cron_expr", "interval_seconds", "interval", "run_at", "timezone"),
        *("action", "payload", "retry_policy", "overlap", "catchup", "queue", "priority", "timeout_seconds"),
        *("jitter_seconds", "start_at", "end_at", "max_runs"),
    }
)


class ActionCheck(Protocol):
    """Validates an action's configuration and returns its stored form; `Invalid` names the field."""

    def __call__(self, kind: str, config: Mapping[str, Any]) -> dict[str, Any]: ...


CheckFor = Callable[[str], ActionCheck]
"""The check for a tenant: tasks and services of other tenants are reported as unknown, as those that do not exist."""


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
    fields = Fields.of("", {name: value for name, value in raw.items() if name not in READ_ONLY})
    # Parsing may stop at an early error, before it has asked for every known field.
    fields.asked |= KNOWN
    wrong = Complaints()
    read = wrong.attempt
    name = read(lambda: read_name(fields))
    description = read(lambda: _description(fields))
    tags = read(lambda: read_tags(fields))
    trigger = read(lambda: read_trigger(fields, standing))
    kind, action = read(lambda: _action(fields, check)) or ("", {})
    policies = {
        "retry": read(lambda: RetryPolicy.from_dict(fields.value("retry_policy"))),
        "overlap": read(lambda: fields.choice("overlap", Overlap, Overlap.SKIP)),
        "catchup": read(lambda: Catchup.from_dict(fields.value("catchup"))),
        "queue": read(lambda: read_queue(fields)),
        "priority": read(lambda: fields.integer("priority", DEFAULT_PRIORITY, low=1, high=10)),
        "timeout_seconds": read(lambda: _optional(fields, "timeout_seconds", MAX_TIMEOUT)),
        "jitter_seconds": read(lambda: fields.integer("jitter_seconds", 0, low=0, high=MAX_JITTER)),
        "max_runs": read(lambda: _optional(fields, "max_runs", MAX_RUNS)),
    }
    read(fields.finish)
    wrong.speak()
    spec = ScheduleSpec(trigger=trigger, kind=kind, **policies)
    return ScheduleDraft(name=name, description=description, tags=tags, spec=spec, action=action)


def _description(fields: Fields) -> str:
    text = fields.text("description", "", most=MAX_DESCRIPTION)
    check_prose("description", text)
    return text


def read_queue(fields: Fields) -> str:
    queue = fields.value("queue")
    return DEFAULT_QUEUE if queue is None else queue_name(queue)


def read_tags(fields: Fields, name: str = "tags") -> tuple[str, ...]:
    """Tags without repetitions, at most as many as a schedule may have."""
    got = fields.value(name)
    if got is None:
        return ()
    if not isinstance(got, list | tuple):
        raise Invalid(name, "must be a list of words", got=got)
    if len(got) > MAX_TAGS:
        raise Invalid(name, f"must be at most {MAX_TAGS}", got=f"{len(got)} tags")
    for place, tag in enumerate(got):
        if not isinstance(tag, str) or not 1 <= len(tag.strip()) <= MAX_TAG:
            raise Invalid(f"{name}[{place}]", f"must be text of 1 to {MAX_TAG} characters", got=tag)
        check_name(f"{name}[{place}]", tag)
    return tuple(dict.fromkeys(tag.strip() for tag in got))


def _optional(fields: Fields, name: str, high: int) -> int | None:
    """Null means no limit, which no number expresses."""
    if fields.value(name) is None:
        return None
    return fields.integer(name, 1, low=1, high=high)


def _action(fields: Fields, check: ActionCheck) -> tuple[str, dict[str, Any]]:
    action, payload = fields.value("action"), fields.value("payload")
    if action is not None and payload is not None:
        raise Invalid("payload", "cannot stand beside 'action': give one of the two")
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
        return _action(Fields.of("", raw), check)
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


ASLEEP = frozenset({"paused", "paused_reason"})
"""Fields of a request that are not part of the schedule itself."""


def asleep(raw: object) -> tuple[object, str | None]:
    """Split off the request to create the schedule paused: the rest of the request, and the reason; None without one.

    The `status` of an answer does not count as such a request: an answer that is sent back may be long out of date.
    """
    if not isinstance(raw, Mapping) or "paused" not in raw:
        return raw, None
    fields = Fields.of("", raw)
    wanted = fields.flag("paused", default=False)
    reason = fields.text("paused_reason", "", most=MAX_REASON)
    return {name: value for name, value in raw.items() if name not in ASLEEP}, reason if wanted else None


def document(schedule: Schedule) -> dict[str, Any]:
    """The request that would create this schedule, with its credentials masked."""
    return whole(replace(schedule, action=shown(schedule.action)))


def whole(schedule: Schedule) -> dict[str, Any]:
    """The same with its credentials as they are stored; for internal use only."""
    spec, trigger = schedule.spec, schedule.spec.trigger.as_dict()
    return {
        "name": schedule.name,
        "description": schedule.description,
        "tags": list(schedule.tags),
        "type": spec.type.value,
        "cron_expr": trigger.get("cron_expr"),
        "interval_seconds": trigger.get("interval_seconds"),
        "run_at": trigger.get("run_at"),
        "timezone": spec.trigger.rule.zone,
        "action": {"kind": spec.kind, **schedule.action},
        "retry_policy": spec.retry.as_dict(),
        "overlap": spec.overlap.value,
        "catchup": spec.catchup.as_dict(),
        "queue": spec.queue,
        "priority": spec.priority,
        "timeout_seconds": spec.timeout_seconds,
        "jitter_seconds": spec.jitter_seconds,
        "start_at": rfc3339(spec.trigger.start_at),
        "end_at": rfc3339(spec.trigger.end_at),
        "max_runs": spec.max_runs,
    }


_NESTED = ("retry_policy", "catchup", "action")
_RULES = {
    TriggerType.CRON: ("cron_expr",),
    TriggerType.INTERVAL: ("interval_seconds", "interval"),
    TriggerType.ONEOFF: ("run_at",),
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
