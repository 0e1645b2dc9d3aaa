"""Wake-ups inside one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foliot.wakeups.feed import Reach


class MemoryWaiter:
    """Remembers a wake-up until it is waited for."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, timeout: float) -> bool:
        try:
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class MemoryFeed:
    """Wakes the subscribers of this process."""

    def __init__(self) -> None:
        self._waiters: defaultdict[str, set[MemoryWaiter]] = defaultdict(set)

    async def start(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to close."""

    def reach(self) -> Reach:
        return Reach("memory", connected=True)

    def wake(self, *topics: str) -> None:
        for topic in topics:
            for waiter in self._waiters.get(topic, ()):
                waiter.wake()

    def wake_everyone(self) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    @asynccontextmanager
    async def listen(self, *topics: str) -> AsyncIterator[MemoryWaiter]:
        waiter = MemoryWaiter()
        for topic in topics:
            self._waiters[topic].add(waiter)
        try:
            yield waiter
        finally:
            for topic in topics:
                self._waiters[topic].discard(waiter)
                if not self._waiters[topic]:
                    del self._waiters[topic]
