"""Masks secrets in the YAML text of a pipeline, for display."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from foliot.core.mask import HIDDEN
from foliot.features.pipelines.file.parse import SECRET, YamlEntry, YamlNode

_USER_INFO = re.compile(r"(?<=://)[^/@\s\"']+@")
_IN_QUERY = re.compile(r"([?&][^=&\s]*(?:pass|secret|token|key|auth|sig)[^=&\s]*=)[^&\s\"']+", re.IGNORECASE)
_HOOK = re.compile(r"(/webhooks/\d+/)[\w-]+")
_COMMENT = re.compile(r"(^|\s)#.*(?:pass|secret|token|key|auth|://[^/\s]*@).*$", re.IGNORECASE | re.MULTILINE)
_SPOKEN = frozenset({"secret", "env"})
"""Keys of a mapping that only references a secret."""

_SAFE = frozenset({"schedule", "on_error"})
_SAFE_OF_STEP = frozenset({"class", "name", "on_error"})
_CONFIDED = "secret"

Place = tuple[int, int, int, int]
"""Start line, start column, end line, end column."""


def masked(value: Any, name: str = "") -> Any:
    """A value of a step with its secrets masked."""
    match value:
        case Mapping():
            if set(value) <= _SPOKEN:
                return dict(value)
            return {key: masked(inner, name if SECRET.search(name) else str(key)) for key, inner in value.items()}
        case list():
            return [masked(inner, name) for inner in value]
        case _ if SECRET.search(name) and value not in (None, "", True, False):
            return HIDDEN
        case str():
            return _without_passwords(value)
        case _:
            return value


def excerpt(lines: list[str], entry: YamlEntry, confides: Callable[[str, str], bool]) -> str:
    """The lines of a pipeline, from its key to its end, without secrets and without comments that may contain some.

    `confides` says whether a parameter of a class may be a secret. An invalid pipeline is masked in the same way: a
    value in an unexpected place may have been meant for a step.
    """
    node, start = entry.node, entry.line
    last_line, last_column = node.end
    # A block ends where the next node begins, which is not part of it.
    end = last_line - 1 if last_column <= entry.column else last_line
    mine = lines[start - 1 : max(end, start)]
    places = {*_hidden(node, "", set()), *_confided(node, confides)}
    # From the end, so that a replacement does not move the places that follow.
    for place in sorted(places, reverse=True):
        _replace(mine, start, *place)
    while mine and (not mine[-1].strip() or _is_for_the_next(mine[-1], entry.column)):
        mine.pop()
    indent = min((len(line) - len(line.lstrip()) for line in mine if line.strip()), default=0)
    text = "\n".join(line[indent:] for line in mine)
    return _COMMENT.sub(rf"\1# {HIDDEN}", _without_passwords(text))


def _is_for_the_next(line: str, column: int) -> bool:
    """A comment at the indentation of pipeline names belongs to the pipeline below it."""
    return line.lstrip().startswith("#") and len(line) - len(line.lstrip()) < column


def _confided(node: YamlNode, confides: Callable[[str, str], bool]) -> Iterator[Place]:
    """Places of scalars that are secret by the parameter of the step that takes them."""
    for key, inner in _inside(node):
        if key == "chain" and isinstance(inner.value, list):
            for step in inner.value:
                yield from _of_step(step, confides)
        elif key not in _SAFE:
            yield from _hidden(inner, _CONFIDED, set())


def _of_step(step: YamlNode, confides: Callable[[str, str], bool]) -> Iterator[Place]:
    entries = dict(_inside(step))
    known = entries.get("class")
    cls = known.value if known is not None and isinstance(known.value, str) else ""
    for key, inner in entries.items():
        if key == "kwargs" and isinstance(inner.value, dict):
            for name, given in _inside(inner):
                if confides(cls, name):
                    yield from _hidden(given, _CONFIDED, set())
        elif key not in _SAFE_OF_STEP:
            yield from _hidden(inner, _CONFIDED, set())


def _inside(node: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """The values of a mapping by key; any other node itself, with an empty name."""
    if not isinstance(node.value, dict):
        yield "", node
        return
    for name, entry in node.value.items():
        yield name, entry.node


def _without_passwords(text: str) -> str:
    text = _USER_INFO.sub(lambda found: HIDDEN + "@" if ":" in found[0] else found[0], text)
    return _HOOK.sub(rf"\1{HIDDEN}", _IN_QUERY.sub(rf"\1{HIDDEN}", text))


def _hidden(node: YamlNode, name: str, seen: set[tuple[int, bool]]) -> Iterator[Place]:
    """Places of scalars that are secret by the name of their key; each node once, however many aliases it has."""
    secret = bool(SECRET.search(name))
    if (id(node), secret) in seen:
        return
    seen.add((id(node), secret))
    match node.value:
        case dict():
            if set(node.value) <= _SPOKEN:
                return
            for key, entry in node.value.items():
                yield from _hidden(entry.node, name if secret else key, seen)
        case list():
            for child in node.value:
                yield from _hidden(child, name, seen)
        case value if secret and value not in (None, "", True, False):
            yield node.line, node.column, *node.end


def _replace(lines: list[str], start: int, *place: int) -> None:
    line, column, last, end = place
    first, final = line - start, last - start
    whole = end == 1 and final > first
    if whole:
        # A block scalar ends before the first character of the line after it.
        final -= 1
    if 0 <= first <= final:
        tail = "" if whole or final >= len(lines) else lines[final][end - 1 :]
        lines[first : final + 1] = [lines[first][: column - 1] + HIDDEN + tail]
