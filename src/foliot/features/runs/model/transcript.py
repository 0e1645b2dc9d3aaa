"""Formats a run's events as text, one line each: the same for a download and for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def transcript_line(at: str, event: Mapping[str, Any]) -> str:
    """The time, the type or level, and the message. `event` is in the form of the HTTP answer."""
    what = event.get("message") or event.get("data") or ""
    label = event.get("state") if event.get("type") == "state" else event.get("level") or event.get("type")
    return printable(f"{at}  {label or '':<8}  {what}").rstrip()


def printable(text: str) -> str:
    """Escapes control characters: text from outside must not move the cursor or change colours of a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
