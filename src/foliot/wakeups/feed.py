"""The port for wake-ups: topics, and waiting for them; and wake-ups inside one process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol


class Waiter:
    """A subscription; remembers a wake-up until it is waited for."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, timeout: float) -> bool:
        """True when woken, False on timeout. A wake-up that came before is not lost."""
        try:
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


@dataclass(frozen=True, slots=True)
class FeedReach:
    """How far the wake-ups of this process reach."""

    kind: str
    """memory (no further than this process), postgresql or redis."""
    connected: bool
    error: str | None = None


class Feed(Protocol):
    """Publishes and subscribes to wake-ups. Losing them costs latency, never data."""

    def wake(self, *topics: str) -> None:
        """Cheap, and never inside a transaction: the receiver must find what was written."""
        ...

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Waiter]: ...


class LivingFeed(Feed, Protocol):
    """A feed with a connection that is opened and closed; without it, it works inside this process."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def reach(self) -> FeedReach: ...


SCHEDULES_TOPIC = "schedules"


RUNS_TOPIC = "runs"


TURNS_TOPIC = "turns"
"""A request of this process waits for its host's turn, or has ended."""


QUEUES_TOPIC = "queues"
"""A queue was paused or resumed."""


ENDINGS_TOPIC = "endings"


PARKED_TOPIC = "parked"
"""A parked run should be checked sooner than planned."""


SLOTS_TOPIC = "slots"
"""A worker without free slots has one again."""


STOP_TOPIC = "stop:"


LINES_TOPIC = "lines"
"""A run waits until its log lines are written (back-pressure)."""


REPORT_TOPIC = "report"
"""The report of this process has changed."""


ARTICLES_TOPIC = "articles"
"""There may be articles to claim."""


PAGES_TOPIC = "pages"
"""Fetched pages wait to be recorded."""


LOCAL_TOPICS = (ENDINGS_TOPIC, SLOTS_TOPIC, STOP_TOPIC, PAGES_TOPIC, LINES_TOPIC, REPORT_TOPIC, TURNS_TOPIC)
"""Prefixes of topics that concern this process only."""


def run_topic(run_id: str) -> str:
    """Followers of one run."""
    return f"run:{run_id}"


def node_topic(node_id: str) -> str:
    """One process, when an operator sent a request to it."""
    return f"node:{node_id}"


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
