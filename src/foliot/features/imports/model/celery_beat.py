"""`beat_schedule` of a Celery application, read from the text of its Python file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from foliot.features.imports.model.beat_schedule import BeatEntry, add_entry, crontab_trigger, interval_trigger
from foliot.features.imports.model.imported import Imported, UnknownTerm, UnreadableSource, checked_zone
from foliot.features.imports.model.python_source import PythonCall, PythonSource

_SCHEDULES = frozenset({"beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE"})
_ZONES = frozenset({"timezone", "CELERY_TIMEZONE"})
_CRONTAB = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
"""The order of positional arguments."""


def read_celery_beat(text: str, name: str, zone: str | None = None) -> Imported:
    """Every entry; `zone` overrides the `timezone` of the file, which is UTC when it names none."""
    source = PythonSource.of(text, name)
    imported = Imported("celery-beat")
    zone = checked_zone(zone or _zone(source))
    found = False
    for value in _schedules(source):
        found = True
        for key, entry in _entries(source, value):
            _add(imported, source, key, entry, zone)
    for call in source.calls("add_periodic_task"):
        found = True
        where = f"line {call.lineno}"
        imported.left_out(
            where, "add_periodic_task names its task only when the application runs: add it to beat_schedule"
        )
    if not found:
        raise UnreadableSource(f"{name}: has no beat_schedule; give the file that assigns it")
    return imported


def _zone(source: PythonSource) -> str:
    for target, value in source.assignments():
        if target.rpartition(".")[2] in _ZONES and isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    for call in source.calls("update", "Celery"):
        for option in call.keywords:
            if option.arg in _ZONES and isinstance(option.value, ast.Constant):
                return str(option.value.value)
    return "UTC"


def _schedules(source: PythonSource) -> Iterator[ast.expr]:
    for target, value in source.assignments():
        if target.rpartition(".")[2] in _SCHEDULES:
            yield value
    for call in source.calls("update"):
        yield from (option.value for option in call.keywords if option.arg in _SCHEDULES)


def _entries(source: PythonSource, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(value, ast.Dict):
        raise UnreadableSource(f"line {value.lineno}: beat_schedule must be written out as a dict to be read")
    for key, entry in zip(value.keys, value.values, strict=True):
        if key is None:
            raise UnreadableSource(f"line {entry.lineno}: ** in beat_schedule is known only when the file runs")
        yield str(source.value(key)), entry


def _add(imported: Imported, source: PythonSource, key: str, node: ast.expr, zone: str) -> None:
    try:
        entry = source.value(node)
        task = entry.get("task") if isinstance(entry, Mapping) else None
        if not isinstance(task, str):
            imported.left_out(key, "names no task")
            return
        beat = BeatEntry(
            name=key,
            task=task,
            trigger=_trigger(entry.get("schedule"), zone),
            args=list(entry.get("args") or ()),
            kwargs=dict(entry.get("kwargs") or {}),
            options=dict(entry.get("options") or {}),
        )
    except UnknownTerm as unknown:
        imported.left_out(key, unknown)
        return
    add_entry(imported, beat)


def _trigger(schedule: Any, zone: str) -> dict[str, Any]:
    match schedule:
        case bool() | None:
            raise UnknownTerm("has no schedule")
        case int() | float():
            return interval_trigger(float(schedule), zone)
        case timedelta():
            return interval_trigger(schedule.total_seconds(), zone)
        case PythonCall(name="crontab", arguments=arguments, options=options):
            fields = {**dict(zip(_CRONTAB, arguments, strict=False)), **options}
            return crontab_trigger(fields, zone)
        case PythonCall(name="schedule", arguments=arguments, options=options):
            return _trigger(options.get("run_every", arguments[0] if arguments else None), zone)
        case PythonCall(name=name):
            raise UnknownTerm(f"{name}(…) has no equivalent")
        case _:
            raise UnknownTerm("its schedule is known only when the file runs")
