"""Refuses JSON that is too deep or too large, or that a database cannot store."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from foliot.core.errors import Invalid

MAX_DEPTH = 64
MAX_PAYLOAD = 256 * 1024


def check_plain(where: str, value: object) -> None:
    """Checks depth, size and characters that a database or a parser cannot handle."""
    check_depth(where, value)
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise Invalid(where, f"must be plain JSON ({error})") from None
    if size > MAX_PAYLOAD:
        raise Invalid(where, f"must be at most {MAX_PAYLOAD // 1024} KiB", got=f"{size} bytes")


def check_depth(where: str, value: object) -> None:
    """Iterative, because the sender chooses the depth."""
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        if isinstance(inner, str):
            if "\x00" in inner:
                raise Invalid(where, "must not contain the character U+0000")
        elif isinstance(inner, float) and not math.isfinite(inner):
            raise Invalid(where, "must not contain NaN or infinity", got=str(inner))
        elif isinstance(inner, Mapping | list | tuple):
            if depth > MAX_DEPTH:
                raise Invalid(where, f"must be nested at most {MAX_DEPTH} deep")
            waiting.extend((item, depth + 1) for item in _inside(inner))


def _inside(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> list[Any]:
    return [*value.keys(), *value.values()] if isinstance(value, Mapping) else list(value)
