"""Server-sent events of one run: the same numbered sequence as the JSON answer, told as it grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from foliot.domain.access import Caller
from foliot.domain.errors import TooMany
from foliot.domain.event import Event
from foliot.doors.rest import render
from foliot.ports import RunView, Waiter, run_topic
from foliot.usecases import UseCases

BATCH = 500
KEEP_ALIVE = 15.0
LOOK = 1.0
"""How long a lost wake-up can delay an event."""
MOST = 1000
"""Streams of one process."""

_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@dataclass(slots=True)
class Streams:
    """The open streams of one app, and the word that ends them all."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0


def wanted(request: Request) -> bool:
    """Whether the reader prefers a stream; JSON is for everybody else."""
    return "text/event-stream" in request.headers.get("accept", "").lower()


def follow(app: FastAPI, cases: UseCases, caller: Caller, run_id: str, after: int) -> StreamingResponse:
    """A stream of what comes after that number. Whether there is such a run was asked before."""
    streams: Streams = app.state.streams
    if streams.open >= MOST:
        raise TooMany(f"this process has {MOST} streams open", retry_after=5)
    told = _told(streams, cases, caller, run_id, after)
    return StreamingResponse(told, headers=_HEADERS, media_type="text/event-stream")


async def _told(streams: Streams, cases: UseCases, caller: Caller, run_id: str, after: int) -> AsyncIterator[bytes]:
    streams.open += 1
    stopped = asyncio.create_task(streams.stopping.wait())
    clock = cases.health.clock
    spoken = clock.monotonic()
    try:
        # Listen first, then read: what happens in between wakes us.
        async with cases.feed.listen(run_topic(run_id)) as waiter:
            while not streams.stopping.is_set():
                run, events = await cases.runs.events(caller, run_id, after, BATCH)
                if events:
                    after, spoken = events[-1].seq, clock.monotonic()
                    yield b"".join(map(frame, events))
                if after < run.event_seq and events:
                    continue
                if run.state.final:
                    yield _end(run)
                    return
                await _rest(waiter, stopped, LOOK)
                if clock.monotonic() - spoken >= KEEP_ALIVE:
                    spoken = clock.monotonic()
                    yield b": keep-alive\n\n"
            yield b": the server is stopping; come back with Last-Event-ID\n\n"
    finally:
        streams.open -= 1
        stopped.cancel()


async def _rest(waiter: Waiter, stopped: asyncio.Task[Any], longest: float) -> None:
    woken = asyncio.ensure_future(waiter.wait(longest))
    try:
        await asyncio.wait({woken, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        woken.cancel()


def frame(event: Event) -> bytes:
    """One event on the wire. JSON has no raw line breaks, so no content can forge a frame."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.seq,
        event.type.value.encode(),
        render.dumps(render.event(event)),
    )


def _end(run: RunView) -> bytes:
    return b"event: end\ndata: %s\n\n" % render.dumps(
        {"run_id": run.id, "state": run.state.value, "seq": run.event_seq}
    )
