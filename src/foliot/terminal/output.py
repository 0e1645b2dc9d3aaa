"""Prints results to standard output and everything else to standard error; defines the exit codes.

Colours of states at a terminal, never instead of the word; off with `NO_COLOR`, and in a pipe or a file.

Times as people read them: local, in UTC, or relative to now.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import IntEnum
from itertools import pairwise
from typing import Any

import typer


class Exit(IntEnum):
    """Exit codes for scripts. 2 is also what the parser of the command line uses."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5
    PARTIAL = 6
    """It finished, but some of its items failed."""

    @classmethod
    def of_state(cls, state: str) -> Exit:
        """How a command ends that has followed a run to this state."""
        return {"success": cls.DONE, "partial": cls.PARTIAL}.get(state, cls.FAILED)


EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused, invalid or ambiguous, 5 server unreachable, "
    "6 partial (finished, but some items failed), 130 interrupted."
)


ERRORS_AS_JSON: ContextVar[bool] = ContextVar("ERRORS_AS_JSON", default=False)
"""Whether the command that runs was given `--json`."""


class Failure(Exception):
    """Ends the command with a message for people and a code for scripts; `details` are for `--json`."""

    def __init__(self, message: str, code: Exit = Exit.FAILED, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details or {}


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Prints expected errors without a traceback and exits; only unexpected ones show one."""
    from foliot.core.errors import FoliotError

    try:
        yield
    except Failure as failed:
        raise fail(failed) from None
    except FoliotError as failed:
        raise fail(Failure(str(failed) or type(failed).__name__)) from None
    except PermissionError as failed:
        reason = f"{failed.filename} cannot be read or written by this user ({failed.strerror})"
        raise fail(Failure(reason)) from None


def fail(failed: Failure) -> typer.Exit:
    """Print `error: …` and what belongs to it, or with `--json` one JSON object; both on standard error."""
    first, *rest = str(failed).splitlines() or [type(failed).__name__]
    if ERRORS_AS_JSON.get():
        error = {"message": first, "exit_code": int(failed.code), **(failed.details or {"notes": rest})}
        typer.echo(_json({"error": error}, indent=None), err=True)
    else:
        for line in (first, *rest):
            # What is indented belongs to the error above it.
            typer.echo(("" if line.startswith(" ") else "error: ") + printable(line), err=True)
    return typer.Exit(failed.code)


def note(message: str) -> None:
    """A remark on standard error, beside the result."""
    typer.echo(f"foliot: {printable(message)}", err=True)


def printable(text: str) -> str:
    """Text with control characters escaped: a server's text must not steer the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    typer.echo(_json(value, indent=indent))


def _json(value: Any, *, indent: int | None) -> str:
    """JSON without ASCII escapes, except for control characters, which could steer a terminal."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def count(number: int, noun: str) -> str:
    """`1 schedule`, `2 schedules`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def note_skipped(total: int, skip: int, shown: int) -> None:
    """How to see the rest of a list that is paged by `--skip`."""
    if (rest := total - skip - shown) > 0:
        note(f"there are {rest} more: --skip {skip + shown}")


def confirm(question: str, undone: str, *, yes: bool) -> None:
    """Ask on the terminal unless `--yes` was given; without a terminal nothing is done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Failure(f"there is no terminal to ask for confirmation, so {undone}: give --yes", Exit.USAGE)
    typer.confirm(question, abort=True)


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on a terminal, with the time that is left; None where standard error is not one."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


_GREEN, _RED, _YELLOW, _BLUE, _GREY, _BOLD = "32", "31", "33", "34", "90", "1"
_STATES = {
    _GREEN: ("success", "succeeded", "finished", "completed", "ok", "up", "ran", "healthy", "created"),
    _RED: ("failed", "dead_letter", "error", "missed", "down", "refused", "critical", "failing", "stuck", "lost"),
    _YELLOW: ("retrying", "partial", "degraded", "late", "warning", "warn", "half_open", "silent", "stopped"),
    _BLUE: ("running", "in_progress", "claimed", "active", "starting", "draining"),
    _GREY: ("cancelled", "paused", "skipped", "deleted", "disabled", "pruned", "left", "debug", "unknown", "pending"),
}
_CODES = {state: code for code, states in _STATES.items() for state in states}

COLOURED = frozenset({"state", "status", "outcome", "level", "kind", "did"})
"""Columns and properties whose values are coloured, where they name a known state."""


def coloured() -> bool:
    """Whether standard output shows colours: https://no-color.org, and `FORCE_COLOR` for a pager."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def state(word: str, shown: str | None = None) -> str:
    """The word, or how it is shown, in the colour of the state it names; as it is when it names none."""
    return _painted(_CODES.get(word.strip().lower(), ""), word if shown is None else shown)


def heading(text: str) -> str:
    return _painted(_BOLD, text)


def faint(text: str) -> str:
    return _painted(_GREY, text)


def _painted(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code and text and coloured() else text


_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_FAR = 7 * 86_400
"""From here on a date says more than a number of days."""


def moment(text: object, *, utc: bool | None) -> str:
    """A time of the API, to the second: in UTC, or local with its offset."""
    at = _read(text)
    if at is None:
        return text if isinstance(text, str) else ""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z" if utc else f"{at.astimezone():%Y-%m-%d %H:%M:%S %z}"


def when(text: object, *, utc: bool | None, brief: bool) -> str:
    """A time for a table (`brief`) or a property: on a terminal with its distance from now, unless a flag says else."""
    at = _read(text)
    if at is None or utc is not None or not sys.stdout.isatty():
        return moment(text, utc=utc)
    distance = relative(at, now())
    if brief:
        return distance or f"{at.astimezone():%Y-%m-%d %H:%M}"
    return moment(text, utc=utc) + (f" ({distance})" if distance else "")


def relative(at: datetime, now: datetime) -> str:
    """`in 12 min`, `3 h 5 min ago`; empty for more than a week."""
    seconds = round((at - now).total_seconds())
    if abs(seconds) >= _FAR:
        return ""
    if not seconds:
        return "now"
    span = _span(abs(seconds))
    return f"in {span}" if seconds > 0 else f"{span} ago"


def _span(seconds: int) -> str:
    """The two largest units, the second only below a large first one: `3 h 5 min`, but `45 min`."""
    for (size, name), (smaller, below) in pairwise(_UNITS):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {name}" + (f" {rest} {below}" if rest and size > 60 else "")
    return f"{seconds} s"


def now() -> datetime:
    """The clock of this machine: it decides only how a time is worded."""
    return datetime.now(UTC)  # noqa: TID251 -- no decision depends on it, and commands have no injected clock


def _read(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
