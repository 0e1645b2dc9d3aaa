"""Flags that describe a schedule, and the fields of its document that they set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any, TypeVar

import typer

from foliot.terminal.options import duration, json_or_file, usage

_DAYS = r"(?:mon|tue|wed|thu|fri|sat|sun)"
_HOURS = re.compile(rf"({_DAYS}(?:,{_DAYS})*)?\s*(?:(\d\d:\d\d)-(\d\d:\d\d))?", re.IGNORECASE)

Cron = Annotated[str | None, typer.Option(help="A cron expression: 5 fields, 6 with seconds first, or @daily.")]
Every = Annotated[str | None, typer.Option(help="An interval: 30s, 15m, 4h, 1h30m.")]
At = Annotated[str | None, typer.Option(help="A single time, with its offset: 2027-01-01T09:00:00Z.")]
After = Annotated[
    list[str] | None, typer.Option(help="Run after the runs of this schedule, by name or id; may be repeated.")
]
Outcome = Annotated[
    str | None, typer.Option(help="With --after: success (the default), failed, partial, degraded, changed or any.")
]
AllParents = Annotated[
    bool | None, typer.Option("--all/--each", help="With several --after: wait for one run of each, or follow any.")
]
Timezone = Annotated[str | None, typer.Option(help="Time zone of the trigger, such as Europe/Stockholm.")]
Url = Annotated[str | None, typer.Option(help="URL of the webhook.")]
Method = Annotated[str | None, typer.Option(help="HTTP method of the webhook.", show_default=False)]
Header = Annotated[list[str] | None, typer.Option(help="A header, 'Name: value'; may be repeated.")]
Body = Annotated[str | None, typer.Option(help="Body of the webhook: JSON, or @FILE.")]
Overlap = Annotated[
    str | None,
    typer.Option(help="While a run is open: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all."),
]
Catchup = Annotated[str | None, typer.Option(help="After an outage: none, latest or all.")]
Retries = Annotated[int | None, typer.Option(help="How often a failed run is retried.")]
Queue = Annotated[str | None, typer.Option(help="The queue of its runs.")]
Urgency = Annotated[int | None, typer.Option("--priority", help="1 (most urgent) to 10.")]
Timeout = Annotated[str | None, typer.Option(help="How long an attempt may take: 30s, 5m.")]
Jitter = Annotated[str | None, typer.Option(help="Spread the starts over this long: 30s.")]
StartAt = Annotated[
    str | None,
    typer.Option(help="Nothing runs before this time; an interval is counted from it: 2027-01-01T09:00:00Z."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        help="When it does not run: calendar:SE, 2027-01-01/2027-01-06, 22:00-06:00, sat,sun; may be repeated."
    ),
]
Only = Annotated[list[str] | None, typer.Option(help="The only times when it runs, in the same form; may be repeated.")]
Shift = Annotated[
    str | None,
    typer.Option(help="What falls on a weekend or an excluded day: none, next_business_day or previous_business_day."),
]
Notify = Annotated[
    list[str] | None, typer.Option(help="Notify this channel, by name or id, when it fails; may be repeated.")
]
NotifyAfter = Annotated[
    int | None, typer.Option(help="With --notify: after how many failures in a row. 1 is the default.")
]
Tag = Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]


def follow(after: Sequence[str] | None, outcome: str | None, *, every_one: bool | None) -> dict[str, Any] | None:
    """The schedules to follow; None when no flag names one."""
    named = {"schedule": list(after) if after else None, "outcome": outcome, "all": every_one}
    return {name: value for name, value in named.items() if value is not None} or None


def trigger(
    cron: str | None, every: str | None, at: str | None, timezone: str | None, after: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The trigger; empty when no flag gives one."""
    flags = (("--cron", cron), ("--every", every), ("--at", at), ("--after", after))
    given = [flag for flag, value in flags if value is not None]
    if len(given) > 1:
        raise usage(f"{' and '.join(given)} cannot be combined: a schedule has one trigger")
    zone = {"timezone": timezone} if timezone is not None else {}
    if cron is not None:
        return {"type": "cron", "cron_expr": cron, **zone}
    if every is not None:
        return {"type": "interval", "interval_seconds": duration("--every", every), **zone}
    if at is not None:
        return {"type": "oneoff", "run_at": at, **zone}
    if after is not None:
        return {"type": "after", "after": dict(after), **zone}
    return zone


def alert(notify: Sequence[str] | None, after: int | None) -> dict[str, Any] | None:
    """The short form of an alert rule; None when no flag is about it."""
    named = {"to": list(notify) if notify else None, "after": after}
    return {name: value for name, value in named.items() if value is not None} or None


def request(url: str | None, method: str | None, headers: Sequence[str], body: str | None) -> dict[str, Any]:
    """The request that a webhook sends; empty when no flag describes it."""
    fields: dict[str, Any] = {}
    if url is not None:
        fields["url"] = url
    if method is not None:
        fields["method"] = method.upper()
    if headers:
        fields["headers"] = dict(_header(text) for text in headers)
    if body is not None:
        fields["body"] = json_or_file("--body", body)
    return fields


@dataclass(frozen=True, slots=True)
class ScheduleFlags:
    """What the flags of a command say about a schedule."""

    fields: dict[str, Any]
    """Fields of its document: those that a flag sets."""
    request: dict[str, Any]
    """The webhook's request, as far as flags describe it."""


def schedule_flags(  # noqa: PLR0913 -- one for each flag
    *,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    after: After = None,
    outcome: Outcome = None,
    all_: AllParents = None,
    timezone: Timezone = None,
    url: Url = None,
    method: Method = None,
    header: Header = None,
    body: Body = None,
    overlap: Overlap = None,
    catchup: Catchup = None,
    retries: Retries = None,
    queue: Queue = None,
    priority: Urgency = None,
    timeout: Timeout = None,
    jitter: Jitter = None,
    exclude: Exclude = None,
    only: Only = None,
    shift: Shift = None,
    notify: Notify = None,
    notify_after: NotifyAfter = None,
    tag: Tag = None,
    start_at: StartAt = None,
    description: Description = None,
) -> ScheduleFlags:
    """Every command with `@describes_a_schedule` has these flags: a new one is added here."""
    given = {
        "overlap": overlap,
        "catchup": None if catchup is None else {"mode": catchup},
        "retry_policy": None if retries is None else {"max_retries": retries},
        "queue": queue,
        "priority": priority,
        "timeout_seconds": None if timeout is None else duration("--timeout", timeout),
        "jitter_seconds": None if jitter is None else duration("--jitter", jitter),
        "exclude": None if exclude is None else [_time_entry(one) for one in exclude],
        "only": None if only is None else [_time_entry(one) for one in only],
        "shift": shift,
        "alert": alert(notify, notify_after),
        "tags": tag or None,
        "start_at": start_at,
        "description": description,
    }
    fields = {name: value for name, value in given.items() if value is not None}
    when = trigger(cron, every, at, timezone, follow(after, outcome, every_one=all_))
    return ScheduleFlags(when | fields, request(url, method, header or [], body))


Command = TypeVar("Command")


def describes_a_schedule(command: Callable[..., Command]) -> Callable[..., Command]:
    """Gives a command the flags of a schedule in place of its parameter `flags`, where it gets what they say."""
    own = inspect.signature(command, eval_str=True).parameters
    described = inspect.signature(schedule_flags, eval_str=True).parameters
    shown: list[Parameter] = []
    for name, parameter in own.items():
        shown += described.values() if name == "flags" else [parameter]

    def call(**given: Any) -> Command:
        flags = schedule_flags(**{name: given.pop(name) for name in described})
        return command(**given, flags=flags)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {one.name: one.annotation for one in shown}
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return call


def _time_entry(text: str) -> str | dict[str, Any]:
    """`22:00-06:00`, `mon,fri` or `mon,fri 22:00-06:00` as an object; anything else is an entry as it is."""
    found = _HOURS.fullmatch(text.strip())
    if found is None:
        return text
    days, start, end = found.groups()
    entry: dict[str, Any] = {} if start is None else {"from": start, "to": end}
    return entry if days is None else {**entry, "days": days.split(",")}


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise usage(f"--header: must be 'Name: value', got {text!r}")
    return name.strip(), value.strip()
