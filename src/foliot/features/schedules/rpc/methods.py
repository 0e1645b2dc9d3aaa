"""Every method of this door with what it asks of its caller. One that is not in the table is not served."""

from __future__ import annotations

from collections.abc import Mapping

from foliot.core.access import Thing, Verb
from foliot.features.schedules.rpc.jobs import Jobs
from foliot.features.schedules.rpc.watch import Streams, Watching
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import Method, Opening, Permission, Service

SERVICE = pb.DESCRIPTOR.services_by_name["SchedulerService"].full_name

_READ: Permission = (Verb.READ, Thing.SCHEDULE)
_WRITE: Permission = (Verb.WRITE, Thing.SCHEDULE)
_READ_RUN: Permission = (Verb.READ, Thing.RUN)


def methods(jobs: Jobs, watching: Watching) -> Mapping[str, Method]:
    """By their full names."""
    named = {
        "CreateScheduledJob": Method(_WRITE, pb.CreateScheduledJobRequest, jobs.create),
        "GetScheduledJob": Method(_READ, pb.GetScheduledJobRequest, jobs.get),
        "UpdateScheduledJob": Method(_WRITE, pb.UpdateScheduledJobRequest, jobs.update),
        "ListScheduledJobs": Method(_READ, pb.ListScheduledJobsRequest, jobs.list),
        "PauseScheduledJob": Method(_WRITE, pb.PauseScheduledJobRequest, jobs.pause),
        "ResumeScheduledJob": Method(_WRITE, pb.ResumeScheduledJobRequest, jobs.resume),
        "DeleteScheduledJob": Method(_WRITE, pb.DeleteScheduledJobRequest, jobs.delete),
        "ExecuteJobNow": Method((Verb.RUN, Thing.SCHEDULE), pb.ExecuteJobRequest, jobs.execute),
        "GetJobStatus": Method(_READ_RUN, pb.GetJobStatusRequest, jobs.status),
        "WatchJob": Method(_READ_RUN, pb.WatchJobRequest, watching.watch, streams=True),
    }
    return {f"/{SERVICE}/{name}": method for name, method in named.items()}


def scheduler_service(opening: Opening) -> Service:
    """The service, for a server that opens."""
    jobs = Jobs(opening.cases, opening.pepper)
    streams = Streams(opening.streams_of)
    table = methods(jobs, Watching(jobs, streams, opening.work, opening.identity))
    return Service(name=SERVICE, methods=table, stopping=streams.stopping)
