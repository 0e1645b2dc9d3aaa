"""Prints results to standard output and everything else to standard error; defines the exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
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
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused or invalid, 5 server unreachable, "
    "130 interrupted."
)


class Failure(Exception):
    """Ends the command with a message for people and a code for scripts."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Prints expected errors in a line each and exits; only unexpected ones show a traceback."""
    from foliot.core.errors import FoliotError

    try:
        yield
    except Failure as failed:
        _fail(str(failed), failed.code)
    except FoliotError as failed:
        _fail(str(failed) or type(failed).__name__, Exit.FAILED)
    except PermissionError as failed:
        _fail(f"{failed.filename} cannot be read or written by this user ({failed.strerror})", Exit.FAILED)


def _fail(message: str, code: Exit) -> None:
    for line in message.splitlines():
        typer.echo(f"foliot: {printable(line)}", err=True)
    raise typer.Exit(code)


def note(message: str) -> None:
    """A remark on standard error, beside the result."""
    typer.echo(f"foliot: {printable(message)}", err=True)


def printable(text: str) -> str:
    """Text with control characters escaped: a server's text must not steer the terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """JSON without ASCII escapes, except for control characters, which could steer a terminal."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    typer.echo("".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table for people; `empty` is printed instead when there are no rows."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        # Ids are there to be copied: they are never truncated.
        shown.add_column(column, no_wrap=column in ("id", "run", "schedule"), overflow="fold")
    for row in rows:
        shown.add_row(*(Text(_cell(value)) for value in row))
    if shown.row_count:
        console().print(shown)
    else:
        typer.echo(empty)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """A line per property; properties without a value are left out."""
    shown = [(name, _cell(value)) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        typer.echo(f"{name:<{width}}  {value}")


def console() -> Any:
    from rich.console import Console

    # A pipe has no width: nothing is truncated for a program or a pager.
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False, soft_wrap=False)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return printable(json.dumps(value, ensure_ascii=False))
    return printable(str(value))


def moment(text: object, *, utc: bool) -> str:
    """A time of the API, to the second: local with its offset, or UTC."""
    if not isinstance(text, str):
        return ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    if utc:
        return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S %z}"


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
    """A progress bar on a terminal; None where standard error is not one."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
