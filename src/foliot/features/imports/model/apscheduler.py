"""Jobs of APScheduler 3: `add_job(…)` and `@scheduled_job(…)` in the text of a Python file."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.core.errors import Invalid
from foliot.core.time.zone import zone_info
from foliot.features.imports.model.cron_values import as_field, joined_by_and
from foliot.features.imports.model.imported import (
    LONGEST_RUN,
    Imported,
    UnknownTerm,
    UnreadableSource,
    changes_clocks,
    checked_zone,
)
from foliot.features.imports.model.python_source import PythonCall, PythonName, PythonSource

FIELDS = ("year", "month", "day", "week", "day_of_week", "hour", "minute", "second")
_LEAST = {"month": "1", "day": "1", "hour": "0", "minute": "0", "second": "0"}
"""Fields finer than the finest one given begin at their lowest value; the coarser ones are every value."""
_LIMITS = {
    "month": (1, 12),
    "day": (1, 31),
    "day_of_week": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_POSITION = re.compile(r"(?P<nth>1st|2nd|3rd|4th|5th|last)\s+(?P<weekday>[a-z]{3})", re.IGNORECASE)
_YEARS = re.compile(r"(\d{4})(?:-(\d{4}))?")
_INTERVAL = ("weeks", "days", "hours", "minutes", "seconds")
RUN = "import importlib, json, sys; module, name, given = sys.argv[1:]; given = json.loads(given); \
getattr(importlib.import_module(module), name)(*given[0], **given[1])"
CLOCKS = (
    "at a clock change of {zone}, APScheduler runs a time that is skipped an hour later on the clock, and one that "
    "comes twice, twice; here the first runs as the skipped hour ends, and the second once, unless it runs every hour. "
    "On the first day that a job names after such a change, APScheduler can leave out its first hour; here it runs"
)


@dataclass(frozen=True, slots=True)
class ScheduledCall:
    """One job as its file has it."""

    function: str
    trigger: Any
    options: Mapping[str, Any]
    line: int

    @property
    def name(self) -> str:
        return str(self.options.get("id") or self.options.get("name") or self.function.rpartition(".")[2])


def read_apscheduler(text: str, name: str, zone: str) -> Imported:
    """Every job; `zone` is that of the machine, for a scheduler that names none."""
    source = PythonSource.of(text, name)
    imported = Imported("apscheduler")
    zone = checked_zone(_zone(source) or zone)
    calls = 0
    for node in source.calls("add_job", "scheduled_job"):
        calls += 1
        try:
            job = _job(source, node, name)
            _add(imported, job, zone)
        except UnknownTerm as unknown:
            imported.left_out(f"line {node.lineno}", unknown)
    if not calls:
        raise UnreadableSource(f"{name}: has no add_job(…) and no @scheduled_job(…)")
    return imported


def _zone(source: PythonSource) -> str | None:
    for call in source.calls("BackgroundScheduler", "BlockingScheduler", "AsyncIOScheduler", "configure"):
        for option in call.keywords:
            if option.arg == "timezone":
                return _zone_name(source.value(option.value))
    return None


def _zone_name(value: Any) -> str:
    match value:
        case str():
            return value
        case PythonCall(arguments=(str() as zone,)):
            return zone
        case PythonName(dotted=dotted) if dotted.rpartition(".")[2].upper() == "UTC":
            return "UTC"
        case _:
            raise UnknownTerm("its time zone is known only when the file runs")


def _job(source: PythonSource, node: ast.Call, name: str) -> ScheduledCall:
    call = source.call(node)
    arguments, options = list(call.arguments), dict(call.options)
    if call.name == "scheduled_job":
        function: Any = _decorated(source, node)
    else:
        function = options.pop("func", None) or (arguments.pop(0) if arguments else None)
    trigger = options.pop("trigger", None) or (arguments.pop(0) if arguments else None)
    for position, value in zip(("args", "kwargs", "id", "name"), arguments, strict=False):
        options.setdefault(position, value)
    match function:
        case PythonName(dotted=dotted):
            text = dotted if "." in dotted else f"{name.rpartition('/')[2].removesuffix('.py')}.{dotted}"
        case str():
            text = function.replace(":", ".")
        case _:
            raise UnknownTerm("its function is known only when the file runs")
    return ScheduledCall(text, trigger, options, node.lineno)


def _decorated(source: PythonSource, node: ast.Call) -> PythonName | None:
    for each in ast.walk(source.tree):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and node in each.decorator_list:
            return PythonName(each.name)
    return None


def _add(imported: Imported, job: ScheduledCall, zone: str) -> None:
    trigger = _trigger(job, zone)
    module, _, function = job.function.rpartition(".")
    try:
        given = json.dumps([list(job.options.get("args") or ()), dict(job.options.get("kwargs") or {})])
    except (TypeError, ValueError):
        raise UnknownTerm("its arguments are known only when the file runs") from None
    name = imported.add(
        job.name,
        trigger,
        {"kind": "command", "argv": ["python3", "-c", RUN, module, function, given]},
        description=f"{job.function}, line {job.line}.",
        timeout_seconds=LONGEST_RUN,
        **job_policies(job.options),
    )
    imported.note(
        "each job is a Python process of its own, started in the home directory: set cwd and env.PYTHONPATH so that it "
        "finds your modules, or make its function a task (docs/how-to/tasks.md)"
    )
    imported.note("APScheduler's own job stores are not read; a job that was added at run time is not in the file")
    if isinstance(job.options.get("max_instances"), int) and job.options["max_instances"] > 1:
        imported.note(f"max_instances={job.options['max_instances']}: runs overlap without a limit", name)
    local = str(trigger["timezone"])
    if trigger["type"] == "cron" and changes_clocks(local):
        imported.note(CLOCKS.format(zone=local))


def job_policies(options: Mapping[str, Any]) -> dict[str, Any]:
    grace = options.get("misfire_grace_time", 1)
    many = isinstance(options.get("max_instances"), int) and options["max_instances"] > 1
    seconds = max(int(grace), 1) if isinstance(grace, int | float) else None
    catchup = {"mode": "none", "grace_seconds": seconds} if seconds else {"mode": "latest", "window_seconds": 86_400}
    if options.get("coalesce") is False and seconds is None:
        catchup["mode"] = "all"
    jitter = options.get("jitter")
    return {
        "overlap": "allow_all" if many else "skip",
        "catchup": catchup,
        "retry_policy": {"max_retries": 0},
        "jitter_seconds": int(jitter) if isinstance(jitter, int) and jitter > 0 else None,
    }


def _trigger(job: ScheduledCall, zone: str) -> dict[str, Any]:
    """`'cron', hour=2`, or `CronTrigger(hour=2)`, or `CronTrigger.from_crontab("0 2 * * *")`."""
    match job.trigger:
        case PythonCall(name=name, arguments=arguments, options=options):
            kind = name
        case str():
            kind, arguments, options = job.trigger, (), job.options
        case None:
            kind, arguments, options = "date", (), job.options
        case _:
            raise UnknownTerm("its trigger is known only when the file runs")
    if options.get("timezone") is not None:
        zone = checked_zone(_zone_name(options["timezone"]))
    bounds = {
        name: moment_of(options.get(old), zone) for name, old in (("start_at", "start_date"), ("end_at", "end_date"))
    }
    given = {name: moment for name, moment in bounds.items() if moment is not None}
    match kind:
        case "cron" | "CronTrigger":
            return cron_trigger({name: options[name] for name in FIELDS if options.get(name) is not None}, zone) | given
        case "from_crontab":
            return cron_trigger(_crontab_fields(str(arguments[0])), zone) | given
        case "interval" | "IntervalTrigger":
            return _interval(options, arguments, zone) | given
        case "date" | "DateTrigger":
            moment = moment_of(options.get("run_date", arguments[0] if arguments else None), zone)
            if moment is None:
                raise UnknownTerm("it runs at once, when the scheduler starts: there is no equivalent")
            return {"type": "oneoff", "run_at": moment, "timezone": zone}
        case _:
            raise UnknownTerm(f"the trigger {kind} has no equivalent")


def moment_of(value: Any, zone: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise UnknownTerm(f"{value!r} is no time") from None
    if not isinstance(value, datetime):
        raise UnknownTerm("its time is known only when the file runs")
    try:
        return rfc3339(value if value.tzinfo else value.replace(tzinfo=zone_info(zone)).astimezone(UTC))
    except Invalid as wrong:
        raise UnknownTerm(str(wrong)) from None


def _interval(options: Mapping[str, Any], arguments: tuple[Any, ...], zone: str) -> dict[str, Any]:
    parts = {**dict(zip(_INTERVAL, arguments, strict=False)), **{n: options[n] for n in _INTERVAL if n in options}}
    seconds = timedelta(**parts).total_seconds()
    if seconds < 1 or not seconds.is_integer():
        raise UnknownTerm(f"every {seconds:g} s: an interval is a whole number of seconds, at least 1")
    return {"type": "interval", "interval_seconds": int(seconds), "timezone": zone}


def _crontab_fields(text: str) -> dict[str, Any]:
    parts = text.split()
    if len(parts) != 5:
        raise UnknownTerm(f"{text!r} is not a crontab line of five fields")
    return dict(zip(("minute", "hour", "day", "month", "day_of_week"), parts, strict=True))


def cron_trigger(given: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """Both day and weekday must match, and weekday 0 is Monday."""
    if not given:
        raise UnknownTerm("it names no field")
    finest = max(FIELDS.index(name) for name in given)
    fields = {
        name: str(given.get(name, "*" if place < finest or name not in _LEAST else _LEAST[name])).strip()
        for place, name in enumerate(FIELDS)
    }
    if fields["week"] != "*":
        raise UnknownTerm(f"week={fields['week']!r}: weeks of the year have no equivalent")
    bounds = _year_bounds(fields["year"], zone)
    numbers = {name: _field(name, fields[name]) for name in ("second", "minute", "hour", "month")}
    day, weekday = _days(fields["day"], fields["day_of_week"])
    expression = f"{numbers['minute']} {numbers['hour']} {day} {numbers['month']} {weekday}"
    if numbers["second"] != "0":
        expression = f"{numbers['second']} {expression}"
    return {"type": "cron", "cron_expr": expression, "timezone": zone, **bounds}


def _year_bounds(text: str, zone: str) -> dict[str, Any]:
    if text == "*":
        return {}
    years = _YEARS.fullmatch(text)
    if years is None:
        raise UnknownTerm(f"year={text!r} has no equivalent: give one year, or a range")
    first, last = int(years[1]), int(years[2] or years[1])
    begin, end = (datetime(year, 1, 1, tzinfo=zone_info(zone)) for year in (first, last + 1))
    return {"start_at": rfc3339(begin.astimezone(UTC)), "end_at": rfc3339(end.astimezone(UTC))}


def _days(day: str, weekday: str) -> tuple[str, str]:
    """`2nd fri` and `last` are days of the month there; here the first is a weekday."""
    weekdays = [(value + 1) % 7 for value in _numbers("day_of_week", weekday)]
    plain = as_field(weekdays, "weekday")
    positions = [_POSITION.fullmatch(part.strip()) for part in day.split(",")]
    if not any(positions):
        named = _field_of_days(day)
        return named, joined_by_and(named, plain)
    if not all(positions) or plain != "*":
        raise UnknownTerm(f"day={day!r} with day_of_week={weekday!r} has no equivalent")
    return "*", ",".join(_position(found) for found in positions if found)


def _position(found: re.Match[str]) -> str:
    name = found["weekday"].lower()
    if name not in _WEEKDAYS:
        raise UnknownTerm(f"{found[0]!r} names no weekday")
    number = (_WEEKDAYS.index(name) + 1) % 7
    return f"{number}L" if found["nth"].lower() == "last" else f"{number}#{found['nth'][0]}"


def _field_of_days(text: str) -> str:
    parts = [part.strip() for part in text.split(",")]
    numbers = [part for part in parts if part.lower() != "last"]
    named = as_field(_numbers("day", ",".join(numbers)), "day") if numbers else ""
    return named if len(numbers) == len(parts) else ",".join(filter(None, [named, "L"]))


def _field(name: str, text: str) -> str:
    return as_field(_numbers(name, text), name)


def _numbers(name: str, text: str) -> set[int]:
    values = {value for part in text.split(",") for value in _part(name, part.strip().lower())}
    if not values:
        raise UnknownTerm(f"{name}={text!r} names nothing")
    return values


def _part(name: str, part: str) -> range:
    low, high = _LIMITS[name]
    base, slash, step = part.partition("/")
    if slash and not (step.isdigit() and int(step)):
        raise UnknownTerm(f"{name}: {part!r} is not known")
    first, dash, last = base.partition("-")
    if base == "*":
        start, end = low, high
    else:
        start = _number(name, first)
        end = _number(name, last) if dash else high if slash else start
    if not low <= start <= end <= high:
        raise UnknownTerm(f"{name}: {part!r} must be within {low}-{high}")
    return range(start, end + 1, int(step) if slash else 1)


def _number(name: str, text: str) -> int:
    if text.isdigit():
        return int(text)
    names = {"day_of_week": _WEEKDAYS, "month": _MONTHS}.get(name, ())
    if text in names:
        return names.index(text) + _LIMITS[name][0]
    raise UnknownTerm(f"{name}: {text!r} is not known")
