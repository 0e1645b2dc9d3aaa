"""The method table of the gRPC service, with the permission each method needs. A method not in it is not served."""

from __future__ import annotations

from collections.abc import Mapping

from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rpc.jobs import JobMethods
from foliot.features.schedules.rpc.watch import WatchMethod, WatchStreams
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import Opening, RpcMethod, RpcService

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
