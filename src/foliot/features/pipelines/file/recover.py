"""Splits a file with a syntax error by indentation, so that only the broken pipeline is affected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_WORK = 8 * 1024 * 1024
"""Maximum characters that are parsed again; a file that would need more is refused as a whole."""
_TOP = re.compile(r"pipelines\s*:\s*(?:#.*)?")
_KEY = re.compile(r"( +)([\"']?)([A-Za-z0-9_][A-Za-z0-9_.-]*)\2\s*:(?=\s|$)")


@dataclass(frozen=True, slots=True)
class PipelineText:
    """The text of one pipeline of a file with a syntax error."""

    name: str
    line: int
    text: str
    """The file with the other pipelines blanked; line numbers are unchanged."""


def pieces(text: str) -> list[PipelineText]:
    """The pipelines of a file by indentation; empty when they cannot be separated with certainty."""
    lines = text.split("\n")
    tops = [at for at, line in enumerate(lines) if _TOP.fullmatch(line)]
    if len(tops) != 1:
        return []
    found = list(_keys(lines, tops[0] + 1))
    names = [name for name, _ in found]
    again = len("\n".join(lines[: tops[0] + 1])) + len(lines)
    if not found or len(set(names)) < len(names) or len(found) * again > MOST_WORK:
        return []
    ends = [at for _, at in found[1:]] + [_end(lines, found[-1][1])]
    head = lines[: tops[0] + 1]
    return [
        PipelineText(name, start + 1, "\n".join([*head, *[""] * (start - len(head)), *lines[start:end]]))
        for (name, start), end in zip(found, ends, strict=True)
    ]


def _keys(lines: list[str], start: int) -> Iterator[tuple[str, int]]:
    """Every key at the indentation of the first one below `pipelines:`."""
    indent: str | None = None
    for at in range(start, _end(lines, start)):
        key = _KEY.match(lines[at])
        if key is not None and indent in (None, key[1]):
            indent = key[1]
            yield key[3], at


def _end(lines: list[str], start: int) -> int:
    """The next line without indentation."""
    outer = (at for at in range(start, len(lines)) if lines[at][:1] not in ("", " ", "\t", "#"))
    return next(outer, len(lines))
