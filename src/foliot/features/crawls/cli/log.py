"""Prints the log of a crawl as it happens, with a progress line below it on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from foliot.terminal.output import moment, print_json, printable

_BACK = "\r\x1b[K"
"""Moves to the start of the line and clears it."""
_COUNTED = ("pages", "items", "errors")


@dataclass(slots=True)
class LogPrinter:
    """Prints log events; the progress line appears on a terminal only, never in a file or a pipe."""

    as_json: bool = False
    utc: bool | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    _shown: bool = False

    def print(self, events: Iterable[dict[str, Any]]) -> None:
        try:
            for event in events:
                self._print(event)
        finally:
            self._clear()

    def _print(self, event: dict[str, Any]) -> None:
        if event.get("type") == "progress":
            self.progress |= event.get("data") or {}
        if self.as_json:
            print_json(event, indent=None)
        elif event.get("type") == "log":
            self._clear()
            line = f"{moment(event.get('at'), utc=self.utc)}  {event.get('level') or '':<8}  {event.get('message')}"
            typer.echo(printable(line).rstrip())
        if self.progress and not self.as_json and sys.stderr.isatty():
            typer.echo(f"{_BACK}{summary(self.progress)}", err=True, nl=False)
            self._shown = True

    def _clear(self) -> None:
        if self._shown:
            typer.echo(_BACK, err=True, nl=False)
            self._shown = False


def summary(progress: Mapping[str, Any]) -> str:
    """`12 pages, 3 items, 0 errors (40.0 pages per minute)`."""
    counts = ", ".join(f"{progress[name]} {name}" for name in _COUNTED if name in progress)
    rate = progress.get("pages_per_minute")
    return printable(counts + (f" ({rate} pages per minute)" if rate is not None else ""))
