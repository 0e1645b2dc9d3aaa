"""Shows where in a line something is wrong, for those who read it in letters of one width."""

from __future__ import annotations

from collections.abc import Sequence


def underlined(text: object, position: Sequence[int] | None, suggestion: str | None) -> list[str]:
    """The text, carets below the place, and what may have been meant; nothing of what is not known."""
    lines = []
    if isinstance(text, str) and position is not None and text.isprintable():
        start, end = position
        # A place beyond the text belongs to a longer one, of which this is a part.
        if 0 <= start < end <= len(text):
            lines += [text, " " * start + "^" * (end - start)]
    return [*lines, f"did you mean: {suggestion}"] if suggestion else lines
