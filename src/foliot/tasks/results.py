"""A task's result as JSON, bounded."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson
from pydantic import BaseModel

LARGEST = 256 * 1024
"""Bytes of JSON that are kept of a result."""
SHOWN = 2048
"""Of a larger one, so many characters of its beginning."""


class Unwritable(Exception):
    """The result cannot be written as JSON."""


def plain(result: Any) -> Any:
    """The result as plain JSON; of one that is too large, its size and its beginning."""
    try:
        text = orjson.dumps(result, default=_other, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError) as error:
        raise Unwritable(f"what the task returned cannot be written as JSON: {error}") from None
    if len(text) > LARGEST:
        return {"truncated": True, "bytes": len(text), "start": text[:SHOWN].decode(errors="ignore")}
    return orjson.loads(text.replace(b"\\u0000", b"\\ufffd"))


def is_cut(made: Any) -> bool:
    return isinstance(made, dict) and made.get("truncated") is True and "bytes" in made


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
    raise TypeError(f"{type(value).__name__} is not JSON")
