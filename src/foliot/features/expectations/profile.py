"""Collects the facts about a stream of items, with bounded memory."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from foliot.features.expectations.model.facts import DataFacts, age_of
from foliot.features.expectations.model.read import LONGEST_FIELD, MOST_FIELDS, fields_of

MOST_DIGESTS = 500_000
"""Items that are compared for duplicates; those after them are not."""
_URL = re.compile(r"https?://[^\s/]+", re.IGNORECASE)


@dataclass(slots=True)
class ItemProfile:
    """Counts items, missing values, values of another type and duplicates as the items pass."""

    expect: Mapping[str, Any]
    every_field: bool = False
    """Count the values of all fields, up to `MOST_FIELDS`, and not only of those that are expected."""
    items: int = 0
    duplicates: int = 0
    newest: datetime | None = None
    _present: Counter[str] = field(default_factory=Counter)
    _mistyped: Counter[str] = field(default_factory=Counter)
    _digests: set[bytes] = field(default_factory=set)
    _fields: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._fields = fields_of(self.expect)

    def add(self, item: Any) -> None:
        self.items += 1
        if not isinstance(item, Mapping):
            return
        if self.every_field:
            self._count_all(item)
            return
        schema = self.expect.get("schema", {})
        dated = self.expect.get("freshness", {}).get("field")
        for name in self._fields:
            value = value_at(item, name)
            if is_empty(value):
                continue
            self._present[name] += 1
            if name in schema and not is_of_type(value, schema[name]):
                self._mistyped[name] += 1
            if name == dated and (at := age_of(value)) is not None:
                self.newest = at if self.newest is None else max(self.newest, at)
        if "duplicates" in self.expect and len(self._digests) < MOST_DIGESTS:
            self._compare(item)

    def facts(self, *, errors: int = 0, seconds: float | None = None) -> DataFacts:
        return DataFacts(
            items=self.items,
            errors=errors,
            seconds=seconds,
            duplicates=self.duplicates if "duplicates" in self.expect else None,
            coverage={name: self._present[name] for name in self._covered},
            mistyped={name: self._mistyped[name] for name in self.expect.get("schema", {})},
            newest=self.newest,
        )

    @property
    def _covered(self) -> Collection[str]:
        return self._present if self.every_field else self.expect.get("coverage", {})

    def _count_all(self, item: Mapping[str, Any]) -> None:
        for name, value in item.items():
            if not is_empty(value) and (name in self._present or self._may_count(name)):
                self._present[name] += 1

    def _may_count(self, name: str) -> bool:
        return len(self._present) < MOST_FIELDS and 0 < len(name) <= LONGEST_FIELD

    def _compare(self, item: Mapping[str, Any]) -> None:
        text = orjson.dumps(item, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
        digest = hashlib.blake2b(text, digest_size=12).digest()
        if digest in self._digests:
            self.duplicates += 1
        else:
            self._digests.add(digest)


def value_at(item: Mapping[str, Any], name: str) -> Any:
    """The value of a field, or of a nested one such as `offer.price`."""
    if name in item or "." not in name:
        return item.get(name)
    value: Any = item
    for part in name.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def is_empty(value: Any) -> bool:
    """Whether a template without content would have such a value."""
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, list | dict) and not value)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "url": lambda value: isinstance(value, str) and _URL.match(value) is not None,
    "date": lambda value: age_of(value) is not None,
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}


def is_of_type(value: Any, kind: str) -> bool:
    """Whether a value is of one of the schema's types."""
    return _TYPES[kind](value)
