"""The parts of a parsed condition: their types, and their values for a visit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ValueType(StrEnum):
    """Types of values in a condition."""

    NUMBER = "number"
    TEXT = "text"
    LIST = "list"
    TRUTH = "truth value"


@dataclass(frozen=True, slots=True)
class Visit:
    """What a condition looks at: the values before and now; None where there are none."""

    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    removed: bool = False
    changed: bool = False


Evaluate = Callable[[Visit], Any]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a condition: its type, its value for a visit, and where it stands."""

    type: ValueType
    value: Evaluate
    start: int
    end: int
    field: tuple[str, str] | None = None
    """Side (`old`, `new`) and name, of a field."""
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition."""

    source: str
    node: Node

    def holds(self, visit: Visit) -> bool:
        """False also where a value that it compares is missing."""
        return self.node.value(visit) is True


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
}


def constant(kind: ValueType, value: Any, start: int, end: int) -> Node:
    return Node(kind, lambda _: value, start, end)


def join(word: str, left: Node, right: Node) -> Node:
    def both(visit: Visit) -> bool:
        return left.value(visit) is True and right.value(visit) is True

    def either(visit: Visit) -> bool:
        return left.value(visit) is True or right.value(visit) is True

    return Node(ValueType.TRUTH, both if word == "and" else either, left.start, right.end)


def compare(sign: str, left: Node, right: Node) -> Node:
    """None, which is neither true nor false, where a value is missing."""

    def value(visit: Visit) -> bool | None:
        one, other = left.value(visit), right.value(visit)
        return None if one is None or other is None else COMPARE[sign](one, other)

    return Node(ValueType.TRUTH, value, left.start, right.end)


def field_value(side: str, name: str, kind: ValueType, visit: Visit) -> Any:
    values = visit.new if side == "new" else visit.old
    return None if values is None else plain_value(values.get(name), kind)


def plain_value(value: Any, kind: ValueType) -> Any:
    """What conditions compare: the amount of a price, without its currency."""
    if isinstance(value, dict):
        value = value.get("amount")
    if value is None or kind is not ValueType.NUMBER:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def has_changed(name: str, visit: Visit) -> bool:
    if visit.old is None or visit.new is None:
        return False
    return bool(visit.old.get(name) != visit.new.get(name))


def moved(name: str, by: Node | None, sign: int, visit: Visit) -> bool | None:
    old = field_value("old", name, ValueType.NUMBER, visit)
    new = field_value("new", name, ValueType.NUMBER, visit)
    if old is None or new is None:
        return None
    least = 0.0 if by is None else by.value(visit)
    if least is None:
        return None
    if by is not None and by.percent:
        least = abs(old) * least
    # Prices are decimal: 100.00 to 90.00 is a drop of 10 %, whatever binary makes of a tenth.
    return bool((new - old) * sign >= least - 1e-9 and new != old)


def found_in(word: str, name: str, wanted: Node, visit: Visit) -> bool | None:
    needle = wanted.value(visit)
    if visit.new is None or needle is None:
        return None
    now = _inside(visit.new.get(name), needle)
    if word == "contains":
        return now
    if visit.old is None:
        return None
    before = _inside(visit.old.get(name), needle)
    return now and not before if word == "appears" else before and not now


def _inside(value: Any, needle: str) -> bool:
    """Whether the text stands in this one, or in an element of this list; upper and lower case are alike."""
    if isinstance(value, list):
        return any(_inside(each, needle) for each in value)
    return value is not None and needle.casefold() in str(value).casefold()
