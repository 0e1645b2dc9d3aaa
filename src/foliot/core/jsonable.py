"""Converts the results of users' functions and pipeline steps to JSON."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """`TypeError` or `ValueError` for what JSON cannot hold."""
    return orjson.dumps(value, default=_other, option=orjson.OPT_NON_STR_KEYS)


def _other(value: Any) -> Any:
    """Types that orjson does not know; it handles dataclasses, dates, enums and UUIDs."""
    if callable(dump := getattr(value, "model_dump", None)):
        # A pydantic model, without importing pydantic here.
        return dump(mode="json")
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    raise TypeError(f"a {type(value).__name__} is not JSON")
