"""Schedules of Celery Beat: crontabs, intervals and clocked times, wherever Beat keeps its entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.features.imports.model.cron_values import LIMITS, as_field, joined_by_and
from foliot.features.imports.model.imported import AS_IT_WAS, LONGEST_RUN, Imported, UnknownTerm, changes_clocks

BROKER_SECRET = "celery_broker"  # noqa: S105 -- the name of a secret
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1, "microseconds": 1e-6}
CLOCKS = (
    "at a clock change of {zone}, Beat starts what falls into the skipped hour an hour later on the clock, here it "
    "starts as that hour ends; of the hour that comes twice, Beat leaves out the second for tasks that run every hour "
    "or more often, here they run in both"
)


def crontab_trigger(fields: Mapping[str, object], zone: str) -> dict[str, Any]:
    """`minute`, `hour`, `day_of_week`, `day_of_month`, `month_of_year` as Beat has them: all must match."""
    minute = as_field(_values(fields.get("minute", "*"), "minute"), "minute")
    hour = as_field(_values(fields.get("hour", "*"), "hour"), "hour")
    day = as_field(_values(fields.get("day_of_month", "*"), "day"), "day")
    month = as_field(_values(fields.get("month_of_year", "*"), "month"), "month")
    weekday = joined_by_and(day, as_field(_values(fields.get("day_of_week", "*"), "weekday"), "weekday"))
    return {"type": "cron", "cron_expr": f"{minute} {hour} {day} {month} {weekday}", "timezone": zone}


def _values(spec: object, unit: str) -> set[int]:
    """What a field names; a number, a text such as `*/15` or `mon-fri`, or several numbers."""
    low, high = LIMITS[unit]
    if isinstance(spec, str):
        values = {value for part in spec.replace(" ", "").split(",") for value in _part(part, unit)}
    elif isinstance(spec, int):
        values = {spec}
    elif isinstance(spec, Iterable):
        values = set(spec)
    else:
        raise UnknownTerm(f"{unit}: {spec!r} is not a field of a crontab")
    if not values or not values <= set(range(low, high + 1)):
        raise UnknownTerm(f"{unit}: {spec!r} must be within {low}-{high}")
    return values


def _part(part: str, unit: str) -> list[int]:
    low, high = LIMITS[unit]
    base, slash, step = part.partition("/")
    if slash and not step.isdigit():
        raise UnknownTerm(f"{unit}: {part!r} is not a field of a crontab")
    if base == "*":
        values = list(range(low, high + 1))
    else:
        first, dash, last = base.partition("-")
        start = _number(first, unit)
        end = _number(last, unit) if dash else start
        # A range over the end of its field begins anew.
        values = list(range(start, end + 1)) if end >= start else [*range(start, high + 1), *range(low, end + 1)]
    return values[:: int(step)] if slash else values


def _number(text: str, unit: str) -> int:
    if text.isdigit():
        return int(text)
    names = {"weekday": _WEEKDAYS, "month": _MONTHS}.get(unit, ())
    if text[:3].lower() in names:
        return names.index(text[:3].lower()) + LIMITS[unit][0]
    raise UnknownTerm(f"{unit}: {text!r} is not known")


def interval_trigger(seconds: float, zone: str) -> dict[str, Any]:
    """Beat counts from its last start, here from the moment at which the schedule is created or resumed."""
    if seconds < 1 or not float(seconds).is_integer():
        raise UnknownTerm(f"every {seconds:g} s: an interval is a whole number of seconds, at least 1")
    return {"type": "interval", "interval_seconds": int(seconds), "timezone": zone}


def seconds_of(every: object, period: object) -> float:
    """`every: 10, period: minutes`."""
    unit = _UNITS.get(str(period).lower())
    if unit is None or not isinstance(every, int | float):
        raise UnknownTerm(f"every {every} {period} is not an interval")
    return every * unit


def clocked_trigger(moment: datetime, zone: str) -> dict[str, Any]:
    return {
        "type": "oneoff",
        "run_at": rfc3339(moment if moment.tzinfo else moment.replace(tzinfo=UTC)),
        "timezone": zone,
    }


@dataclass(slots=True)
class BeatEntry:
    """One entry of Beat, wherever it was stored."""

    name: str
    task: str
    trigger: Mapping[str, Any]
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    enabled: bool = True
    description: str = ""
    start_at: datetime | None = None
    one_off: bool = False


_CARRIED = frozenset({"queue", "expires", "priority", "exchange", "routing_key", "headers"})


def add_entry(imported: Imported, entry: BeatEntry) -> None:
    """The entry as a schedule with the action `celery`, which sends the same task to the same broker."""
    try:
        json.dumps([entry.args, entry.kwargs])
    except (TypeError, ValueError):
        imported.left_out(entry.name, "its arguments are not JSON")
        return
    options = {name: value for name, value in entry.options.items() if value is not None}
    action: dict[str, Any] = {"kind": "celery", "broker": BROKER_SECRET, "task": entry.task}
    action |= {"args": entry.args} if entry.args else {}
    action |= {"kwargs": entry.kwargs} if entry.kwargs else {}
    if isinstance(options.get("queue"), str):
        action["queue"] = options["queue"]
    if isinstance(expires := options.get("expires"), timedelta):
        options["expires"] = expires.total_seconds()
    if isinstance(options.get("expires"), int | float):
        action["expires_seconds"] = int(options["expires"])
    if isinstance(options.get("priority"), int):
        action["priority"] = options["priority"]
    more = dict(AS_IT_WAS)
    name = imported.add(
        entry.name,
        entry.trigger,
        action,
        description=entry.description,
        timeout_seconds=LONGEST_RUN,
        start_at=rfc3339(entry.start_at),
        max_runs=1 if entry.one_off else None,
        **more,
        **({} if entry.enabled else {"paused": True, "paused_reason": "was disabled in Beat"}),
    )
    if lost := sorted(options.keys() - {"queue", "expires", "priority"}):
        imported.note(f"the options {', '.join(lost)} are not sent", name)
    zone = str(entry.trigger.get("timezone", "UTC"))
    if entry.trigger["type"] == "cron" and changes_clocks(zone):
        imported.note(CLOCKS.format(zone=zone))
    if entry.trigger["type"] == "interval":
        imported.note("intervals are counted from the moment of resuming, not from Beat's last start")
    imported.note(
        f"tasks go to the broker in the secret {BROKER_SECRET} (foliot secret set {BROKER_SECRET}); a run ends when "
        "its task is queued, unless the action names the secret of your result backend"
    )
