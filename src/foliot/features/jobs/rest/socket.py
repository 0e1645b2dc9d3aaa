"""WebSockets that push the progress of one job, or of all jobs of a tenant.

Messages are read from the database at the reader's own pace: a stalled reader is closed, and no queue grows.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.websockets import WebSocketState

from foliot.auth.identity import Identity
from foliot.commands.envelope import UseCases, permission_of
from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL, Caller, require
from foliot.core.errors import FoliotError, NotFound, Unauthenticated, Unavailable
from foliot.core.ids import RUN, earlier_id
from foliot.engine.model.run import Event, EventType
from foliot.features.jobs.usecases import JobRecord, Jobs
from foliot.features.runs.usecases.runs import Runs
from foliot.features.sessions.usecases import Sessions, Tickets, session_caller
from foliot.servers.http import encode, session_cookie
from foliot.servers.http.permission import MAX_TOKEN, by_bearer
from foliot.servers.http.session_cookie import same_origin
from foliot.servers.http.sse import MOST, OpenStreams, StreamReader
from foliot.wakeups.feed import RUNS_TOPIC, run_topic

router = APIRouter()

BATCH = 500
LOOK = 1.0
"""Seconds between reads without a wake-up (a lost one delays news by no more), and between credential checks."""
STALL = 10.0
"""Seconds that a message may wait for its reader."""
SNAPSHOT = 100
"""Active jobs that `/ws` begins with, and follows at once."""
OVERLAP = 5000
"""Milliseconds by which two queries for the newest jobs overlap."""
OVER = 1000
PERMISSION = permission_of(Jobs.get)

REFUSED, TOO_MANY, TOO_SLOW, GOING_AWAY, GONE = 1008, 1013, 1013, 1001, 4404
_RUN_ID = re.compile(r"run_[0-9a-f]{32}")


@dataclass(slots=True)
class JobPosition:
    """How far one job has been sent."""

    seq: int
    final: bool = False
    behind: bool = False
    """There are more events than were read last."""


@dataclass(slots=True)
class JobSocket:
    """One open connection."""

    socket: WebSocket
    cases: UseCases
    reader: StreamReader
    sent: dict[str, JobPosition] = field(default_factory=dict)

    async def send(self, message: dict[str, Any]) -> None:
        await self.send_text(encode.dumps(message).decode())

    async def send_text(self, text: str) -> None:
        """Send, with a timeout for a reader that stalls."""
        async with asyncio.timeout(STALL):
            await self.socket.send_text(text)

    async def begin(self, job: JobRecord, after: int | None) -> None:
        """Send the job's present status; events after that number, or from now on, follow."""
        run = job.run
        seq = run.event_seq if run is not None and after is None else after or 0
        self.sent[job.id] = JobPosition(seq)
        # A reader that is behind gets the missed events first, and the final status last.
        behind = run is not None and seq < run.event_seq
        await self.send(update(job, seq) | ({"status": job.moving} if behind else {}))

    async def go_on(self, job_id: str) -> bool:
        """Send a job's new events; true when there are more to send at once."""
        known = self.sent[job_id]
        caller = self.reader.caller
        async with self.cases[Runs].backlog.turn(needed=known.behind):
            run, events = await self.cases[Runs].events(caller, job_id, known.seq, BATCH)
        job = await self.cases[Jobs].get(caller, job_id)
        for event in events:
            known.seq = event.seq
            if (message := news(job, event)) is not None:
                await self.send(message)
        more = known.behind = known.seq < run.event_seq
        if run.state.final and not more and not known.final:
            known.final = True
            await self.send(update(job, known.seq))
        return more


Hear = Callable[[JobSocket], Coroutine[Any, Any, None]]


@router.websocket("/ws/jobs/{job_id}")
async def job(socket: WebSocket, job_id: str, after: int | None = None) -> None:
    """One job: its status, each change, and its outcome; then the socket is closed."""
    async with opened(socket) as one:
        if one is None:
            return
        if not _RUN_ID.fullmatch(job_id) or (after is not None and not 0 <= after < 2**53):
            await socket.close(GONE, "no such job")
            return
        try:
            await _follow(one, job_id, after)
        except NotFound:
            await socket.close(GONE, "no such job")


async def _follow(one: JobSocket, job_id: str, after: int | None) -> None:
    # Listen first, then read: an event in between wakes us.
    async with one.cases.feed.listen(run_topic(job_id)) as waiter:
        await one.begin(await one.cases[Jobs].get(one.reader.caller, job_id), after)
        while await still(one):
            with suppress(Unavailable):
                if await one.go_on(job_id):
                    continue
            if one.sent[job_id].final:
                await one.socket.close(1000, "the job has ended")
                return
            await waiter.wait(LOOK)


@router.websocket("/ws")
async def jobs(socket: WebSocket) -> None:
    """All of the tenant's jobs: those that are active now, then every change."""
    async with opened(socket) as one:
        if one is None:
            return
        async with one.cases.feed.listen(RUNS_TOPIC) as waiter:
            looks: JobListPosition | None = None
            while await still(one):
                with suppress(Unavailable):
                    looks = looks or await JobListPosition.first(one)
                    await _tell_all(one, looks)
                await waiter.wait(LOOK / 2)


@dataclass(slots=True)
class JobListPosition:
    """How far the list of all jobs has been sent."""

    newest: str
    over: deque[str] = field(default_factory=lambda: deque(maxlen=OVER))
    """Jobs whose end was sent recently, and is not sent again."""

    @classmethod
    async def first(cls, one: JobSocket) -> JobListPosition:
        """Jobs that ended before the reader connected are not sent."""
        newest, _ = await one.cases[Jobs].list(one.reader.caller, limit=1)
        looks = cls(newest[0].id if newest else f"{RUN}_")
        looks.over += [found.id for found in await looks.made(one) if found.run and found.run.state.final]
        return looks

    async def made(self, one: JobSocket) -> Sequence[JobRecord]:
        """Jobs created since the last query. Clocks differ a little, and a commit takes time: queries overlap."""
        found = await one.cases[Jobs].after(one.reader.caller, earlier_id(self.newest, OVERLAP), SNAPSHOT)
        self.newest = max([self.newest, *(job.id for job in found)])
        return found


async def _tell_all(one: JobSocket, looks: JobListPosition) -> None:
    """Send every change, and the jobs that were created and ended since the last query."""
    active = {found.id: found for found in await one.cases[Jobs].active(one.reader.caller, SNAPSHOT)}
    for found in active.values():
        if found.id not in one.sent:
            await one.begin(found, None)
    for found in await looks.made(one):
        if found.id not in one.sent and found.id not in looks.over:
            await one.begin(found, 0)
    for job_id, known in list(one.sent.items()):
        run = active[job_id].run if job_id in active else None
        if run is not None and run.event_seq == known.seq:
            continue
        try:
            while await one.go_on(job_id):
                pass
        except NotFound:
            known.final = True
        if known.final:
            del one.sent[job_id]
            looks.over.append(job_id)


@asynccontextmanager
async def opened(socket: WebSocket, hear: Hear | None = None) -> AsyncIterator[JobSocket | None]:
    """The connection once the caller is authenticated, None when it was refused; closed in the end in any case.

    Messages of the reader go to `hear`, as long as the connection lasts.
    """
    streams: OpenStreams = socket.app.state.streams
    cases: UseCases = socket.app.state.cases
    try:
        caller = await _identify(socket, cases)
        require(caller, *PERMISSION)
        limits = await cases[Limiter].of(caller.tenant_id)
        cases[Limiter].stream(limits, streams.of[caller.tenant_id])
    except FoliotError as refusal:
        reason = refusal.told if isinstance(refusal, Unavailable) else str(refusal)
        await socket.close(REFUSED, reason[:100])
        yield None
        return
    if streams.open >= MOST:
        await socket.close(TOO_MANY, f"this process has {MOST} streams open")
        yield None
        return
    await socket.accept()
    with streams.counted(caller.tenant_id):
        one = JobSocket(socket, cases, StreamReader(socket.app.state.identity, caller))
        hearing = asyncio.create_task(_hear(one) if hear is None else hear(one))
        try:
            yield one
        except TimeoutError:
            await close(socket, TOO_SLOW, "you read too slowly; reconnect with ?after=")
        except WebSocketDisconnect:
            pass
        except RuntimeError:
            # The reader disconnected while we were sending.
            if socket.client_state is WebSocketState.CONNECTED:
                raise
        finally:
            hearing.cancel()
            await close(socket, GOING_AWAY, "the server is stopping; reconnect with ?after=")


async def close(socket: WebSocket, code: int, reason: str) -> None:
    connected = WebSocketState.CONNECTED
    if socket.application_state is connected and socket.client_state is connected:
        with suppress(RuntimeError, TimeoutError):
            async with asyncio.timeout(1):
                await socket.close(code, reason)


async def _hear(one: JobSocket) -> None:
    """Ignores what the reader sends, and returns when it disconnects."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while (await one.socket.receive())["type"] != "websocket.disconnect":
            pass


async def still(one: JobSocket) -> bool:
    """Whether the reader is connected and its credentials are still valid."""
    streams: OpenStreams = one.socket.app.state.streams
    if streams.stopping.is_set() or one.socket.client_state is not WebSocketState.CONNECTED:
        return False
    if not await one.reader.counts():
        await close(one.socket, REFUSED, "your token or key is no longer valid")
        return False
    return True


async def _identify(socket: WebSocket, cases: UseCases) -> Caller:
    """By `Authorization`, by a ticket, or by the dashboard's cookie; a page of another origin is not authenticated."""
    identity: Identity | None = socket.app.state.identity
    if identity is None:
        return LOCAL
    origin = socket.headers.get("origin")
    if origin is not None and not same_origin(origin, socket.headers.get("host", "")):
        raise Unauthenticated
    shown = socket.headers.getlist("authorization")
    if shown:
        scheme, _, bearer = (shown[0] if len(shown) == 1 else "").partition(" ")
        if scheme.lower() != "bearer" or not 0 < len(bearer) <= MAX_TOKEN:
            raise Unauthenticated
        return await by_bearer(socket, identity, bearer)
    ticket = socket.query_params.get("ticket")
    if ticket is None:
        session = session_cookie.shown(socket)
        # Browsers send `Origin` with a WebSocket handshake; a request without it is not from our page.
        if session is None or origin is None:
            raise Unauthenticated
        return await session_caller(identity, cases[Sessions], session)
    caller = await cases[Tickets].take(ticket)
    if not await identity.still(caller):
        raise Unauthenticated
    return caller


def update(found: JobRecord, seq: int, article_id: str | None = None) -> dict[str, Any]:
    """The message with the status of a job."""
    counts = found.counts
    return {
        "type": "job_update",
        "job_id": found.id,
        "article_id": article_id,
        "status": found.word,
        "completed": None if counts is None else counts.completed,
        "failed": None if counts is None else counts.failed,
        "total": None if counts is None else counts.total,
        "seq": seq,
    }


def news(found: JobRecord, event: Event) -> dict[str, Any] | None:
    """The message for an event; None for one that does not concern the job."""
    data = event.data or {}
    if event.type is EventType.PROGRESS and "article_id" in data:
        counted = {name: data.get(name) for name in ("completed", "failed", "total")}
        # Only the job itself reports its end: until then it is in progress.
        return update(found, event.seq, data["article_id"]) | {"status": found.moving} | counted
    if event.type is EventType.PROGRESS:
        return update(found, event.seq) | {"status": found.moving, "progress": dict(data)}
    return None
