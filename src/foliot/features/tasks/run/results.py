"""Serialises a task's result as JSON of bounded size."""

from __future__ import annotations

from typing import Any

import orjson

from foliot.core import jsonable

LARGEST = 256 * 1024
"""Bytes of JSON that are stored of a result."""
SHOWN = 2048
"""Characters that are stored of the beginning of a larger one."""


class Unwritable(Exception):
    """The result cannot be serialised as JSON."""


def plain(result: Any) -> Any:
    """The result as plain JSON; for one that is too large, its size and its beginning."""
    try:
        text = jsonable.dumps(result)
    except (TypeError, ValueError) as error:
        raise Unwritable(f"what the task returned cannot be written as JSON: {error}") from None
    if len(text) > LARGEST:
        return {"truncated": True, "bytes": len(text), "start": text[:SHOWN].decode(errors="ignore")}
    return orjson.loads(text.replace(b"\\u0000", b"\\ufffd"))


def is_cut(made: Any) -> bool:
    return isinstance(made, dict) and made.get("truncated") is True and "bytes" in made
