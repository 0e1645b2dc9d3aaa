"""Marks the place of an error in a line of text with carets, for monospaced output."""

from __future__ import annotations

from collections.abc import Sequence


def underlined(text: object, position: Sequence[int] | None, suggestion: str | None) -> list[str]:
    """The text, carets below the error, and the suggestion; unknown parts are left out."""
    lines = []
    if isinstance(text, str) and position is not None and text.isprintable():
        start, end = position
        # A position beyond the text refers to a longer one, of which this is a part.
        if 0 <= start < end <= len(text):
            lines += [text, " " * start + "^" * (end - start)]
    return [*lines, f"did you mean: {suggestion}"] if suggestion else lines
