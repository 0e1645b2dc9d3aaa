"""The unary methods of the gRPC service. A job is a schedule, and its status that of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foliot.auth.identity import Pepper
from foliot.commands.cursor import Cursors
from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.errors import Conflict, Invalid, VersionMismatch
from foliot.core.time.trigger import TriggerType
from foliot.engine.model.schedule import ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rpc import encode
from foliot.features.schedules.rpc import request as asking
from foliot.features.schedules.rpc.request import in_its_words
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import AuthorisedCall, plain

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
        raise Conflict(f"schedule {schedule_id} is being changed by others all the time: ask again")

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
            raise Conflict(f"job {job_id} has not run yet: execute it, or come back after its next instant")
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
