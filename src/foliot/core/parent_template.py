"""Replaces `{{ parent.… }}` in bodies and parameters by what the run that a run follows has left."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from foliot.core.errors import Invalid

MOST_FILLED = 256 * 1024
"""Bytes of all values that are filled in."""
_PATH = r"(?:run_id|state|result(?:\.[A-Za-z0-9_-]{1,200}){0,32})"
_TEMPLATE = re.compile(r"\{\{ *parent\.(" + _PATH + r") *\}\}")
_MEANT = re.compile(r"\{\{-?\s*parent\b")


@dataclass(frozen=True, slots=True)
class ParentRun:
    """The run that a run follows, as templates and steps may use it."""

    run_id: str
    state: str
    kind: str
    attempt: int
    result: Any


class ParentValueMissing(Exception):
    """What a template names is not there, or is too large."""


def mentions_parent(value: object) -> bool:
    """Whether a template of the parent stands in any text of a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if "{{" in one and _MEANT.search(one):
                return True
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        # Each attempt asks: an abstract class takes its time to say that a number is none of it.
        elif isinstance(one, dict) or (not isinstance(one, int | float | None) and isinstance(one, Mapping)):
            waiting.extend(one.keys())
            waiting.extend(one.values())
    return False


def check_parent_templates(where: str, value: object) -> None:
    """`Invalid` for a template that names nothing a parent can have."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and "{{" in one and _MEANT.search(_TEMPLATE.sub("", one)):
            rule = "must name {{ parent.run_id }}, {{ parent.state }} or {{ parent.result.a.b }}"
            raise Invalid(where, rule, got=one[:100])
        if isinstance(one, Mapping):
            waiting.extend([*one.keys(), *one.values()])
        elif isinstance(one, list | tuple):
            waiting.extend(one)


def is_template(value: object) -> bool:
    """Whether it is one template and nothing else, so that the value in its place keeps its type."""
    return isinstance(value, str) and _TEMPLATE.fullmatch(value.strip()) is not None


def filled(value: Any, parent: ParentRun | None) -> Any:
    """The JSON value with its templates replaced; `ParentValueMissing` says which has no value."""
    return _Fill(parent).value(value)


@dataclass(slots=True)
class _Fill:
    parent: ParentRun | None
    left: int = MOST_FILLED

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._words(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def _text(self, text: str) -> Any:
        if "{{" not in text:
            return text
        whole = _TEMPLATE.fullmatch(text.strip())
        return self._named(whole[1]) if whole else self._words(text)

    def _words(self, text: str) -> str:
        return _TEMPLATE.sub(lambda found: _worded(self._named(found[1])), text)

    def _named(self, path: str) -> Any:
        if self.parent is None:
            raise ParentValueMissing(f"there is no parent.{path}: this run does not follow another")
        first, *rest = path.split(".")
        found = {"run_id": self.parent.run_id, "state": self.parent.state, "result": self.parent.result}[first]
        for at, name in enumerate(rest):
            found = _inside(found, name, f"parent.{'.'.join([first, *rest[: at + 1]])}", self.parent)
        self.left -= len(orjson.dumps(found))
        if self.left < 0:
            raise ParentValueMissing(f"parent.{path} is too large: at most {MOST_FILLED // 1024} KiB are filled in")
        return found


def _inside(found: Any, name: str, path: str, parent: ParentRun) -> Any:
    if isinstance(found, Mapping) and name in found:
        return found[name]
    if isinstance(found, Sequence) and not isinstance(found, str) and name.isdecimal() and int(name) < len(found):
        return found[int(name)]
    raise ParentValueMissing(f"there is no {path} in run {parent.run_id} ({parent.state})")


def _worded(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
