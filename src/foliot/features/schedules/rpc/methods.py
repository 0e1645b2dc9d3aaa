"""Every method of this door with what it asks of its caller. One that is not in the table is not served."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from foliot.commands.envelope import Permission, permission_of
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rpc.jobs import Jobs
from foliot.features.schedules.rpc.watch import Watching
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.proto import scheduler_service_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["SchedulerService"].full_name

HEALTH = ("Check", "List", "Watch")
PUBLIC = frozenset(
    {
        *(f"/grpc.health.v1.Health/{name}" for name in HEALTH),
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    }
)
"""What anybody may ask: whether it is well, and, where that is switched on, which methods there are."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method: the use case whose permission it needs, the message it takes, and the function that answers."""

    use_case: Callable[..., object]
    request: type[Message]
    answer: Callable[..., Any]
    streams: bool = False

    @property
    def permission(self) -> Permission:
        return permission_of(self.use_case)


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
