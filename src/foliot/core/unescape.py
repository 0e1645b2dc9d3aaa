"""Decodes nested escapes of JSON, URLs and HTML, and maps positions back to the original text."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from dataclasses import dataclass

_ESCAPE = re.compile(
    r"\\+(?:u(?P<unit>[0-9A-Fa-f]{4})|x(?P<byte>[0-9A-Fa-f]{2}))?"
    r"|%(?:25)*(?P<percent>[0-9A-Fa-f]{2})"
    r"|&(?:amp;)*(?P<entity>[A-Za-z]{2,8}|\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6});"
    r"|\+"
)
_MARKS = ("\\", "%", "&", "+")


@dataclass(frozen=True, slots=True)
class UnescapedText:
    """An unescaped text, and the original position of each character."""

    text: str
    places: list[int]
    """Where pieces begin in the text: either copied characters, or one that replaces an escape."""
    origins: list[tuple[int, int, bool]]
    """Of each piece: its original start and end, and whether it was copied."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original range of these characters."""
        return self._origin(start)[0], self._origin(end - 1)[1]

    def _origin(self, index: int) -> tuple[int, int]:
        piece = bisect_right(self.places, index) - 1
        start, end, copied = self.origins[piece]
        if not copied:
            return start, end
        at = start + index - self.places[piece]
        return at, at + 1


def unescape(text: str) -> UnescapedText | None:
    """None when the text has no escapes.

    Every backslash is dropped and every plus is a space, even one that was escaped itself; a byte is the Latin-1
    character of its number. What it is compared with must be unescaped in the same way.
    """
    if not any(mark in text for mark in _MARKS):
        return None
    made: list[str] = []
    places: list[int] = []
    origins: list[tuple[int, int, bool]] = []
    size = last = 0

    def add(piece: str, start: int, end: int, *, copied: bool) -> None:
        nonlocal size
        if piece:
            made.append(piece)
            places.append(size)
            origins.append((start, end, copied))
            size += len(piece)

    for found in _ESCAPE.finditer(text):
        add(text[last : found.start()], last, found.start(), copied=True)
        add(_meaning(found), found.start(), found.end(), copied=False)
        last = found.end()
    add(text[last:], last, len(text), copied=True)
    return UnescapedText("".join(made), places, origins)


def _meaning(found: re.Match[str]) -> str:
    number = found["unit"] or found["byte"] or found["percent"]
    if number is not None:
        character = chr(int(number, 16))
    elif found["entity"] is not None:
        character = html.unescape(f"&{found['entity']};")
    else:
        character = found[0][0]
    return {"+": " ", "\\": ""}.get(character, character)
