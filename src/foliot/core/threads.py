"""Two bounded thread pools, one for requests and one for work, so that blocked threads of one do not stop the other."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most `size` threads, each started when it is first needed."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=f"foliot-{name}")

    async def run(self, function: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """Like `asyncio.to_thread`, but in a pool of our own: the loop's default pool is shared by every library."""
        copied = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: copied.run(function, *given, **named))


REQUESTS = Threads("request", 4)
"""For requests with a waiting client: timelines, log searches, checks of long bodies."""
WORK = Threads("work", 8)
"""For actions, and for files on disks that may not respond."""
