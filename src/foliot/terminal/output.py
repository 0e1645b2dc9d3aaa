"""Prints results to standard output and everything else to standard error; defines the exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
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


EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused, invalid or ambiguous, 5 server unreachable, "
    "130 interrupted."
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
