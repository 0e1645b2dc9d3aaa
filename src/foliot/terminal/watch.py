"""`--watch`: shows a list again whenever it has changed, until Ctrl-C."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

from foliot.terminal.output import Exit, Failure, note, print_json, printable
from foliot.terminal.style import faint
from foliot.terminal.times import now

PAUSE = 2.0
"""Seconds between two requests."""
_ENTER, _LEAVE, _HOME, _REST = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H", "\x1b[J"
"""The alternate screen without a cursor, and back; to the first cell; clear what follows."""
_LINE_END = "\x1b[K\n"
_TRANSIENT = frozenset({Exit.UNREACHABLE, Exit.FAILED})
"""Failures that a restart of the server can end."""

Ask = Callable[[], Any]
Show = Callable[[Any], None]


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
