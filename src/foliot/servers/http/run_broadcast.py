"""One reader per followed run: an event is read and rendered once, however many follow."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from foliot.core.access import Caller
from foliot.core.errors import NotFound, Unavailable
from foliot.engine.model.event import Event
from foliot.engine.model.views import RunView
from foliot.wakeups.feed import Feed, run_topic

BATCH = 500
KEPT = 1000
"""Events at hand; whoever is further behind reads the store until it has caught up."""
HEAVY = 1024 * 1024
"""Bytes at hand."""
LOOK = 1.0
"""How long a lost wake-up can delay an event."""
EASE = 0.0001
"""Seconds between two readings for each open stream: a thousand followers are told ten times a second."""
LONGEST_EASE = 0.1

Ease = Callable[[], float]

log = structlog.get_logger("foliot.rest")


@dataclass(frozen=True, slots=True)
class EventView:
    """How a run is told to those who follow it."""

    name: str
    """Runs told under the same name are told in the same words."""
    frame: Callable[[Event], bytes]
    """An event on the wire; nothing for one that this view leaves out."""
    end: Callable[[RunView], bytes]
    """The last word, once the run has ended."""


class EventReader(Protocol):
    """Reads the events of a run. The use case that does is handed in: a server knows no feature."""

    @property
    def backlog(self) -> BacklogTurns: ...

    async def events(self, caller: Caller, run_id: str, after: int, limit: int) -> tuple[RunView, Sequence[Event]]: ...


class BacklogTurns(Protocol):
    """Lets readers who are behind read one after the other."""

    def turn(self, *, needed: bool = True) -> AbstractAsyncContextManager[None]: ...


@dataclass(slots=True)
class Broadcast:
    """The newest events of one run, as bytes. Events are numbered without gaps, so a number is a place."""

    reader: EventReader
    feed: Feed
    caller: Caller
    """Whoever came first: everybody who follows may read this run, and reads it as the same tenant."""
    run_id: str
    seq: int
    """The last event that was read."""
    ease: Ease
    view: EventView
    followers: int = 0
    ended: RunView | None = None
    failed: str | None = None
    """Why there will be no more, in words for those who follow."""
    _floor: int = field(init=False)
    """Everything after this event, as far as it was read, is at hand."""
    _seqs: list[int] = field(default_factory=list)
    _frames: list[bytes] = field(default_factory=list)
    _weight: int = 0
    _behind: bool = False
    """There is more than the last reading brought."""
    _joined: tuple[int, int, bytes] = (-1, -1, b"")
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._floor = self.seq

    def after(self, seq: int) -> tuple[int, bytes] | None:
        """The last number and all events after that one; None when they are no longer at hand."""
        if seq >= self.seq:
            return seq, b""
        if seq < self._floor:
            return None
        if self._joined[:2] != (seq, self.seq):
            # Most followers are at the same place.
            self._joined = seq, self.seq, b"".join(self._frames[bisect_right(self._seqs, seq) :])
        return self.seq, self._joined[2]

    @property
    def moved(self) -> asyncio.Event:
        """Set when something is new; take it before you look."""
        return self._moved

    def ring(self) -> None:
        """Let everybody look."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def read(self) -> None:
        """Read until the run ends or this task is cancelled."""
        try:
            # Listen first, then read: what happens in between wakes us.
            async with self.feed.listen(run_topic(self.run_id)) as waiter:
                while self.ended is None:
                    rest = await self._read_once()
                    if rest > 0:
                        await waiter.wait(rest)
                        await asyncio.sleep(self.ease())
        except NotFound:
            self.failed = "the run is gone"
        except Exception:
            log.exception("events could not be read", action="broadcast_failed", run_id=self.run_id)
            self.failed = "the events could not be read; come back with Last-Event-ID"
        self.ring()

    async def _read_once(self) -> float:
        """How long to rest after it."""
        async with self.reader.backlog.turn(needed=self._behind):
            try:
                # Whoever stops us in the middle must not take the store's connection along.
                reading = self.reader.events(self.caller, self.run_id, self.seq, BATCH)
                run, events = await asyncio.shield(reading)
            except Unavailable:
                return LOOK
            if events:
                self._keep(events)
                self.ring()
        self._behind = bool(events) and self.seq < run.event_seq
        if run.state.final and not self._behind:
            self.ended = run
        return 0.0 if self._behind or self.ended else LOOK

    def _keep(self, events: Sequence[Event]) -> None:
        told = [(event.seq, made) for event in events if (made := self.view.frame(event))]
        self._seqs += [seq for seq, _ in told]
        self._frames += [made for _, made in told]
        self._weight += sum(len(made) for _, made in told)
        self.seq = events[-1].seq
        drop = max(0, len(self._frames) - KEPT)
        self._weight -= sum(map(len, self._frames[:drop]))
        while self._weight > HEAVY:
            self._weight -= len(self._frames[drop])
            drop += 1
        if drop:
            self._floor = self._seqs[drop - 1]
        del self._seqs[:drop], self._frames[:drop]


@dataclass(slots=True)
class Broadcasts:
    """The followed runs of one app."""

    stopping: asyncio.Event
    ease: Ease
    reader: Callable[[], EventReader]
    _of: dict[tuple[str, str, str], tuple[Broadcast, Sequence[asyncio.Task[Any]]]] = field(default_factory=dict)

    @asynccontextmanager
    async def join(self, feed: Feed, caller: Caller, run: RunView, view: EventView) -> AsyncIterator[Broadcast]:
        """Follow as long as the block lasts; the last one to leave ends the reading."""
        key = caller.tenant_id, run.id, view.name
        if key not in self._of:
            made = Broadcast(self.reader(), feed, caller, run.id, max(0, run.event_seq - KEPT), self.ease, view)
            stopped = asyncio.create_task(self.stopping.wait())
            stopped.add_done_callback(lambda _: made.ring())
            self._of[key] = made, [asyncio.create_task(made.read(), name=f"foliot-broadcast-{run.id}"), stopped]
        broadcast, tasks = self._of[key]
        broadcast.followers += 1
        try:
            yield broadcast
        finally:
            broadcast.followers -= 1
            if not broadcast.followers:
                del self._of[key]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


def read_interval(streams: int) -> float:
    """How long readings are apart when so many streams are open."""
    return min(streams * EASE, LONGEST_EASE)
