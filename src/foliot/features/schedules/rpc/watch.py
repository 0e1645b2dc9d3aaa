"""Streams the events of one run: the same numbered sequence as over HTTP, as it grows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from foliot.auth.identity import Identity
from foliot.commands.limits import Limiter
from foliot.core.errors import Invalid, TooMany, Unauthenticated, Unavailable
from foliot.engine.model.views import RunView
from foliot.features.health.usecases import HealthChecks
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rpc import encode
from foliot.features.schedules.rpc.jobs import JobMethods
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import AuthorisedCall, RunningCalls
from foliot.servers.grpc.status import ServerStopping
from foliot.wakeups.feed import run_topic

BATCH = 500
LOOK = 1.0
"""Seconds after which events are read even without a wake-up: a lost one delays an event by no more."""
RECHECK = 1.0
"""How often, in seconds, the caller's credentials are checked again."""
MOST = 1000
"""Open streams per process."""


@dataclass(slots=True)
class WatchStreams:
    """Counts the open streams of the gRPC server, and holds the event that ends them all."""

    of: Counter[str] = field(default_factory=Counter)
    """How many each tenant has open; shared with the other servers of the process."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    open: int = 0

    @contextmanager
    def counted(self, tenant_id: str) -> Iterator[None]:
        if self.open >= MOST:
            raise TooMany(f"this process has {MOST} streams open", retry_after=5)
        self.open += 1
        self.of[tenant_id] += 1
        try:
            yield
        finally:
            self.open -= 1
            self.of[tenant_id] -= 1
            if not self.of[tenant_id]:
                del self.of[tenant_id]


@dataclass(frozen=True, slots=True)
class WatchMethod:
    """Handler of the server-streaming method `WatchJob`."""

    jobs: JobMethods
    streams: WatchStreams
    work: RunningCalls
    identity: Identity | None = None
    """Checks that the caller's credentials are still valid; None in local mode, which has none."""

    async def watch(self, call: AuthorisedCall, request: pb.WatchJobRequest) -> AsyncIterator[pb.JobEvent]:
        """The events after the last number seen, until the run ends."""
        if request.after < 0:
            raise Invalid("after", "must be the number of the last event that was seen, or 0", got=request.after)
        run = await self.work.finish(self._admitted(call, request.job_id))
        with self.streams.counted(call.caller.tenant_id):
            async for event in self._stream(call, run, request.after):
                yield event

    async def _admitted(self, call: AuthorisedCall, job_id: str) -> RunView:
        """The run, if the tenant may have one more stream."""
        run, limiter = await self.jobs.run_of(call.caller, job_id), self.jobs.cases[Limiter]
        limiter.stream(await limiter.of(call.caller.tenant_id), self.streams.of[call.caller.tenant_id])
        return run

    async def _stream(self, call: AuthorisedCall, run: RunView, after: int) -> AsyncIterator[pb.JobEvent]:
        cases, clock = self.jobs.cases, self.jobs.cases[HealthChecks].clock
        checked = clock.monotonic()
        # Listen first, then read: what happens in between wakes us.
        async with cases.feed.listen(run_topic(run.id)) as waiter:
            while not self.streams.stopping.is_set():
                run, events = await self.work.finish(self._read(call, run, after))
                for event in events:
                    if clock.monotonic() - checked >= RECHECK:
                        checked = clock.monotonic()
                        await self.work.finish(self._still(call))
                    yield event
                    after = event.seq
                if events:
                    continue
                if run.state.final and after >= run.event_seq:
                    return
                await waiter.wait(LOOK)
                if clock.monotonic() - checked >= RECHECK:
                    checked = clock.monotonic()
                    await self.work.finish(self._still(call))
        raise ServerStopping(f"the server is stopping: watch {run.id} again, after {after}")

    async def _read(self, call: AuthorisedCall, run: RunView, after: int) -> tuple[RunView, list[pb.JobEvent]]:
        """While the database is unavailable, there are no new events."""
        try:
            runs = self.jobs.cases[Runs]
            async with runs.backlog.turn(needed=run.event_seq - after > BATCH):
                run, events = await runs.events(call.caller, run.id, after, BATCH)
        except Unavailable:
            return run, []
        return run, [encode.event(event, run) for event in events]

    async def _still(self, call: AuthorisedCall) -> None:
        if self.identity is not None and not await self.identity.still(call.caller):
            raise Unauthenticated
