"""Flags and arguments that many commands share, so that they read the same everywhere.

Values of flags: durations, JSON, files and `name=value` pairs; a bad one is a usage error.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from foliot.terminal.output import Exit, Failure
from foliot.terminal.reference import Reference

_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SECONDS = (86_400, 3600, 60)


def usage(message: str) -> Failure:
    return Failure(message, Exit.USAGE)


def duration(flag: str, text: str) -> int | float:
    """Seconds: `90`, `90s`, `15m`, `4h`, `1h30m`, `1d`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise usage(f"{flag}: must be a duration such as 30s, 15m, 4h or 1h30m, got {text!r}")
    whole = sum(int(match[at]) * size for at, size in enumerate(_SECONDS, 1) if match[at])
    rest = float(match[4] or 0)
    return whole + (int(rest) if rest.is_integer() else rest)


def json_or_file(flag: str, text: str) -> Any:
    """JSON written out, or `@FILE` (`@-` for standard input) that holds it."""
    source = read(flag, text[1:]) if text.startswith("@") else text
    try:
        return json.loads(source)
    except ValueError as wrong:
        raise usage(f"{flag}: must be JSON or @FILE with JSON in it: {wrong}") from None


def parameter(flag: str, text: str) -> tuple[str, Any]:
    """`name=value`, the value JSON where it is JSON, else text; `name=@FILE` reads JSON."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise usage(f"{flag}: must be name=value, got {text!r}")
    if value.startswith("@"):
        return name.strip(), json_or_file(flag, value)
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def read(flag: str, name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failed:
        raise usage(f"{flag}: cannot read {name!r} ({getattr(failed, 'strerror', None) or failed})") from None


def document(flag: str, name: str) -> dict[str, Any]:
    """A file with a whole document in it."""
    value = json_or_file(flag, f"@{name}")
    if not isinstance(value, dict):
        raise usage(f"{flag}: must hold a JSON object, got {type(value).__name__}")
    return value


Home = Annotated[Path | None, typer.Option(help="Where local mode keeps its data (FOLIOT_HOME).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Utc = Annotated[
    bool | None,
    typer.Option(
        "--utc/--absolute",
        help="Show times in UTC, or as full local dates. By default they are local, and relative on a terminal.",
        show_default=False,
    ),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Keep the list up to date until you press Ctrl-C.")]
# Runs have a state and schedules a status; the flag accepts either word everywhere.
STATUS_FLAGS = ("--status", "--state")
STATE_FLAGS = ("--state", "--status")
Limit = Annotated[int, typer.Option(min=1, max=500, help="Show at most this many.")]
Cursor = Annotated[str | None, typer.Option(help="Continue where the previous page ended.")]
Skip = Annotated[int, typer.Option(min=0, help="Skip this many first.")]
Filter = Annotated[
    str | None, typer.Option("--query", "-q", help="A filter, such as 'state:failed since:24h -kind:crawl'.")
]
_SORT = "Sort by a field, or in descending order by -FIELD:"
SortSchedules = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="[-]FIELD",
        help=f"{_SORT} urgency, failing, next_run_at, last_run_at, duration, name, created_at.",
    ),
]
SortRuns = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="[-]FIELD",
        help=f"{_SORT} created_at, scheduled_for, started_at, duration, state.",
    ),
]
SortDeadLetters = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="[-]FIELD",
        help=f"{_SORT} last_at, first_at, count.",
    ),
]
SortAlerts = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="[-]FIELD",
        help=f"{_SORT} opened_at, last_at, severity, state, count, name.",
    ),
]
SortEndpoints = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="[-]FIELD",
        help=f"{_SORT} failing, url, calls, failed, success_ratio, p50_ms, p95_ms, last_at.",
    ),
]
Kind = Annotated[str | None, typer.Option(help="Kind of action, such as webhook.")]
From = Annotated[str | None, typer.Option("--from", help="Start of the time range: 2027-01-01T00:00:00Z.")]
To = Annotated[str | None, typer.Option("--to", help="End of the time range, exclusive.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file; it appears only when it is complete.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation. Required without a terminal.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Rate = Annotated[int, typer.Option(min=1, max=50, help="At most this many per second.")]
StopAfter = Annotated[int | None, typer.Option(min=1, help="Stop after this many failures.")]
Canary = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=100,
        show_default="1",
        help="With replay: send this many first, and the rest only if they succeed; 0 sends all at once.",
    ),
]
NewestFirst = Annotated[bool, typer.Option("--newest-first", help="Start with the newest.")]
Priority = Annotated[int | None, typer.Option(min=1, max=10, help="1 is most urgent.", show_default="5")]
AsOf = Annotated[
    Literal["now", "then"] | None,
    typer.Option(help="Use the schedule's settings as they are now, or as they were then.", show_default="now"),
]
Patch = Annotated[
    str | None,
    typer.Option(
        help='A JSON merge patch for each payload, or @FILE: \'{"body": {"sku": 991}}\'; null removes a value.'
    ),
]
ScheduleId = Annotated[
    str,
    typer.Argument(help="The schedule's name or id, or the beginning of its id.", metavar="SCHEDULE"),
    Reference("schedule"),
]
OfSchedule = Annotated[
    str | None, typer.Option("--schedule", help="Only those of this schedule (name or id)."), Reference("schedule")
]
RunId = Annotated[
    str,
    typer.Argument(help="The run's id or its beginning, or a schedule's name for its newest run.", metavar="RUN"),
    Reference("run"),
]
JobId = Annotated[
    str,
    typer.Argument(help="The job's id (run_…) or its beginning, or the name of its schedule.", metavar="JOB"),
    Reference("job"),
]

CLIENT_VARIABLES = (
    "Environment: FOLIOT_URL is the server to talk to; without it, the local one on port FOLIOT_PORT (8000). "
    "FOLIOT_TOKEN is the token or API key to send."
)
SERVER_VARIABLES = (
    "Environment: DATABASE_URL is the database; without it, a SQLite file in FOLIOT_HOME. "
    "Flags override the environment; all settings are in docs/reference/settings.md."
)
