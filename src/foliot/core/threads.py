"""Two bounded thread pools, one for requests and one for work: whatever hangs in one, the other goes on."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most `size` threads of the process, each started when it is first needed."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=f"foliot-{name}")

    async def run(self, function: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """As `asyncio.to_thread` does, in a pool of our own: everybody shares the loop's."""
        copied = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: copied.run(function, *given, **named))


REQUESTS = Threads("request", 4)
"""For what somebody waits for: pictures of time, searches in logs, checks of long bodies."""
WORK = Threads("work", 8)
"""For what runs do, and for files that may lie on a disk which does not answer."""
