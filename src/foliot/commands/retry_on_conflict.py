"""Runs a transaction again after a deadlock, a serialization failure or a lock timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from foliot.core.errors import Contended

P = ParamSpec("P")
T = TypeVar("T")

TRIES = 20
PATIENCE = 10.0
"""Seconds after which a conflict is raised instead of retried."""


def again(ask: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Retry after `Contended`: the first try was rolled back, and the other transaction has ended by then."""

    @wraps(ask)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        for _ in range(TRIES - 1):
            try:
                return await ask(*args, **kwargs)
            except Contended:
                if loop.time() >= until:
                    raise
        return await ask(*args, **kwargs)

    return wrapper
