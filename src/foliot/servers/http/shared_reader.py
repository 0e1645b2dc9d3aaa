"""Fan-out of watched values: a value that many WebSockets watch is read once for all of them, at a bounded rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import structlog

from foliot.core.errors import NotFound, Unavailable
from foliot.wakeups.feed import Feed

GAP = 0.5
"""Seconds between two reads at least: a client gets at most two updates a second."""
LOOK = 1.0
"""Seconds between two reads without a wake-up: how long a lost one can delay an update."""
SHARE = 20
"""The pause after a read, in multiples of the time it took."""

log = structlog.get_logger("foliot.rest")


@dataclass(frozen=True, slots=True)
class WatchedValue:
    """The result of one read."""

    mark: object
    """Clients are sent an update when this differs from the previous read."""
    data: Any = None
    """The value for clients; JSON."""
    over: bool = False
    """Whether the value is final."""


@dataclass(frozen=True, slots=True)
class WatchedTopic:
    """A value that can be watched."""

    name: tuple[str, ...]
    """The key of the reader: tenant and topic."""
    look: Callable[[], Awaitable[WatchedValue]]
    topics: Sequence[str] = ()
    """Topics of the feed: a wake-up means that the value may have changed."""
    rest: float = LOOK
    """Seconds between two reads without a wake-up."""


@dataclass(slots=True)
class SharedReader:
    """The reader of one watched value."""

    sight: WatchedTopic
    feed: Feed
    stopping: asyncio.Event
    followers: int = 0
    seq: int = 0
    """The number of changes; 0 before the first read."""
    seen: WatchedValue | None = None
    gone: bool = False
    """The value does not exist, or no longer."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def moved(self) -> asyncio.Event:
        """Set when there is an update; get it before you check, or a wake-up is lost."""
        return self._moved

    @property
    def over(self) -> bool:
        return self.gone or (self.seen is not None and self.seen.over)

    async def watch(self) -> None:
        """Read until the value is final or this task is cancelled."""
        loop = asyncio.get_running_loop()
        # Subscribe first, then read: a change in between wakes us.
        async with self.feed.listen(*self.sight.topics) as waiter:
            while not self.over and not self.stopping.is_set():
                began = loop.time()
                await self._look()
                pause = max(GAP, SHARE * (loop.time() - began))
                await self._idle(pause)
                await waiter.wait(max(self.sight.rest - pause, 0.001))

    async def _look(self) -> None:
        try:
            # Shielded: cancellation in the middle of a query would invalidate the database connection.
            seen = await asyncio.shield(self.sight.look())
        except Unavailable:
            return
        except NotFound:
            self.gone = True
            self._ring()
            return
        except Exception:
            log.exception("a sight could not be read", action="sight_failed", sight=self.sight.name[-1])
            return
        if self.seen is None or seen.mark != self.seen.mark:
            self.seq += 1
            self.seen = seen
            self._ring()

    async def _idle(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stopping.wait()

    def _ring(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


@dataclass(slots=True)
class SharedReaders:
    """The readers of one app, by tenant and topic."""

    stopping: asyncio.Event
    _of: dict[tuple[str, ...], tuple[SharedReader, asyncio.Task[None]]] = field(default_factory=dict)

    @asynccontextmanager
    async def join(self, feed: Feed, sight: WatchedTopic) -> AsyncIterator[SharedReader]:
        """Join a reader for the length of the block; the last client that leaves stops it."""
        if sight.name not in self._of:
            reader = SharedReader(sight, feed, self.stopping)
            self._of[sight.name] = reader, asyncio.create_task(reader.watch(), name=f"foliot-pulse-{sight.name[-1]}")
        pulse, task = self._of[sight.name]
        pulse.followers += 1
        try:
            yield pulse
        finally:
            pulse.followers -= 1
            if not pulse.followers:
                del self._of[sight.name]
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
