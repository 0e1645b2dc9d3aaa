"""Colours of states at a terminal, never instead of the word; off with `NO_COLOR`, and in a pipe or a file."""

from __future__ import annotations

import os
import sys

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
