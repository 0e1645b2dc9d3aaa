"""Reads expectations from a configuration."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from foliot.core.document import Complaints, Fields, check_object, choose
from foliot.core.errors import Invalid
from foliot.features.expectations.model.facts import EXPECT, number

MOST_FIELDS = 50
"""Fields that one configuration may name."""
LONGEST_FIELD = 200

_BOUND = re.compile(r"\s*(>=|<=|>|<|=)?\s*(\d{1,12}(?:\.\d{1,6})?)\s*(%|[a-z]+)?\s*")
SECONDS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class SchemaType(StrEnum):
    """The type that the values of a field must have."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    URL = "url"
    DATE = "date"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Bound:
    """One side of an allowed range: `>= 100`."""

    sign: str
    value: float

    def holds(self, got: float) -> bool:
        match self.sign:
            case ">=":
                return got >= self.value
            case ">":
                return got > self.value
            case "<=":
                return got <= self.value
            case "<":
                return got < self.value
            case _:
                return got == self.value


def read_expect(raw: object, where: str = EXPECT, *, kinds: Collection[str] | None = None) -> dict[str, Any]:
    """The expectations in their stored form, or `Invalid` naming the field.

    `kinds`: those that the action can judge.
    """
    fields = Fields.of(where, check_object(where, raw))
    fields.asked |= ALL
    fields.finish()
    wrong = Complaints()
    stored: dict[str, Any] = {}
    for name in sorted(ALL & fields.raw.keys()):
        value = fields.raw[name]
        if value is None:
            continue
        place = f"{where}.{name}"
        with wrong.collect():
            if kinds is not None and name not in kinds:
                raise Invalid(place, f"cannot be judged for this kind of action; {', '.join(sorted(kinds))} can")
            stored[name] = _READERS[name](place, value)
    wrong.speak()
    if not stored:
        raise Invalid(where, f"is not an expectation; known are {', '.join(sorted(ALL))}")
    return stored


def bounds(text: str, where: str = EXPECT, default: str = ">=") -> list[tuple[Bound, str]]:
    """The bounds of `>= 60%, <= 200%`, each with its unit."""
    found = []
    for part in text.split(","):
        match = _BOUND.fullmatch(part.lower())
        if match is None:
            raise Invalid(where, 'must be a bound such as ">= 100", or two: ">= 60%, <= 200%"', got=text[:100])
        found.append((Bound(match[1] or default, float(match[2])), match[3] or ""))
    if len(found) > 2:
        raise Invalid(where, "must be at most two bounds, such as '>= 60%, <= 200%'", got=text[:100])
    return found


def _bounded(where: str, value: object, *, unit: str, default: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{number(float(value))}{unit}"
    if not isinstance(value, str):
        raise Invalid(where, f'must be a bound such as "{default} 100{unit}"', got=value)
    for bound, given in bounds(value, where, default):
        if unit == "%" and given != "%":
            raise Invalid(where, f'must be a share in percent, such as "{default} {number(bound.value)}%"', got=value)
        if unit == "s" and given not in SECONDS:
            raise Invalid(where, f'must be a duration such as "{default} 30m"', got=value)
        if unit == "" and given:
            raise Invalid(where, f'must be a number, such as "{default} {number(bound.value)}"', got=value)
    return ", ".join(f"{bound.sign} {number(bound.value)}{given}" for bound, given in bounds(value, where, default))


def _field_names(where: str, value: object) -> Mapping[str, Any]:
    named = check_object(where, value)
    if not 0 < len(named) <= MOST_FIELDS:
        raise Invalid(where, f"must name 1 to {MOST_FIELDS} fields", got=f"{len(named)} fields")
    for name in named:
        if not 0 < len(name) <= LONGEST_FIELD or "\x00" in name:
            raise Invalid(where, f"must have names of fields of at most {LONGEST_FIELD} characters", got=str(name)[:50])
    return named


def _coverage(where: str, value: object) -> dict[str, str]:
    named = _field_names(where, value)
    return {name: _bounded(f"{where}.{name}", one, unit="%", default=">=") for name, one in named.items()}


def _schema(where: str, value: object) -> dict[str, str]:
    named = _field_names(where, value)
    return {name: choose(f"{where}.{name}", one, SchemaType).value for name, one in named.items()}


def _freshness(where: str, value: object) -> dict[str, str]:
    """`{"field": "published_at", "within": "2d"}`."""
    fields = Fields.of(where, check_object(where, value))
    name = fields.text("field", "", most=LONGEST_FIELD)
    within = fields.value("within")
    fields.finish()
    if not name:
        raise Invalid(f"{where}.field", "is required: the field with the date of an item")
    return {"field": name, "within": _bounded(f"{where}.within", within, unit="s", default="<=")}


_READERS: Mapping[str, Any] = {
    "items": lambda where, value: _bounded(where, value, unit="", default=">="),
    "items_vs_baseline": lambda where, value: _bounded(where, value, unit="%", default=">="),
    "coverage": _coverage,
    "errors": lambda where, value: _bounded(where, value, unit="", default="<="),
    "duplicates": lambda where, value: _bounded(where, value, unit="%", default="<="),
    "duration": lambda where, value: _bounded(where, value, unit="s", default="<="),
    "freshness": _freshness,
    "schema": _schema,
}
ALL = frozenset(_READERS)
OF_COUNTS = frozenset({"items", "items_vs_baseline", "errors", "duration"})
"""What can be judged without reading the items."""


def fields_of(expect: Mapping[str, Any]) -> frozenset[str]:
    """The fields whose values must be looked at."""
    dated = {expect["freshness"]["field"]} if "freshness" in expect else set()
    return frozenset({*expect.get("coverage", {}), *expect.get("schema", {}), *dated})


def needs_items(expect: Mapping[str, Any]) -> bool:
    """Whether the items themselves must be read to judge it."""
    return bool(expect.keys() - OF_COUNTS)
