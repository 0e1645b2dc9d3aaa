"""Server-sent events of one run: the same numbered sequence as the JSON answer, sent as it grows.

Fan-out of watched values: a value that many WebSockets watch is read once for all of them, at a bounded rate.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from foliot.auth.identity import Identity
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.core.access import Caller
from foliot.core.errors import NotFound, TooMany, Unavailable
from foliot.engine.model.views import RunView
from foliot.servers.http.run_broadcast import Broadcasts, EventReader, EventView, read_interval
from foliot.wakeups.feed import Feed

BATCH = 500
KEEP_ALIVE = 15.0
LOOK = 1.0
"""Seconds after which an idle stream checks its client, without an event."""
RECHECK = 1.0
"""Seconds between two checks that the client's credential is still valid."""
MOST = 1000
"""Open streams of one process at most."""

_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@dataclass(slots=True)
class OpenStreams:
    """The open streams of one app, and the event that ends them all."""

    reader: Callable[[], EventReader]
    """Returns the reader of runs' events; called when the first stream opens."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0
    of: Counter[str] = field(default_factory=Counter)
    """Open streams by tenant."""
    broadcasts: Broadcasts = field(init=False)

    def __post_init__(self) -> None:
        self.broadcasts = Broadcasts(self.stopping, lambda: read_interval(self.open), self.reader)

    @contextmanager
    def counted(self, tenant_id: str) -> Iterator[None]:
        self.open += 1
        self.of[tenant_id] += 1
        try:
            yield
        finally:
            self.open -= 1
            self.of[tenant_id] -= 1
            if not self.of[tenant_id]:
                del self.of[tenant_id]


class CountedStream(StreamingResponse):
    """A stream that counts for its tenant from before its first byte until it ends, however it ends."""

    def __init__(
        self,
        told: AsyncIterator[bytes],
        streams: OpenStreams,
        tenant_id: str,
        *,
        headers: Mapping[str, str] = _HEADERS,
        media_type: str = "text/event-stream",
    ) -> None:
        super().__init__(told, headers=headers, media_type=media_type)
        self.streams, self.tenant_id = streams, tenant_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.streams.counted(self.tenant_id):
            await super().__call__(scope, receive, send)


@dataclass(frozen=True, slots=True)
class FollowedEvents:
    """A run, the number of the last event that the client has, and how events are rendered."""

    run: RunView
    after: int
    view: EventView


@dataclass(frozen=True, slots=True)
class StreamReader:
    """The client of a stream, and the check that its credential is still valid; local mode has none."""

    identity: Identity | None
    caller: Caller

    async def counts(self) -> bool:
        return self.identity is None or await self.identity.still(self.caller)


async def room(app: FastAPI, cases: UseCases, caller: Caller) -> OpenStreams:
    """The streams of this app; `TooMany` at the limit of the process or of the tenant."""
    streams: OpenStreams = app.state.streams
    limits = await cases[Limiter].of(caller.tenant_id)
    cases[Limiter].stream(limits, streams.of[caller.tenant_id])
    if streams.open >= MOST:
        raise TooMany(f"this process has {MOST} streams open", retry_after=5)
    return streams


async def follow(
    app: FastAPI, cases: UseCases, caller: Caller, followed: FollowedEvents, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """A stream of the events after a number. The caller has checked that the run exists."""
    streams = await room(app, cases, caller)
    frames = _told(streams, cases, StreamReader(app.state.identity, caller), followed)
    return CountedStream(frames, streams, caller.tenant_id, headers={**_HEADERS, **(headers or {})})


@dataclass(frozen=True, slots=True)
class DownloadName:
    """The media type and the file name of a download."""

    media_type: str
    name: str


async def download(
    app: FastAPI, cases: UseCases, caller: Caller, told: AsyncIterator[bytes], named: DownloadName
) -> StreamingResponse:
    """A streamed download; it counts as one of the tenant's streams."""
    streams = await room(app, cases, caller)
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{named.name}"'}
    return CountedStream(told, streams, caller.tenant_id, headers=headers, media_type=named.media_type)


async def _told(
    streams: OpenStreams, cases: UseCases, reader: StreamReader, followed: FollowedEvents
) -> AsyncIterator[bytes]:
    clock, run, after, view = cases[Limiter].clock, followed.run, followed.after, followed.view
    spoken = checked = clock.monotonic()
    async with streams.broadcasts.join(cases.feed, reader.caller, run, view) as broadcast:
        while not streams.stopping.is_set():
            if clock.monotonic() - checked >= RECHECK:
                checked = clock.monotonic()
                if not await reader.counts():
                    yield b": your credential is no longer valid; reconnect with a valid one\n\n"
                    return
            moved = broadcast.moved
            last, frames = broadcast.after(after) or await read_behind(streams, reader.caller, followed, after)
            if frames:
                after, spoken = last, clock.monotonic()
                yield frames
                continue
            if last > after:
                # This view leaves out all of these events.
                after = last
                continue
            if broadcast.failed is not None:
                yield b": %s\n\n" % broadcast.failed.encode()
                return
            if broadcast.ended is not None and after >= broadcast.seq:
                yield view.end(broadcast.ended)
                return
            await rest(moved)
            if clock.monotonic() - spoken >= KEEP_ALIVE:
                spoken = clock.monotonic()
                yield b": keep-alive\n\n"
        yield b": the server is stopping; come back with Last-Event-ID\n\n"


async def read_behind(streams: OpenStreams, caller: Caller, followed: FollowedEvents, after: int) -> tuple[int, bytes]:
    """Read the events that the broadcast no longer buffers, for a stream that is behind."""
    events_of = streams.reader()
    async with events_of.backlog.turn():
        try:
            # Shielded: a client's disconnect in the middle of a query would invalidate the database connection.
            _, events = await asyncio.shield(events_of.events(caller, followed.run.id, after, BATCH))
        except Unavailable:
            return after, b""
        return (events[-1].seq, b"".join(map(followed.view.frame, events))) if events else (after, b"")


async def rest(moved: asyncio.Event) -> None:
    """Wait for new events, but no longer than `LOOK`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK):
            await moved.wait()


GAP = 0.5
"""Seconds between two reads at least: a client gets at most two updates a second."""
READ_AGAIN = 1.0
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
    rest: float = READ_AGAIN
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
            log.exception("an event source could not be read", action="sight_failed", sight=self.sight.name[-1])
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
