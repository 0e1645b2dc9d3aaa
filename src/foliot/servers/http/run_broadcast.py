"""Fan-out of a run's events: one reader per run, so that an event is read and rendered once for all streams.

The parameter `state` of lists of runs, with `status` as its older name.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import structlog
from fastapi import Depends, Query

from foliot.core.access import Caller
from foliot.core.errors import Invalid, NotFound, Unavailable
from foliot.engine.model.run import Event, RunState
from foliot.engine.model.views import RunView
from foliot.wakeups.feed import Feed, run_topic

_State = Annotated[str | None, Query(max_length=200, description="One state, or several separated by commas.")]
_Status = Annotated[str | None, Query(max_length=200, description="The older name of `state`.", deprecated=True)]


async def run_states(state: _State = None, status: _Status = None) -> str | None:
    """The requested states, separated by commas; `Invalid` where the two names disagree."""
    wanted, older = _states("state", state), _states("status", status)
    if wanted is not None and older is not None and set(wanted.split(",")) != set(older.split(",")):
        raise Invalid("status", "is the older name of 'state' and must not differ from it", got=older)
    return wanted or older


States = Annotated[str | None, Depends(run_states)]


def _states(name: str, text: str | None) -> str | None:
    if not text:
        return None
    for state in text.split(","):
        if state not in set(RunState):
            raise Invalid(name, f"must be one or more of {', '.join(RunState)}", got=state)
    return text


BATCH = 500
KEPT = 1000
"""Events that are buffered; a stream that is further behind reads from the database until it has caught up."""
HEAVY = 1024 * 1024
"""Bytes at hand."""
LOOK = 1.0
"""Seconds between two reads without a wake-up: how long a lost one can delay an event."""
EASE = 0.0001
"""Seconds between two reads, per open stream: a thousand streams are served ten times a second."""
LONGEST_EASE = 0.1

Ease = Callable[[], float]

log = structlog.get_logger("foliot.rest")


@dataclass(frozen=True, slots=True)
class EventView:
    """How the events of a run are rendered for streams."""

    name: str
    """Streams of the same run and view share one broadcast."""
    frame: Callable[[Event], bytes]
    """Renders an event as bytes; empty for one that this view leaves out."""
    end: Callable[[RunView], bytes]
    """The final event of the stream, after the run has ended."""


class EventReader(Protocol):
    """Reads the events of a run; a port, because a server imports no feature."""

    @property
    def backlog(self) -> BacklogTurns: ...

    async def events(self, caller: Caller, run_id: str, after: int, limit: int) -> tuple[RunView, Sequence[Event]]: ...


class BacklogTurns(Protocol):
    """Serialises the reads of streams that are behind."""

    def turn(self, *, needed: bool = True) -> AbstractAsyncContextManager[None]: ...


@dataclass(slots=True)
class Broadcast:
    """A buffer of the newest events of one run, as bytes. Events are numbered without gaps: a number is an offset."""

    reader: EventReader
    feed: Feed
    caller: Caller
    """The first stream's caller: all others may read this run too, as the same tenant."""
    run_id: str
    seq: int
    """The last event that was read."""
    ease: Ease
    view: EventView
    followers: int = 0
    ended: RunView | None = None
    failed: str | None = None
    """Why no more events will come, as a message for clients."""
    _floor: int = field(init=False)
    """The buffer holds every event read after this one."""
    _seqs: list[int] = field(default_factory=list)
    _frames: list[bytes] = field(default_factory=list)
    _weight: int = 0
    _behind: bool = False
    """Whether the last read reached its limit, so that there are more events."""
    _joined: tuple[int, int, bytes] = (-1, -1, b"")
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._floor = self.seq

    def after(self, seq: int) -> tuple[int, bytes] | None:
        """The last number and all events after `seq`; None when they are no longer buffered."""
        if seq >= self.seq:
            return seq, b""
        if seq < self._floor:
            return None
        if self._joined[:2] != (seq, self.seq):
            # Most streams are at the same event.
            self._joined = seq, self.seq, b"".join(self._frames[bisect_right(self._seqs, seq) :])
        return self.seq, self._joined[2]

    @property
    def moved(self) -> asyncio.Event:
        """Set when there are new events; get it before you check, or a wake-up is lost."""
        return self._moved

    def ring(self) -> None:
        """Wake all streams."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def read(self) -> None:
        """Read until the run ends or this task is cancelled."""
        try:
            # Subscribe first, then read: an event in between wakes us.
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
            self.failed = "the events could not be read; reconnect with Last-Event-ID"
        self.ring()

    async def _read_once(self) -> float:
        """Read one batch; returns how long to sleep."""
        async with self.reader.backlog.turn(needed=self._behind):
            try:
                # Shielded: cancellation in the middle of a query would invalidate the database connection.
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
        rendered = [(event.seq, frame) for event in events if (frame := self.view.frame(event))]
        self._seqs += [seq for seq, _ in rendered]
        self._frames += [frame for _, frame in rendered]
        self._weight += sum(len(frame) for _, frame in rendered)
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
    """The broadcasts of one app, by run and view."""

    stopping: asyncio.Event
    ease: Ease
    reader: Callable[[], EventReader]
    _of: dict[tuple[str, str, str], tuple[Broadcast, Sequence[asyncio.Task[Any]]]] = field(default_factory=dict)

    @asynccontextmanager
    async def join(self, feed: Feed, caller: Caller, run: RunView, view: EventView) -> AsyncIterator[Broadcast]:
        """Join a broadcast for the length of the block; the last stream that leaves stops the reader."""
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
    """Seconds between two reads when this many streams are open."""
    return min(streams * EASE, LONGEST_EASE)
