"""Compares a wanted document with the stored one, field by field.

Three documents decide: what the file wants, what is stored, and what the file made of it when it was last applied. A
field that is stored as wanted is no difference, whoever wrote it. One that is stored as it was made has changed in the
file. Any other was edited by hand since: drift, which is reported and left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_GONE = object()
_MOST = 400
"""Characters of a value that a plan shows."""


class PlanAct(StrEnum):
    """What a plan does with one thing."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    NONE = "none"
    DRIFT = "drift"
    """It was edited by hand since the file was applied, and is left alone."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a document that differs; credentials in the values are masked."""

    field: str
    was: Any
    becomes: Any
    by_hand: bool = False
    """Edited since the file was last applied."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What a plan does with one thing of a kind, which is known by its name."""

    thing: str
    name: str
    act: PlanAct
    id: str | None = None
    version: int | None = None
    """The version that is compared; an edit since then refuses the plan."""
    fields: tuple[FieldChange, ...] = ()
    place: int | None = None
    """The place of its document among those of its kind."""

    def as_dict(self) -> dict[str, Any]:
        """What two equal plans have in common."""
        fields = [[one.field, one.was, one.becomes, one.by_hand] for one in self.fields]
        return {"thing": self.thing, "name": self.name, "act": self.act, "version": self.version, "fields": fields}


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A document in two forms: as it is compared, and as it is shown."""

    whole: Mapping[str, Any]
    shown: Mapping[str, Any]

    @classmethod
    def plain(cls, document: Mapping[str, Any]) -> ComparedDocument:
        """One without credentials."""
        return cls(document, document)


def differences(
    wanted: ComparedDocument, stored: ComparedDocument, made: Mapping[str, Any] | None
) -> tuple[FieldChange, ...]:
    """The fields that differ. `made`: what the last application wrote, masked; None when it was not from this file."""
    found = []
    for path in _differing(wanted.whole, stored.whole):
        was, becomes = _at(stored.shown, path), _at(wanted.shown, path)
        by_hand = made is not None and _at(made, path) != was
        found.append(FieldChange(".".join(path), _short(was), _short(becomes), by_hand))
    return tuple(found)


def _differing(
    wanted: Mapping[str, Any], stored: Mapping[str, Any], at: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    for name in dict.fromkeys([*stored, *wanted]):
        new, old = wanted.get(name, _GONE), stored.get(name, _GONE)
        if isinstance(new, Mapping) and isinstance(old, Mapping):
            yield from _differing(new, old, (*at, name))
        elif new != old and not (new in (None, _GONE) and old in (None, _GONE)):
            yield (*at, name)


def _at(document: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = document
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MOST:
        return value[:_MOST] + "…"
    return value
