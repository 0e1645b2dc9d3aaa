"""Types of the client and server classes; SchedulerServiceAsyncStub exists for type checkers only."""

from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from foliot.proto import scheduler_service_pb2

_Q = TypeVar("_Q", contravariant=True)
_A = TypeVar("_A", covariant=True)
_Metadata = Sequence[tuple[str, str | bytes]]

class _Unary(Protocol, Generic[_Q, _A]):
    def __call__(
        self,
        request: _Q,
        timeout: float | None = None,
        metadata: _Metadata | None = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> _A: ...
    def with_call(
        self, request: _Q, timeout: float | None = None, metadata: _Metadata | None = None
    ) -> tuple[_A, Any]: ...

class _Call(Awaitable[_A], Protocol[_A]):
    async def initial_metadata(self) -> _Metadata: ...
    async def trailing_metadata(self) -> _Metadata: ...
    def cancel(self) -> bool: ...

class _Stream(Iterator[_A], Protocol[_A]):
    def initial_metadata(self) -> _Metadata: ...
    def cancel(self) -> bool: ...

class _AsyncStream(Protocol[_A]):
    def __aiter__(self) -> AsyncIterator[_A]: ...
    async def read(self) -> _A: ...
    async def initial_metadata(self) -> _Metadata: ...
    def cancel(self) -> bool: ...

class _Asked(Protocol, Generic[_Q, _A]):
    def __call__(
        self,
        request: _Q,
        timeout: float | None = None,
        metadata: _Metadata | None = None,
        credentials: Any = None,
        wait_for_ready: bool | None = None,
        compression: Any = None,
    ) -> _A: ...

class SchedulerServiceStub:
    def __init__(self, channel: Any) -> None: ...
    CreateScheduledJob: _Unary[scheduler_service_pb2.CreateScheduledJobRequest, scheduler_service_pb2.ScheduledJob]
    GetScheduledJob: _Unary[scheduler_service_pb2.GetScheduledJobRequest, scheduler_service_pb2.ScheduledJob]
    UpdateScheduledJob: _Unary[scheduler_service_pb2.UpdateScheduledJobRequest, scheduler_service_pb2.ScheduledJob]
    ListScheduledJobs: _Unary[scheduler_service_pb2.ListScheduledJobsRequest, scheduler_service_pb2.ListScheduledJobsResponse]
    PauseScheduledJob: _Unary[scheduler_service_pb2.PauseScheduledJobRequest, scheduler_service_pb2.ScheduledJob]
    ResumeScheduledJob: _Unary[scheduler_service_pb2.ResumeScheduledJobRequest, scheduler_service_pb2.ScheduledJob]
    DeleteScheduledJob: _Unary[scheduler_service_pb2.DeleteScheduledJobRequest, scheduler_service_pb2.DeleteScheduledJobResponse]
    ExecuteJobNow: _Unary[scheduler_service_pb2.ExecuteJobRequest, scheduler_service_pb2.ExecuteJobResponse]
    GetJobStatus: _Unary[scheduler_service_pb2.GetJobStatusRequest, scheduler_service_pb2.JobStatus]
    WatchJob: _Asked[scheduler_service_pb2.WatchJobRequest, _Stream[scheduler_service_pb2.JobEvent]]

class SchedulerServiceAsyncStub:
    def __init__(self, channel: Any) -> None: ...
    CreateScheduledJob: _Asked[scheduler_service_pb2.CreateScheduledJobRequest, _Call[scheduler_service_pb2.ScheduledJob]]
    GetScheduledJob: _Asked[scheduler_service_pb2.GetScheduledJobRequest, _Call[scheduler_service_pb2.ScheduledJob]]
    UpdateScheduledJob: _Asked[scheduler_service_pb2.UpdateScheduledJobRequest, _Call[scheduler_service_pb2.ScheduledJob]]
    ListScheduledJobs: _Asked[scheduler_service_pb2.ListScheduledJobsRequest, _Call[scheduler_service_pb2.ListScheduledJobsResponse]]
    PauseScheduledJob: _Asked[scheduler_service_pb2.PauseScheduledJobRequest, _Call[scheduler_service_pb2.ScheduledJob]]
    ResumeScheduledJob: _Asked[scheduler_service_pb2.ResumeScheduledJobRequest, _Call[scheduler_service_pb2.ScheduledJob]]
    DeleteScheduledJob: _Asked[scheduler_service_pb2.DeleteScheduledJobRequest, _Call[scheduler_service_pb2.DeleteScheduledJobResponse]]
    ExecuteJobNow: _Asked[scheduler_service_pb2.ExecuteJobRequest, _Call[scheduler_service_pb2.ExecuteJobResponse]]
    GetJobStatus: _Asked[scheduler_service_pb2.GetJobStatusRequest, _Call[scheduler_service_pb2.JobStatus]]
    WatchJob: _Asked[scheduler_service_pb2.WatchJobRequest, _AsyncStream[scheduler_service_pb2.JobEvent]]

class SchedulerServiceServicer:
    def CreateScheduledJob(self, request: scheduler_service_pb2.CreateScheduledJobRequest, context: Any) -> Any: ...
    def GetScheduledJob(self, request: scheduler_service_pb2.GetScheduledJobRequest, context: Any) -> Any: ...
    def UpdateScheduledJob(self, request: scheduler_service_pb2.UpdateScheduledJobRequest, context: Any) -> Any: ...
    def ListScheduledJobs(self, request: scheduler_service_pb2.ListScheduledJobsRequest, context: Any) -> Any: ...
    def PauseScheduledJob(self, request: scheduler_service_pb2.PauseScheduledJobRequest, context: Any) -> Any: ...
    def ResumeScheduledJob(self, request: scheduler_service_pb2.ResumeScheduledJobRequest, context: Any) -> Any: ...
    def DeleteScheduledJob(self, request: scheduler_service_pb2.DeleteScheduledJobRequest, context: Any) -> Any: ...
    def ExecuteJobNow(self, request: scheduler_service_pb2.ExecuteJobRequest, context: Any) -> Any: ...
    def GetJobStatus(self, request: scheduler_service_pb2.GetJobStatusRequest, context: Any) -> Any: ...
    def WatchJob(self, request: scheduler_service_pb2.WatchJobRequest, context: Any) -> Any: ...

def add_SchedulerServiceServicer_to_server(servicer: SchedulerServiceServicer, server: Any) -> None: ...
