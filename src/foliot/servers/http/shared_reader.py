"""One look for everybody: whatever many sockets watch is read once for all of them, and not too often."""

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
"""Seconds between two looks at least: nobody is told anything more often than twice a second."""
LOOK = 1.0
"""How long a lost wake-up can hide news."""
SHARE = 20
"""A look that took long is not repeated before this many times as long has passed."""

log = structlog.get_logger("foliot.rest")


@dataclass(frozen=True, slots=True)
class WatchedValue:
    """What a look saw."""

    mark: object
    """News is whatever makes this differ."""
    data: Any = None
    """What those who watch are told; JSON."""
    over: bool = False
    """Nothing will change any more."""


@dataclass(frozen=True, slots=True)
class WatchedTopic:
    """Something that can be watched."""

    name: tuple[str, ...]
    """Whose it is, and what."""
    look: Callable[[], Awaitable[WatchedValue]]
    topics: Sequence[str] = ()
    """Of the feed: a wake means that it may have changed."""
    rest: float = LOOK
    """Seconds between two looks when nobody wakes."""


@dataclass(slots=True)
class SharedReader:
    """One sight that somebody watches."""

    sight: WatchedTopic
    feed: Feed
    stopping: asyncio.Event
    followers: int = 0
    seq: int = 0
    """How often it changed; 0 until it was first seen."""
    seen: WatchedValue | None = None
    gone: bool = False
    """There is no such thing, or no longer."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def moved(self) -> asyncio.Event:
        """Set when something is new; take it before you look."""
        return self._moved

    @property
    def over(self) -> bool:
        return self.gone or (self.seen is not None and self.seen.over)

    async def watch(self) -> None:
        """Look until it is over or this task is cancelled."""
        loop = asyncio.get_running_loop()
        # Listen first, then look: what happens in between wakes us.
        async with self.feed.listen(*self.sight.topics) as waiter:
            while not self.over and not self.stopping.is_set():
                began = loop.time()
                await self._look()
                pause = max(GAP, SHARE * (loop.time() - began))
                await self._idle(pause)
                await waiter.wait(max(self.sight.rest - pause, 0.001))

    async def _look(self) -> None:
        try:
            # Whoever stops us in the middle must not take the store's connection along.
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
    """Whatever the sockets of one app watch."""

    stopping: asyncio.Event
    _of: dict[tuple[str, ...], tuple[SharedReader, asyncio.Task[None]]] = field(default_factory=dict)

    @asynccontextmanager
    async def join(self, feed: Feed, sight: WatchedTopic) -> AsyncIterator[SharedReader]:
        """Watch as long as the block lasts; the last one to leave ends the looking."""
        if sight.name not in self._of:
            made = SharedReader(sight, feed, self.stopping)
            self._of[sight.name] = made, asyncio.create_task(made.watch(), name=f"foliot-pulse-{sight.name[-1]}")
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
