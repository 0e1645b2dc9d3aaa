"""django-celery-beat: what `manage.py dumpdata django_celery_beat` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from foliot.features.imports.model.beat_schedule import (
    BeatEntry,
    add_entry,
    clocked_trigger,
    crontab_trigger,
    interval_trigger,
    seconds_of,
)
from foliot.features.imports.model.imported import Imported, UnknownTerm, UnreadableSource, checked_zone

_APP = "django_celery_beat."
_TASK = f"{_APP}periodictask"
_HOW = "give what manage.py dumpdata django_celery_beat writes"
_OWN = frozenset({"celery.backend_cleanup"})
"""Tasks of Celery itself, which belong to its result backend."""


def read_django_celery_beat(text: str, name: str, zone: str | None = None) -> Imported:
    """Every periodic task; `zone` is for intervals, which have none."""
    try:
        rows = json.loads(text)
    except ValueError as wrong:
        raise UnreadableSource(f"{name}: is not JSON ({wrong}); {_HOW}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "model" in row for row in rows):
        raise UnreadableSource(f"{name}: is not a list of rows; {_HOW}")
    by_key = {(str(row["model"]), row.get("pk")): row.get("fields") or {} for row in rows}
    imported = Imported("django-celery-beat")
    for (model, _), task in by_key.items():
        if model != _TASK:
            continue
        try:
            _add(imported, task, by_key, checked_zone(zone or "UTC"))
        except (UnknownTerm, KeyError, ValueError) as unknown:
            imported.left_out(str(task.get("name")), unknown)
    if not any(model == _TASK for model, _ in by_key):
        raise UnreadableSource(f"{name}: has no periodic task; {_HOW}")
    return imported


def _add(imported: Imported, task: Mapping[str, Any], rows: Mapping[tuple[str, Any], Any], zone: str) -> None:
    if task["task"] in _OWN:
        imported.left_out(str(task["name"]), "a task of Celery's own result backend: keep it there")
        return
    options = {name: task.get(name) for name in ("queue", "exchange", "routing_key", "priority")}
    headers = json.loads(task.get("headers") or "{}")
    start = task.get("start_time")
    expires = task.get("expire_seconds") or None
    if task.get("expires"):
        imported.note("the moment at which it expires is not sent: set end_at", str(task["name"]))
    add_entry(
        imported,
        BeatEntry(
            name=str(task["name"]),
            task=str(task["task"]),
            trigger=_trigger(task, rows, zone),
            args=json.loads(task.get("args") or "[]"),
            kwargs=json.loads(task.get("kwargs") or "{}"),
            options={**options, "expires": expires, "headers": headers or None},
            enabled=bool(task.get("enabled", True)),
            description=str(task.get("description") or ""),
            start_at=datetime.fromisoformat(start) if start else None,
            one_off=bool(task.get("one_off")),
        ),
    )


def _trigger(task: Mapping[str, Any], rows: Mapping[tuple[str, Any], Any], zone: str) -> dict[str, Any]:
    if key := task.get("crontab"):
        row = rows[f"{_APP}crontabschedule", key]
        return crontab_trigger(row, checked_zone(str(row.get("timezone") or zone)))
    if key := task.get("interval"):
        row = rows[f"{_APP}intervalschedule", key]
        return interval_trigger(seconds_of(row["every"], row["period"]), zone)
    if key := task.get("clocked"):
        return clocked_trigger(datetime.fromisoformat(rows[f"{_APP}clockedschedule", key]["clocked_time"]), zone)
    raise UnknownTerm("solar schedules have no equivalent")
