"""The unary methods of the gRPC service. A job is a schedule, and its status that of a run.

Streams the events of one run: the same numbered sequence as over HTTP, as it grows.

The method table of the gRPC service, with the permission each method needs. A method not in it is not served.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from foliot.auth.identity import Identity, Pepper
from foliot.commands.cursor import Cursors
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.core.access import Caller
from foliot.core.errors import Conflict, Invalid, TooMany, Unauthenticated, Unavailable, VersionMismatch
from foliot.core.time.trigger import TriggerType
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.health.usecases import HealthChecks
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rpc import encode
from foliot.features.schedules.rpc import request as asking
from foliot.features.schedules.rpc.request import in_its_words
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import AuthorisedCall, Opening, RpcMethod, RpcService, RunningCalls, plain
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
            raise Invalid("after", "must be the number of the last event received, or 0", got=request.after)
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


LIST = "grpc ListScheduledJobs"
TRIES = 5


@dataclass(frozen=True, slots=True)
class JobMethods:
    """Handlers of the unary methods."""

    cases: UseCases
    pepper: Pepper | None = None
    """Signs page tokens."""

    async def create(self, call: AuthorisedCall, request: pb.CreateScheduledJobRequest) -> pb.ScheduledJob:
        with in_its_words(request):
            once = call.once(request, encode.job)
            return encode.job(await self.cases[Schedules].create(call.caller, asking.draft(request), once))

    async def get(self, call: AuthorisedCall, request: pb.GetScheduledJobRequest) -> pb.ScheduledJob:
        schedule = await self.cases[Schedules].get(call.caller, asking.schedule_id(request.job_id))
        return encode.job(schedule)

    async def update(self, call: AuthorisedCall, request: pb.UpdateScheduledJobRequest) -> pb.ScheduledJob:
        """The tags are part of what is written, so the update is conditional on the version they were read in."""
        schedule_id = asking.schedule_id(request.job_id)
        expected = _version(request)
        with in_its_words(request):
            for _ in range(TRIES):
                schedule = await self.cases[Schedules].get(call.caller, schedule_id)
                change = asking.change(request, schedule.tags)
                try:
                    match = expected or str(schedule.version)
                    changed = await self.cases[Schedules].patch(call.caller, schedule_id, change, match)
                except VersionMismatch:
                    if expected is not None:
                        raise
                    continue
                return encode.job(changed)
        raise Conflict(f"schedule {schedule_id} is being changed by other requests: try again")

    async def list(self, call: AuthorisedCall, request: pb.ListScheduledJobsRequest) -> pb.ListScheduledJobsResponse:
        """A page ends early when the message would become too large."""
        cursors = Cursors(self.pepper, f"{call.caller.tenant_id}\n{LIST}")
        with in_its_words(request):
            size = asking.page_size(request.page_size)
            cursor = cursors.open(request.page_token) if request.page_token else None
            filters = _filters(request)
        schedules = await self.cases[Schedules].list(call.caller, PageRequest(size + 1, cursor), **filters)
        answer, weight = pb.ListScheduledJobsResponse(), 0
        for schedule in schedules[:size]:
            job = encode.job(schedule)
            weight += job.ByteSize()
            if weight > encode.LARGEST and answer.jobs:
                break
            answer.jobs.append(job)
        if len(schedules) > len(answer.jobs):
            answer.next_page_token = cursors.seal(answer.jobs[-1].job_id)
        return answer

    async def pause(self, call: AuthorisedCall, request: pb.PauseScheduledJobRequest) -> pb.ScheduledJob:
        schedule_id, once = asking.schedule_id(request.job_id), call.once(request, encode.job)
        paused = await self.cases[Schedules].pause(call.caller, schedule_id, {"reason": request.reason}, once)
        return encode.job(paused)

    async def resume(self, call: AuthorisedCall, request: pb.ResumeScheduledJobRequest) -> pb.ScheduledJob:
        schedule_id, once = asking.schedule_id(request.job_id), call.once(request, encode.job)
        return encode.job(await self.cases[Schedules].resume(call.caller, schedule_id, once))

    async def delete(
        self, call: AuthorisedCall, request: pb.DeleteScheduledJobRequest
    ) -> pb.DeleteScheduledJobResponse:
        schedule_id = asking.schedule_id(request.job_id)
        await self.cases[Schedules].delete(call.caller, schedule_id, _version(request))
        return pb.DeleteScheduledJobResponse(job_id=schedule_id, status=ScheduleStatus.DELETED)

    async def execute(self, call: AuthorisedCall, request: pb.ExecuteJobRequest) -> pb.ExecuteJobResponse:
        schedule_id, once = asking.schedule_id(request.job_id), call.once(request, _begun)
        raw = {"payload": {"parameters": plain(request.parameters)}} if request.HasField("parameters") else None
        with in_its_words(request):
            return _begun(await self.cases[Schedules].run_now(call.caller, schedule_id, raw, once))

    async def status(self, call: AuthorisedCall, request: pb.GetJobStatusRequest) -> pb.JobStatus:
        if asking.is_run(request.job_id):
            return encode.status(await self.cases[Runs].get(call.caller, request.job_id))
        schedule = await self.cases[Schedules].get(call.caller, asking.schedule_id(request.job_id))
        run = await self._newest(call.caller, schedule.id)
        return encode.not_run_yet(schedule) if run is None else encode.status(run, schedule.next_run_at)

    async def run_of(self, caller: Caller, job_id: str) -> RunView:
        """The run with this id, or the newest run of the schedule with this id."""
        if asking.is_run(job_id):
            return await self.cases[Runs].get(caller, job_id)
        run = await self._newest(caller, asking.schedule_id(job_id))
        if run is None:
            raise Conflict(f"job {job_id} has not run yet: run it, or try again after its next instant")
        return run

    async def _newest(self, caller: Caller, schedule_id: str) -> RunView | None:
        runs = await self.cases[Runs].of_schedule(caller, schedule_id, PageRequest(1), None)
        return runs[0] if runs else None


def _begun(run: RunView) -> pb.ExecuteJobResponse:
    return pb.ExecuteJobResponse(run_id=run.id, status=run.state.value, job_id=run.schedule_id or run.id)


def _version(request: Any) -> str | None:
    return str(request.expected_version) if request.HasField("expected_version") else None


def _filters(request: pb.ListScheduledJobsRequest) -> dict[str, str | None]:
    for name, words in (("status", ScheduleStatus), ("type", TriggerType)):
        got = getattr(request, name)
        if got and got not in set(words):
            raise Invalid(name, f"must be one of {', '.join(words)}", got=got)
    return asking.texts(status=request.status, type=request.type, kind=request.kind, tag=request.tag, q=request.query)


SERVICE = pb.DESCRIPTOR.services_by_name["SchedulerService"].full_name


def methods(jobs: JobMethods, watching: WatchMethod) -> Mapping[str, RpcMethod]:
    """The handlers by full method name."""
    named = {
        "CreateScheduledJob": RpcMethod(Schedules.create, pb.CreateScheduledJobRequest, jobs.create),
        "GetScheduledJob": RpcMethod(Schedules.get, pb.GetScheduledJobRequest, jobs.get),
        "UpdateScheduledJob": RpcMethod(Schedules.patch, pb.UpdateScheduledJobRequest, jobs.update),
        "ListScheduledJobs": RpcMethod(Schedules.list, pb.ListScheduledJobsRequest, jobs.list),
        "PauseScheduledJob": RpcMethod(Schedules.pause, pb.PauseScheduledJobRequest, jobs.pause),
        "ResumeScheduledJob": RpcMethod(Schedules.resume, pb.ResumeScheduledJobRequest, jobs.resume),
        "DeleteScheduledJob": RpcMethod(Schedules.delete, pb.DeleteScheduledJobRequest, jobs.delete),
        "ExecuteJobNow": RpcMethod(Schedules.run_now, pb.ExecuteJobRequest, jobs.execute),
        "GetJobStatus": RpcMethod(Runs.get, pb.GetJobStatusRequest, jobs.status),
        "WatchJob": RpcMethod(Runs.events, pb.WatchJobRequest, watching.watch, streams=True),
    }
    return {f"/{SERVICE}/{name}": method for name, method in named.items()}


def scheduler_service(opening: Opening) -> RpcService:
    """Builds the service for a server that starts."""
    jobs = JobMethods(opening.cases, opening.pepper)
    streams = WatchStreams(opening.streams_of)
    table = methods(jobs, WatchMethod(jobs, streams, opening.work, opening.identity))
    return RpcService(name=SERVICE, methods=table, stopping=streams.stopping)
