"""Splits the ranges of a growing file into lines: each line once, wherever the ranges end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SplitLines:
    """The lines of one range."""

    lines: list[tuple[bytes, bool]]
    """Each without its newline, and whether it was longer than the limit and is truncated."""
    used: int
    """Bytes that need not be read again; an unfinished line at the end is left for the next range."""
    inside: bool
    """Whether the next range begins inside a line whose beginning was returned already."""


def cut(part: bytes, *, inside: bool, limit: int, most: int, last: bool = False) -> SplitLines:
    """At most `most` lines of at most `limit` bytes. `last`: nothing follows, so that an unfinished line counts too."""
    lines: list[tuple[bytes, bool]] = []
    used = 0
    for line, size, complete in _split(part):
        if len(lines) >= most:
            return SplitLines(lines, used, inside)
        if inside:
            used += size
            inside = not complete
            continue
        if not complete and len(line) <= limit and not last:
            break
        lines.append((_bare(line[:limit]), len(line) > limit))
        used += size
        inside = not complete and not last
    return SplitLines(lines, used, inside)


def _split(part: bytes) -> Iterator[tuple[bytes, int, bool]]:
    """Each line without its newline, with its size, and whether a newline ended it."""
    start = 0
    while start < len(part):
        end = part.find(b"\n", start)
        if end < 0:
            yield part[start:], len(part) - start, False
            return
        yield part[start:end], end + 1 - start, True
        start = end + 1


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\r")
