"""Wake-ups inside one process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from foliot.wakeups.feed import FeedReach, Waiter


class MemoryFeed:
    """Wakes the subscribers of this process."""

    def __init__(self) -> None:
        self._waiters: defaultdict[str, set[Waiter]] = defaultdict(set)

    async def start(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to close."""

    def reach(self) -> FeedReach:
        return FeedReach("memory", connected=True)

    def wake(self, *topics: str) -> None:
        for topic in topics:
            for waiter in self._waiters.get(topic, ()):
                waiter.wake()

    def wake_everyone(self) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    @asynccontextmanager
    async def listen(self, *topics: str) -> AsyncIterator[Waiter]:
        waiter = Waiter()
        for topic in topics:
            self._waiters[topic].add(waiter)
        try:
            yield waiter
        finally:
            for topic in topics:
                self._waiters[topic].discard(waiter)
                if not self._waiters[topic]:
                    del self._waiters[topic]
