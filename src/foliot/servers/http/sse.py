"""Server-sent events of one run: the same numbered sequence as the JSON answer, told as it grows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from foliot.auth.identity_port import Identity
from foliot.commands.limits import Limiter
from foliot.commands.use_cases import UseCases
from foliot.core.access import Caller
from foliot.core.errors import TooMany, Unavailable
from foliot.engine.model.views import RunView
from foliot.servers.http.run_broadcast import Broadcasts, EventReader, EventView, read_interval

BATCH = 500
KEEP_ALIVE = 15.0
LOOK = 1.0
"""How often a reader is looked after when nothing happens."""
RECHECK = 1.0
"""How often it is asked whether the reader still counts."""
MOST = 1000
"""Streams of one process."""

_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@dataclass(slots=True)
class OpenStreams:
    """The open streams of one app, and the word that ends them all."""

    reader: Callable[[], EventReader]
    """Reads the events of runs; asked for when the first one is followed."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0
    of: Counter[str] = field(default_factory=Counter)
    """How many each tenant has open."""
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
    """A run, the number of the last event that its reader has seen, and how it is told."""

    run: RunView
    after: int
    view: EventView


@dataclass(frozen=True, slots=True)
class StreamReader:
    """Who reads, and whom to ask whether they still may. Local mode asks nobody."""

    identity: Identity | None
    caller: Caller

    async def counts(self) -> bool:
        return self.identity is None or await self.identity.still(self.caller)


async def room(app: FastAPI, cases: UseCases, caller: Caller) -> OpenStreams:
    """The streams of this app; `TooMany` when there is no room for one more of this tenant's."""
    streams: OpenStreams = app.state.streams
    limits = await cases[Limiter].of(caller.tenant_id)
    cases[Limiter].stream(limits, streams.of[caller.tenant_id])
    if streams.open >= MOST:
        raise TooMany(f"this process has {MOST} streams open", retry_after=5)
    return streams


async def follow(
    app: FastAPI, cases: UseCases, caller: Caller, followed: FollowedEvents, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """A stream of what comes after a number. Whether there is such a run was asked before."""
    streams = await room(app, cases, caller)
    told = _told(streams, cases, StreamReader(app.state.identity, caller), followed)
    return CountedStream(told, streams, caller.tenant_id, headers={**_HEADERS, **(headers or {})})


@dataclass(frozen=True, slots=True)
class DownloadName:
    """What a download is, and what its file is called."""

    media_type: str
    name: str


async def download(
    app: FastAPI, cases: UseCases, caller: Caller, told: AsyncIterator[bytes], named: DownloadName
) -> StreamingResponse:
    """Something long that ends by itself, for which its reader may take its time."""
    streams = await room(app, cases, caller)
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{named.name}"'}
    return CountedStream(told, streams, caller.tenant_id, headers=headers, media_type=named.media_type)


async def _told(
    streams: OpenStreams, cases: UseCases, reader: StreamReader, followed: FollowedEvents
) -> AsyncIterator[bytes]:
    clock, run, after, view = cases[Limiter].clock, followed.run, followed.after, followed.view
    spoken = asked = clock.monotonic()
    async with streams.broadcasts.join(cases.feed, reader.caller, run, view) as broadcast:
        while not streams.stopping.is_set():
            if clock.monotonic() - asked >= RECHECK:
                asked = clock.monotonic()
                if not await reader.counts():
                    yield b": what you showed no longer counts; come back with something that does\n\n"
                    return
            moved = broadcast.moved
            last, told = broadcast.after(after) or await read_behind(streams, reader.caller, followed, after)
            if told:
                after, spoken = last, clock.monotonic()
                yield told
                continue
            if last > after:
                # Nothing of it is for this view.
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
    """What the broadcast has no longer at hand, for the one who is that far behind."""
    events_of = streams.reader()
    async with events_of.backlog.turn():
        try:
            # A reader that leaves in the middle must not take the store's connection along.
            _, events = await asyncio.shield(events_of.events(caller, followed.run.id, after, BATCH))
        except Unavailable:
            return after, b""
        return (events[-1].seq, b"".join(map(followed.view.frame, events))) if events else (after, b"")


async def rest(moved: asyncio.Event) -> None:
    """Until something is new, but not for long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK):
            await moved.wait()
