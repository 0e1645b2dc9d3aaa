"""Reads a run's events: the stored ones, or all until the run has ended, reconnecting when the stream is cut.

`--watch`: shows a list again whenever it has changed, until Ctrl-C. Waits until an answer is final.

Writes a long answer to a file, a pipe or a terminal, piece by piece.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import typer

from foliot.terminal.client import Client, Cut, segment
from foliot.terminal.output import Exit, Failure, faint, note, now, print_json, printable

PAGE = 500
# Half a minute of tries: a restart of the server is shorter.
PAUSES = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 10.0)
_FINAL = frozenset({"success", "partial", "degraded", "failed", "dead_letter", "cancelled"})

_TRANSIENT = frozenset({Exit.UNREACHABLE, Exit.FAILED})
"""Failures that a restart of the server can end."""

Event = dict[str, Any]
Ask = Callable[[], Any]
Show = Callable[[Any], None]


def stored_events(client: Client, run: str, after: int) -> Iterator[Event]:
    """Every event stored so far."""
    path = f"/api/runs/{segment(run)}/events"
    page = client.get(path, after=after, limit=PAGE)
    yield from page["items"]
    while page.get("next_cursor"):
        page = client.get(path, after=page["next_cursor"], limit=PAGE)
        yield from page["items"]


def matching_lines(client: Client, run: str, after: int, **filters: object) -> Iterator[Event]:
    """Every log line stored so far that matches."""
    place: int | None = after
    while place is not None:
        page = client.get(f"/api/runs/{segment(run)}/logs", after=place, **filters)
        yield from ({**line, "type": "log"} for line in page["items"])
        place = page["after"]


def follow_run(client: Client, run: str, after: int) -> Iterator[Event]:
    """Events as they happen, each once, until the run's last one."""
    follower = Follower(client, f"/api/runs/{segment(run)}", str(after) if after else None)
    while not follower.ended:
        yield from follower.read_once()


class Follower:
    """Remembers the last event id, so that no event is lost when the stream is cut."""

    def __init__(self, client: Client, path: str, last: str | None) -> None:
        self.client = client
        self.path = path
        self.last = last
        self.cuts = 0
        self.ended = False

    def read_once(self) -> Iterator[Event]:
        """The events of one connection; after a cut, waits a little longer each time."""
        try:
            for event in self.client.stream(f"{self.path}/events", self.last):
                self.cuts = 0
                self.last = event.id or self.last
                if event.name == "end":
                    self.ended = True
                    return
                yield event.data if isinstance(event.data, dict) else {"type": event.name, "message": event.data}
        except Cut as cut:
            self.ended = self._is_over()
            if not self.ended:
                self._wait(cut)

    def _is_over(self) -> bool:
        """Whether the run has ended and all its events have been read."""
        try:
            run = self.client.get(self.path)
            rest = self.client.get(f"{self.path}/events", after=self.last or 0, limit=1)
        except Failure as failed:
            if failed.code in (Exit.UNREACHABLE, Exit.FAILED):
                return False
            raise
        return run["state"] in _FINAL and not rest["items"]

    def _wait(self, cut: Cut) -> None:
        if self.cuts >= len(PAUSES):
            raise Failure(
                f"the stream from {self.client.address} was cut and did not come back ({cut})", Exit.UNREACHABLE
            )
        if self.cuts == 0:
            note(f"the stream was cut ({cut}); resuming where it stopped")
        # An event that is never set: a pause that Ctrl-C ends.
        threading.Event().wait(PAUSES[self.cuts])
        self.cuts += 1


MOST_FAILURES = 30
"""How often in a row a request may fail while its answer is awaited: a restart of the server is shorter."""


def until(ask: Ask, over: Callable[[Any], bool], pause: float = 1.0) -> Iterator[Any]:
    """The answers until one is over. Failures that a restart of the server can end are waited out."""
    failures = 0
    for _ in count():
        try:
            answer = ask()
        except Failure as failed:
            failures += 1
            if failed.code not in _TRANSIENT or failures > MOST_FAILURES:
                raise
        else:
            failures = 0
            yield answer
            if over(answer):
                return
        threading.Event().wait(pause)


PAUSE = 2.0
"""Seconds between two requests."""
_ENTER, _LEAVE, _HOME, _REST = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H", "\x1b[J"
"""The alternate screen without a cursor, and back; to the first cell; clear what follows."""
_LINE_END = "\x1b[K\n"


def watch(ask: Ask, show: Show, *, as_json: bool) -> None:
    """On a terminal the list replaces itself; elsewhere each change is printed, with `--json` as one line."""
    with contextlib.suppress(KeyboardInterrupt):
        if as_json or not sys.stdout.isatty():
            _print_changes(ask, _json_line if as_json else show)
        else:
            _redraw(ask, show)


def _json_line(answer: Any) -> None:
    print_json(answer, indent=None)


def _print_changes(ask: Ask, show: Show) -> None:
    before = None
    for _ in count():
        try:
            answer = ask()
        except Failure as failed:
            if failed.code not in _TRANSIENT:
                raise
            note(f"{str(failed).splitlines()[0]}; trying again")
        else:
            if answer != before:
                show(answer)
                sys.stdout.flush()
            before = answer
        _wait()


def _redraw(ask: Ask, show: Show) -> None:
    # The first answer comes before the screen changes: a wrong flag is reported where it was typed.
    answer, trouble = ask(), ""
    sys.stdout.write(_ENTER)
    try:
        for _ in count():
            _draw(_frame(answer, show), trouble)
            _wait()
            try:
                answer, trouble = ask(), ""
            except Failure as failed:
                if failed.code not in _TRANSIENT:
                    raise
                trouble = str(failed).splitlines()[0]
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
        # What was last seen stays in the scrollback.
        for line in _frame(answer, show):
            sys.stdout.write(f"{line}\n")


def _draw(lines: list[str], trouble: str) -> None:
    room = shutil.get_terminal_size().lines - 1
    hidden = len(lines) - room
    shown = lines if hidden <= 0 else lines[: room - 1]
    at = f"{now().astimezone():%H:%M:%S}"
    state = f"error: {printable(trouble)}; trying again" if trouble else f"every {PAUSE:g} s, Ctrl-C ends"
    more = f", {hidden + 1} more lines" if hidden > 0 else ""
    head = faint(f"{at}  {state}{more}")
    sys.stdout.write(_HOME + _LINE_END.join([head, *shown]) + _REST)
    sys.stdout.flush()


def _frame(answer: Any, show: Show) -> list[str]:
    frame = _Frame()
    with contextlib.redirect_stdout(frame), contextlib.redirect_stderr(frame):
        show(answer)
    return frame.getvalue().splitlines()


class _Frame(io.StringIO):
    """Collects what is printed for a terminal."""

    def isatty(self) -> bool:
        return True


def _wait() -> None:
    # An event that is never set: a pause that Ctrl-C ends.
    threading.Event().wait(PAUSE)


STDOUT = Path("-")


def write(pieces: Iterable[bytes], output: Path | None) -> None:
    """Into the file when one is given, else to standard output."""
    if output is not None and output != STDOUT:
        _save(output, pieces)
    elif sys.stdout.isatty():
        _print_safely(pieces)
    else:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _save(path: Path, pieces: Iterable[bytes]) -> None:
    """The file appears when the download is complete."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            for piece in pieces:
                file.write(piece)
        part.replace(path)
    except OSError as failed:
        raise Failure(f"--output: cannot write {str(path)!r} ({failed.strerror or failed})", Exit.USAGE) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _print_safely(pieces: Iterable[bytes]) -> None:
    """For a terminal: control characters in the text are escaped."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            typer.echo(printable(line.decode(errors="replace").removesuffix("\r")))
    if rest:
        typer.echo(printable(rest.decode(errors="replace")))
