"""Converts google.protobuf.Struct to JSON values and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

EXACT = 2**53
"""Integers up to here are exact as doubles, which is what a Struct holds."""
DEEPEST = 28
"""Levels of nesting: protobuf parsers refuse 100 nested messages, and each JSON object takes three."""


def plain(struct: Struct) -> dict[str, Any]:
    """A Struct as JSON; integral doubles become integers again."""
    return {name: _plain(value) for name, value in struct.fields.items()}


def _plain(value: Value) -> Any:
    match value.WhichOneof("kind"):
        case "struct_value":
            return plain(value.struct_value)
        case "list_value":
            return [_plain(item) for item in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) <= EXACT else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case _:
            return None


def struct(document: Mapping[str, Any]) -> Struct:
    """JSON as a Struct. Numbers that a double cannot hold, and values nested too deeply, become text."""
    message = Struct()
    message.update({str(name): _carried(value, 1) for name, value in document.items()})
    return message


def whole(value: Any) -> Struct:
    """Any JSON as a Struct: a value that is not an object goes under the key `value`."""
    return struct(value if isinstance(value, Mapping) else {"value": value})


def _carried(value: Any, depth: int) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | Mapping | list | tuple):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT else str(value)
    if depth >= DEEPEST:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return {str(name): _carried(inner, depth + 1) for name, inner in value.items()}
    return [_carried(inner, depth + 1) for inner in value]
