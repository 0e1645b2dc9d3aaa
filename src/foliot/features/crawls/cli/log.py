"""The log of a crawl as it happens, with a line below it that says how far it has come."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from foliot.terminal.output import moment, print_json, printable

_BACK = "\r\x1b[K"
"""To the beginning of the line, and wipe it."""
_COUNTED = ("pages", "items", "errors")


@dataclass(slots=True)
class Live:
    """Prints events. Whoever waits at a terminal sees the progress too; a file or a pipe has the lines alone."""

    as_json: bool = False
    utc: bool = False
    progress: dict[str, Any] = field(default_factory=dict)
    _shown: bool = False

    def tell(self, events: Iterable[dict[str, Any]]) -> None:
        try:
            for event in events:
                self._one(event)
        finally:
            self._wipe()

    def _one(self, event: dict[str, Any]) -> None:
        if event.get("type") == "progress":
            self.progress |= event.get("data") or {}
        if self.as_json:
            print_json(event, indent=None)
        elif event.get("type") == "log":
            self._wipe()
            said = f"{moment(event.get('at'), utc=self.utc)}  {event.get('level') or '':<8}  {event.get('message')}"
            typer.echo(printable(said).rstrip())
        if self.progress and not self.as_json and sys.stderr.isatty():
            typer.echo(f"{_BACK}{summary(self.progress)}", err=True, nl=False)
            self._shown = True

    def _wipe(self) -> None:
        if self._shown:
            typer.echo(_BACK, err=True, nl=False)
            self._shown = False


def summary(progress: Mapping[str, Any]) -> str:
    """`12 pages, 3 items, 0 errors (40.0 pages a minute)`."""
    counts = ", ".join(f"{progress[name]} {name}" for name in _COUNTED if name in progress)
    rate = progress.get("pages_per_minute")
    return printable(counts + (f" ({rate} pages a minute)" if rate is not None else ""))
