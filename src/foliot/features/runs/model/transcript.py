"""A run's events as text, a line each: the same for whoever downloads it and whoever prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def transcript_line(at: str, event: Mapping[str, Any]) -> str:
    """When, what or how severe, and what it says. `event` is as the HTTP door answers it."""
    what = event.get("message") or event.get("data") or ""
    label = event.get("state") if event.get("type") == "state" else event.get("level") or event.get("type")
    return printable(f"{at}  {label or '':<8}  {what}").rstrip()


def printable(text: str) -> str:
    """Text from elsewhere must not move the cursor or paint the terminal of whoever reads it."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
