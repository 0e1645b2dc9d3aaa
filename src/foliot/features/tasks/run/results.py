"""A task's result as JSON, bounded."""

from __future__ import annotations

from typing import Any

import orjson

from foliot.core import jsonable

LARGEST = 256 * 1024
"""Bytes of JSON that are kept of a result."""
SHOWN = 2048
"""Of a larger one, so many characters of its beginning."""


class Unwritable(Exception):
    """The result cannot be written as JSON."""


def plain(result: Any) -> Any:
    """The result as plain JSON; of one that is too large, its size and its beginning."""
    try:
        text = jsonable.dumps(result)
    except (TypeError, ValueError) as error:
        raise Unwritable(f"what the task returned cannot be written as JSON: {error}") from None
    if len(text) > LARGEST:
        return {"truncated": True, "bytes": len(text), "start": text[:SHOWN].decode(errors="ignore")}
    return orjson.loads(text.replace(b"\\u0000", b"\\ufffd"))


def is_cut(made: Any) -> bool:
    return isinstance(made, dict) and made.get("truncated") is True and "bytes" in made
