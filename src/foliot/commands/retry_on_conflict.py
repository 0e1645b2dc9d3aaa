"""Asks once more when the database undid a transaction to let another one through."""

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
"""Seconds after which whoever still stands in the way has the last word."""


def again(ask: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The same request anew: nothing of the first had happened. Whoever stood in the way is through by then."""

    @wraps(ask)
    async def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        for _ in range(TRIES - 1):
            try:
                return await ask(*args, **kwargs)
            except Contended:
                if loop.time() >= until:
                    raise
        return await ask(*args, **kwargs)

    return asked
