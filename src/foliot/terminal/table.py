"""Prints tables that fit the terminal; in a pipe or a file nothing is shortened or coloured."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import typer

from foliot.terminal import output
from foliot.terminal.output import printable

GAP = "  "
NARROWEST = 24
"""Columns of text are made narrower than this, or than their heading, only when no optional column is left."""
TIGHTEST = 8
MOST_LINES = 4
"""Of a cell that is wrapped."""
_ID = re.compile(r"[a-z]{3}_[0-9a-f]{32}")
_SHORT_ID = 20
"""`sch_` and the time in milliseconds, with four more digits: unique but for ids of the same millisecond."""
_NUMBER = re.compile(r"[\d.,]+( ms| s|%)?|\d+/\d+|")


@dataclass(slots=True)
class _Column:
    label: str
    cells: list[str]
    rigid: bool
    optional: bool

    @property
    def natural(self) -> int:
        return max(_width(text) for text in (self.label, *self.cells))

    @property
    def least(self) -> int:
        natural = self.natural
        return natural if self.rigid else min(natural, max(_width(self.label), NARROWEST))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    empty: str,
    rigid: Collection[str] = (),
    wrap: bool = False,
) -> None:
    """A table for people; `empty` is printed instead when there are no rows.

    A label that ends in `?` may be left out where the terminal is too narrow; `rigid` ones are never shortened.
    Text is cut where it does not fit, or wrapped with `wrap`.
    """
    values = [[cell(value) for value in row] for row in rows]
    if not values:
        typer.echo(empty)
        return
    named = [label.removesuffix("?") for label in columns]
    shown = [
        _Column(name, [row[at] for row in values], name in rigid or name in output.COLOURED, columns[at].endswith("?"))
        for at, name in enumerate(named)
    ]
    widths = [column.natural for column in shown]
    if sys.stdout.isatty():
        # A program that reads a pipe finds every column; people need none that is empty.
        shown, widths = _fit([one for one in shown if any(one.cells)] or shown, shutil.get_terminal_size().columns)
    labels = [_pieces(column.label, width, wrap=False)[0] for column, width in zip(shown, widths, strict=True)]
    typer.echo(_line([output.heading(_padded(label, w)) for label, w in zip(labels, widths, strict=True)]))
    for at in range(len(values)):
        for line in _lines(shown, widths, at, wrap=wrap):
            typer.echo(line)


def _fit(shown: list[_Column], room: int) -> tuple[list[_Column], list[int]]:
    """Shorten ids, then text, and leave out optional columns from the left, until it fits."""
    if _total([column.natural for column in shown]) > room:
        for column in shown:
            _shorten_ids(column)
    while _total([column.least for column in shown]) > room and any(column.optional for column in shown):
        shown.remove(next(column for column in shown if column.optional))
    widths = [column.natural for column in shown]
    least = [column.least for column in shown]
    if _total(least) > room:
        least = [width if column.rigid else min(width, TIGHTEST) for column, width in zip(shown, least, strict=True)]
    while (over := _total(widths) - room) > 0 and widths != least:
        at = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[at] = max(least[at], widths[at] - max(1, over // len(widths)))
    return shown, widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _shorten_ids(column: _Column) -> None:
    """Prefixes that name each of these ids alone; commands take them in place of the id."""
    ids = {text for text in column.cells if text}
    if not ids or not all(_ID.fullmatch(text) for text in ids):
        return
    column.rigid = True
    length = _SHORT_ID
    while len({text[:length] for text in ids}) < len(ids):
        length += 1
    column.cells = [text[:length] for text in column.cells]


def _lines(shown: Sequence[_Column], widths: Sequence[int], at: int, *, wrap: bool) -> Iterable[str]:
    pieces = [_pieces(c.cells[at], w, wrap=wrap) for c, w in zip(shown, widths, strict=True)]
    for place in range(max(map(len, pieces))):
        line = []
        for column, width, own in zip(shown, widths, pieces, strict=True):
            text = own[place] if place < len(own) else ""
            right = all(map(_NUMBER.fullmatch, column.cells))
            padded = _padded(text, width, right=right)
            line.append(output.state(text, padded) if column.label in output.COLOURED else padded)
        yield _line(line)


def _pieces(text: str, width: int, *, wrap: bool) -> list[str]:
    if _width(text) <= width:
        return [text]
    if wrap:
        return textwrap.wrap(text, width, max_lines=MOST_LINES, placeholder=" …")
    kept = ""
    for char in text:
        if _width(kept + char) >= width:
            break
        kept += char
    return [f"{kept.rstrip()}…"]


def _line(parts: Sequence[str]) -> str:
    return GAP.join(parts).rstrip()


def _padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def _width(text: str) -> int:
    """In columns of a terminal: East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def cell(value: object) -> str:
    """A value as text on one line."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return printable(json.dumps(value, ensure_ascii=False))
    return printable(str(value))
