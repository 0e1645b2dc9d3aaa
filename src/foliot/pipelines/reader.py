"""The inside of a process that reads what strangers wrote: it may hold only so much memory."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

MOST_MEMORY = 2 * 1024 * 1024 * 1024
"""Bytes that one reader may hold."""


def read(module: str, function: str, parameters: Mapping[str, Any], body: bytes = b"") -> Any:
    """Call a function at the top of a module; a transform that is loaded has asked for it by itself.

    No bytes do not come over at all.
    """
    bound_memory()
    made: Any = importlib.import_module(module)
    for part in function.split("."):
        made = getattr(made, part)
    return made(body=body, **parameters)


@cache
def bound_memory() -> None:
    """No page takes all the memory there is. Once for each process."""
    try:
        import resource
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
