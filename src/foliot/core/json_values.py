"""JSON of users: refuses what is too deep, too large or not storable, and converts results of functions to it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson

from foliot.core.errors import Invalid

MAX_DEPTH = 64
MAX_PAYLOAD = 256 * 1024


_STRICT = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def check_plain(where: str, value: object) -> None:
    """Checks depth, size and characters that a database or a parser cannot handle."""
    check_depth(where, value)
    try:
        # Without spaces: with them, it is at most twice as long.
        if 2 * len(orjson.dumps(value, option=_STRICT)) <= MAX_PAYLOAD:
            return
    except TypeError:
        """Long integers, for example: JSON has them, and the error names what it has not."""
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise Invalid(where, f"must be plain JSON ({error})") from None
    if size > MAX_PAYLOAD:
        raise Invalid(where, f"must be at most {MAX_PAYLOAD // 1024} KiB", got=f"{size} bytes")


def check_depth(where: str, value: object) -> None:
    """Level by level and not recursive, because the sender chooses the depth."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[object] = []
        for inner in level:
            if isinstance(inner, str):
                if "\x00" in inner:
                    raise Invalid(where, "must not contain the character U+0000")
            elif isinstance(inner, float) and not math.isfinite(inner):
                raise Invalid(where, "must not contain NaN or infinity", got=str(inner))
            elif isinstance(inner, dict | list | tuple | Mapping):
                below.append(inner)
        if not below:
            return
        level = [item for inner in below for item in _inside(inner)]
    raise Invalid(where, f"must be nested at most {MAX_DEPTH} deep")


def _inside(value: Any) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [*value.keys(), *value.values()]


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
