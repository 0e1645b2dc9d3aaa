"""Encodes items and values for sinks: as JSON, and as text."""

from __future__ import annotations

from typing import Any

from foliot.core import jsonable
from foliot.features.pipelines.model.definition import Item


def plain(item: Item) -> bytes:
    """The item as JSON; `TypeError` for values that JSON cannot represent."""
    return jsonable.dumps(item)


def text(value: Any) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict):
        return jsonable.dumps(value).decode()
    return str(value)
