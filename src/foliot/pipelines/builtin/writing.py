"""How items are written down: as JSON, as text, and in groups."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson
from pydantic import BaseModel

from foliot.domain.pipeline import Item


def plain(item: Item) -> bytes:
    """As JSON; `TypeError` for what JSON cannot hold."""
    return orjson.dumps(item, default=_other, option=orjson.OPT_NON_STR_KEYS)


def text(value: Any) -> str:
    """A value in a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict):
        return orjson.dumps(value, default=_other, option=orjson.OPT_NON_STR_KEYS).decode()
    return str(value)


def _other(value: Any) -> Any:
    """What orjson does not know by itself; dataclasses, dates, enums and UUIDs it does."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise TypeError(f"a {type(value).__name__} is not JSON")
