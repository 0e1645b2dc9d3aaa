"""RedBeat: the definitions of its entries, which it keeps in Redis as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from foliot.features.imports.model.beat_schedule import BeatEntry, add_entry, crontab_trigger, interval_trigger
from foliot.features.imports.model.imported import Imported, UnknownTerm, checked_zone

_OWN = frozenset({"celery.backend_cleanup"})


def read_redbeat(definitions: Mapping[str, str], zone: str | None = None) -> Imported:
    """Every entry; RedBeat stores no time zone: without `zone` it is UTC, Celery's own default."""
    imported = Imported("redbeat")
    named = checked_zone(zone or "UTC")
    if zone is None:
        imported.note("RedBeat stores no time zone: the entries are read in UTC; --timezone names that of your app")
    for key, text in definitions.items():
        try:
            _add(imported, key, json.loads(text), named)
        except (UnknownTerm, ValueError, TypeError, KeyError) as unknown:
            imported.left_out(key, unknown if isinstance(unknown, UnknownTerm) else "its definition cannot be read")
    return imported


def _add(imported: Imported, key: str, definition: Mapping[str, Any], zone: str) -> None:
    task, name = str(definition["task"]), str(definition.get("name") or key)
    if task in _OWN:
        imported.left_out(name, "a task of Celery's own result backend: keep it there")
        return
    add_entry(
        imported,
        BeatEntry(
            name=name,
            task=task,
            trigger=_trigger(definition["schedule"], zone),
            args=list(definition.get("args") or ()),
            kwargs=dict(definition.get("kwargs") or {}),
            options=dict(definition.get("options") or {}),
            enabled=bool(definition.get("enabled", True)),
        ),
    )


def _trigger(schedule: Mapping[str, Any], zone: str) -> dict[str, Any]:
    match schedule.get("__type__"):
        case "crontab":
            return crontab_trigger(schedule, zone)
        case "interval":
            return interval_trigger(float(schedule["every"]), zone)
        case "rrule":
            raise UnknownTerm("recurrence rules (rrule) have no equivalent: write a cron expression")
        case other:
            raise UnknownTerm(f"a schedule of the type {other!r} has no equivalent")
