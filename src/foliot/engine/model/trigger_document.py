"""Parses the trigger of a request: type, expression, interval or moment, zone and window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.time.trigger import (
    LONGEST,
    After,
    FixedInterval,
    OneOff,
    Rule,
    Trigger,
    TriggerType,
    cron,
    every,
    follow,
    once,
)
from foliot.core.time.zone import zone_info
from foliot.engine.model.restrictions import NO_CALENDARS, CalendarBook

OWNED = {
    "cron_expr": TriggerType.CRON,
    "interval_seconds": TriggerType.INTERVAL,
    "interval": TriggerType.INTERVAL,
    "run_at": TriggerType.ONEOFF,
    "after": TriggerType.AFTER,
}
"""Fields that belong to one type of trigger."""


@dataclass(frozen=True, slots=True)
class TriggerContext:
    """The context of parsing, besides the request."""

    schedule_id: str
    """Seeds the value of `H`."""
    now: datetime
    zone: str
    """The zone of a request that names none."""
    before: Trigger | None = None
    """The previous trigger of an edit: unchanged fields stay acceptable, and keep their anchor."""
    calendars: CalendarBook = NO_CALENDARS
    """Those that the request may name."""


def read_trigger(fields: Fields, standing: TriggerContext) -> Trigger:
    """A trigger that will fire at least once; `Invalid` otherwise."""
    start_at, end_at = fields.moment("start_at"), fields.moment("end_at")
    if start_at is not None and end_at is not None and end_at <= start_at:
        raise Invalid("end_at", "must be later than start_at", got=end_at.isoformat())
    trigger = Trigger(read_rule(fields, standing, start_at), start_at, end_at)
    if standing.before is None or trigger != standing.before.unrestricted:
        _refuse_never(trigger, standing.now)
    return trigger


def read_rule(fields: Fields, standing: TriggerContext, start_at: datetime | None) -> Rule:
    """The rule alone, without its window; all that a preview needs."""
    kind = _type(fields)
    zone = fields.value("timezone") or standing.zone
    zone_info(zone)
    values = {name: fields.value(name) for name in OWNED}
    for name, owner in OWNED.items():
        if values[name] is not None and owner is not kind:
            raise Invalid(name, f"belongs to type {owner.value}, not to {kind.value}", got=values[name])
    match kind:
        case TriggerType.CRON:
            return cron(_required("cron_expr", values["cron_expr"]), zone, key=standing.schedule_id)
        case TriggerType.INTERVAL:
            rule = every(_seconds(values["interval_seconds"], fields), start_at or standing.now)
            return replace(rule, zone=zone, anchor=_anchor(rule, start_at, standing.before))
        case TriggerType.ONEOFF:
            if values["run_at"] is None:
                raise Invalid("run_at", "is required for type oneoff")
            return replace(once(values["run_at"]), zone=zone)
        case TriggerType.AFTER:
            if values["after"] is None:
                raise Invalid("after", "is required for type after")
            return replace(follow(values["after"]), zone=zone)


def _type(fields: Fields) -> TriggerType:
    got = fields.value("type")
    if got is None:
        raise Invalid("type", "is required: cron, interval, oneoff or after")
    return fields.choice("type", TriggerType, TriggerType.CRON)


def _required(name: str, value: object) -> str:
    if value is None:
        raise Invalid(name, "is required for type cron")
    if not isinstance(value, str):
        raise Invalid(name, "must be text", got=value)
    return value


def _seconds(seconds: object, fields: Fields) -> Any:
    """`interval_seconds`, or the sum of `interval`'s parts."""
    interval = fields.value("interval")
    if interval is None:
        if seconds is None:
            raise Invalid("interval_seconds", "is required for type interval, or 'interval'")
        return int(seconds) if isinstance(seconds, float) and seconds.is_integer() else seconds
    if seconds is not None:
        raise Invalid("interval", "cannot be combined with 'interval_seconds': give one of the two")
    if not isinstance(interval, Mapping):
        expected = 'must be an object such as {"hours": 4}, of days, hours, minutes, seconds; or give interval_seconds'
        raise Invalid("interval", expected, got=interval)
    parts = Fields.of("interval", interval)
    total = timedelta(
        days=parts.integer("days", 0, low=0, high=LONGEST // 86_400),
        hours=parts.integer("hours", 0, low=0, high=LONGEST // 3600),
        minutes=parts.integer("minutes", 0, low=0, high=LONGEST // 60),
        seconds=parts.integer("seconds", 0, low=0, high=LONGEST),
    )
    parts.finish()
    return total // timedelta(seconds=1)


def _anchor(rule: FixedInterval, start_at: datetime | None, before: Trigger | None) -> datetime:
    """Kept by edits that change neither the interval nor its start, so that the rhythm goes on."""
    if before is None or not isinstance(before.rule, FixedInterval):
        return rule.anchor
    unchanged = before.rule.seconds == rule.seconds and before.start_at == start_at
    return before.rule.anchor if unchanged else rule.anchor


def _refuse_never(trigger: Trigger, now: datetime) -> None:
    if trigger.next_after(now) is not None:
        return
    if isinstance(trigger.rule, After) and (trigger.end_at is None or trigger.end_at > now):
        return
    if isinstance(trigger.rule, OneOff) and trigger.rule.at <= now:
        raise Invalid("run_at", "is in the past", got=trigger.rule.at.isoformat())
    if trigger.end_at is not None and trigger.end_at <= now:
        raise Invalid("end_at", "is in the past", got=trigger.end_at.isoformat())
    if trigger.start_at is None and trigger.end_at is None:
        raise Invalid("cron_expr", "never fires", got=trigger.summary)
    raise Invalid("end_at" if trigger.end_at else "start_at", "leaves no scheduled time: the schedule would never fire")
