"""How the command line speaks: results on standard output, everything else on standard error."""

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
    """What the exit code tells a script. 2 is the usage error of the command line itself."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5


EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused or invalid, 5 server unreachable, "
    "130 stopped at once."
)


class Failure(Exception):
    """Ends the command with a message for people and a code for scripts."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What we expect to go wrong is said in a line each; only surprises show a traceback."""
    from foliot.core.errors import FoliotError

    try:
        yield
    except Failure as failed:
        _say(str(failed), failed.code)
    except FoliotError as failed:
        _say(str(failed) or type(failed).__name__, Exit.FAILED)
    except PermissionError as failed:
        _say(f"{failed.filename} may not be read or written by this user ({failed.strerror})", Exit.FAILED)


def _say(message: str, code: Exit) -> None:
    for line in message.splitlines():
        typer.echo(f"foliot: {printable(line)}", err=True)
    raise typer.Exit(code)


def note(message: str) -> None:
    """A remark that is no result."""
    typer.echo(f"foliot: {printable(message)}", err=True)


def printable(text: str) -> str:
    """A server's text must not move the cursor or paint the terminal of whoever reads it."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """JSON with its letters as they are; what would steer a terminal is written as an escape, which means the same."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    typer.echo("".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table for people; `empty` says what it means that there is nothing, and what to do."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        # Ids are there to be copied: they are never cut.
        made.add_column(column, no_wrap=column in ("id", "run", "schedule"), overflow="fold")
    for row in rows:
        made.add_row(*(Text(_cell(value)) for value in row))
    if made.row_count:
        console().print(made)
    else:
        typer.echo(empty)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """One thing, a line per property; properties without a value are left out."""
    shown = [(name, _cell(value)) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        typer.echo(f"{name:<{width}}  {value}")


def console() -> Any:
    from rich.console import Console

    # A pipe has no width: nothing is to be cut for a program or a pager.
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


def listing(
    found: dict[str, Any],
    columns: Sequence[str],
    row: Callable[[dict[str, Any]], Sequence[object]],
    *,
    empty: str,
    as_json: bool,
) -> None:
    """A page of a list: as the server gave it, or as a table with how to see the rest."""
    if as_json:
        print_json(found)
        return
    table(columns, [row(each) for each in found["items"]], empty=empty)
    if found.get("next_cursor"):
        note(f"there is more: --cursor {found['next_cursor']}")


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar that shows how far something is, for people who wait at a terminal; None for everybody else."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
