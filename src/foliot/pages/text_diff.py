"""Differences of two texts, by lines or by words. Runs in a separate process: the texts are a stranger's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

MOST_WORK = 4_000_000
"""Pairs of lines that are compared; where there are more, everything between the equal ends differs."""
MOST_PARTS = 2000
MOST_CHARACTERS = 200_000
SAME, REMOVED, ADDED = "=", "-", "+"


def diff_texts(body: bytes, old: str, by: str = "lines") -> dict[str, Any]:
    """`parts`: pairs of `=`, `-` or `+` and a text, in order. `body` is the new text, in UTF-8."""
    new = body.decode("utf-8", "replace")
    split = str.split if by == "words" else str.splitlines
    joint = " " if by == "words" else "\n"
    parts: list[list[str]] = []
    left, cut = MOST_CHARACTERS, False
    for sign, pieces in _diff(split(old), split(new)):
        if len(parts) >= MOST_PARTS or left <= 0:
            cut = True
            break
        text = joint.join(pieces)[:left]
        left -= len(text)
        parts.append([sign, text])
    return {"parts": parts, "cut": cut}


def changed_lines(body: bytes, old: str, most: int) -> dict[str, str]:
    """The lines that went and came, as `- old` and `+ new`; for the list of changes."""
    lines: list[str] = []
    size = 0
    for sign, text in diff_texts(body, old)["parts"]:
        for line in text.splitlines() if sign != SAME else ():
            lines.append(f"{sign} {line}")
            size += len(lines[-1]) + 1
        if size > most:
            break
    return {"diff": "\n".join(lines)[:most]}


def _diff(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start:
        yield SAME, old[:start]
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    if len(before) * len(after) > MOST_WORK:
        yield REMOVED, before
        yield ADDED, after
    else:
        yield from _matched(before, after)
    if end:
        yield SAME, old[len(old) - end :]


def _matched(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    for word, low, high, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if word == "equal":
            yield SAME, before[low:high]
            continue
        if high > low:
            yield REMOVED, before[low:high]
        if to > from_:
            yield ADDED, after[from_:to]
