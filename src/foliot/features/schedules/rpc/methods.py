"""Every method of this door with what it asks of its caller. One that is not in the table is not served."""

from __future__ import annotations

from collections.abc import Mapping

from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rpc.jobs import Jobs
from foliot.features.schedules.rpc.watch import Streams, Watching
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import Method, Opening, RpcService

SERVICE = pb.DESCRIPTOR.services_by_name["SchedulerService"].full_name


def methods(jobs: Jobs, watching: Watching) -> Mapping[str, Method]:
    """By their full names."""
    named = {
        "CreateScheduledJob": Method(Schedules.create, pb.CreateScheduledJobRequest, jobs.create),
        "GetScheduledJob": Method(Schedules.get, pb.GetScheduledJobRequest, jobs.get),
        "UpdateScheduledJob": Method(Schedules.patch, pb.UpdateScheduledJobRequest, jobs.update),
        "ListScheduledJobs": Method(Schedules.list, pb.ListScheduledJobsRequest, jobs.list),
        "PauseScheduledJob": Method(Schedules.pause, pb.PauseScheduledJobRequest, jobs.pause),
        "ResumeScheduledJob": Method(Schedules.resume, pb.ResumeScheduledJobRequest, jobs.resume),
        "DeleteScheduledJob": Method(Schedules.delete, pb.DeleteScheduledJobRequest, jobs.delete),
        "ExecuteJobNow": Method(Schedules.run_now, pb.ExecuteJobRequest, jobs.execute),
        "GetJobStatus": Method(Runs.get, pb.GetJobStatusRequest, jobs.status),
        "WatchJob": Method(Runs.events, pb.WatchJobRequest, watching.watch, streams=True),
    }
    return {f"/{SERVICE}/{name}": method for name, method in named.items()}


def scheduler_service(opening: Opening) -> RpcService:
    """The service, for a server that opens."""
    jobs = Jobs(opening.cases, opening.pepper)
    streams = Streams(opening.streams_of)
    table = methods(jobs, Watching(jobs, streams, opening.work, opening.identity))
    return RpcService(name=SERVICE, methods=table, stopping=streams.stopping)
