import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ScheduleConfig(_message.Message):
    __slots__ = ("type", "config")
    class ConfigEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    type: str
    config: _containers.ScalarMap[str, str]
    def __init__(self, type: _Optional[str] = ..., config: _Optional[_Mapping[str, str]] = ...) -> None: ...

class RetryPolicy(_message.Message):
    __slots__ = ("strategy", "max_retries", "delay_seconds", "max_delay_seconds", "jitter", "dead_letter")
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    DELAY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_DELAY_SECONDS_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTER_FIELD_NUMBER: _ClassVar[int]
    strategy: str
    max_retries: int
    delay_seconds: float
    max_delay_seconds: float
    jitter: float
    dead_letter: bool
    def __init__(self, strategy: _Optional[str] = ..., max_retries: _Optional[int] = ..., delay_seconds: _Optional[float] = ..., max_delay_seconds: _Optional[float] = ..., jitter: _Optional[float] = ..., dead_letter: _Optional[bool] = ...) -> None: ...

class Alert(_message.Message):
    __slots__ = ("after", "to")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    after: int
    to: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, after: _Optional[int] = ..., to: _Optional[_Iterable[str]] = ...) -> None: ...

class Catchup(_message.Message):
    __slots__ = ("mode", "window_seconds", "max_runs", "grace_seconds")
    MODE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNS_FIELD_NUMBER: _ClassVar[int]
    GRACE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    mode: str
    window_seconds: int
    max_runs: int
    grace_seconds: int
    def __init__(self, mode: _Optional[str] = ..., window_seconds: _Optional[int] = ..., max_runs: _Optional[int] = ..., grace_seconds: _Optional[int] = ...) -> None: ...

class CreateScheduledJobRequest(_message.Message):
    __slots__ = ("name", "job_type", "target_service", "target_method", "schedule_config", "parameters", "description", "queue", "priority", "timezone", "retry_policy", "overlap", "catchup", "timeout_seconds", "jitter_seconds", "max_runs", "start_at", "end_at", "tags", "action", "alert", "exclude", "only", "shift")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_TYPE_FIELD_NUMBER: _ClassVar[int]
    TARGET_SERVICE_FIELD_NUMBER: _ClassVar[int]
    TARGET_METHOD_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    CATCHUP_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    JITTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNS_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    END_AT_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    ALERT_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    name: str
    job_type: str
    target_service: str
    target_method: str
    schedule_config: ScheduleConfig
    parameters: _struct_pb2.Struct
    description: str
    queue: str
    priority: int
    timezone: str
    retry_policy: RetryPolicy
    overlap: str
    catchup: Catchup
    timeout_seconds: int
    jitter_seconds: int
    max_runs: int
    start_at: _timestamp_pb2.Timestamp
    end_at: _timestamp_pb2.Timestamp
    tags: _containers.RepeatedScalarFieldContainer[str]
    action: _struct_pb2.Struct
    alert: Alert
    exclude: _struct_pb2.ListValue
    only: _struct_pb2.ListValue
    shift: str
    def __init__(self, name: _Optional[str] = ..., job_type: _Optional[str] = ..., target_service: _Optional[str] = ..., target_method: _Optional[str] = ..., schedule_config: _Optional[_Union[ScheduleConfig, _Mapping]] = ..., parameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., description: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., timezone: _Optional[str] = ..., retry_policy: _Optional[_Union[RetryPolicy, _Mapping]] = ..., overlap: _Optional[str] = ..., catchup: _Optional[_Union[Catchup, _Mapping]] = ..., timeout_seconds: _Optional[int] = ..., jitter_seconds: _Optional[int] = ..., max_runs: _Optional[int] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., action: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., alert: _Optional[_Union[Alert, _Mapping]] = ..., exclude: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., only: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., shift: _Optional[str] = ...) -> None: ...

class GetScheduledJobRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class UpdateScheduledJobRequest(_message.Message):
    __slots__ = ("name", "job_type", "target_service", "target_method", "schedule_config", "parameters", "description", "queue", "priority", "timezone", "retry_policy", "overlap", "catchup", "timeout_seconds", "jitter_seconds", "max_runs", "start_at", "end_at", "tags", "action", "job_id", "expected_version", "update_mask", "alert", "exclude", "only", "shift")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_TYPE_FIELD_NUMBER: _ClassVar[int]
    TARGET_SERVICE_FIELD_NUMBER: _ClassVar[int]
    TARGET_METHOD_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    CATCHUP_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    JITTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNS_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    END_AT_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    ALERT_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    name: str
    job_type: str
    target_service: str
    target_method: str
    schedule_config: ScheduleConfig
    parameters: _struct_pb2.Struct
    description: str
    queue: str
    priority: int
    timezone: str
    retry_policy: RetryPolicy
    overlap: str
    catchup: Catchup
    timeout_seconds: int
    jitter_seconds: int
    max_runs: int
    start_at: _timestamp_pb2.Timestamp
    end_at: _timestamp_pb2.Timestamp
    tags: _containers.RepeatedScalarFieldContainer[str]
    action: _struct_pb2.Struct
    job_id: str
    expected_version: int
    update_mask: _field_mask_pb2.FieldMask
    alert: Alert
    exclude: _struct_pb2.ListValue
    only: _struct_pb2.ListValue
    shift: str
    def __init__(self, name: _Optional[str] = ..., job_type: _Optional[str] = ..., target_service: _Optional[str] = ..., target_method: _Optional[str] = ..., schedule_config: _Optional[_Union[ScheduleConfig, _Mapping]] = ..., parameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., description: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., timezone: _Optional[str] = ..., retry_policy: _Optional[_Union[RetryPolicy, _Mapping]] = ..., overlap: _Optional[str] = ..., catchup: _Optional[_Union[Catchup, _Mapping]] = ..., timeout_seconds: _Optional[int] = ..., jitter_seconds: _Optional[int] = ..., max_runs: _Optional[int] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., action: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., job_id: _Optional[str] = ..., expected_version: _Optional[int] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., alert: _Optional[_Union[Alert, _Mapping]] = ..., exclude: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., only: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., shift: _Optional[str] = ...) -> None: ...

class ListScheduledJobsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "status", "type", "kind", "tag", "query")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    status: str
    type: str
    kind: str
    tag: str
    query: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., status: _Optional[str] = ..., type: _Optional[str] = ..., kind: _Optional[str] = ..., tag: _Optional[str] = ..., query: _Optional[str] = ...) -> None: ...

class ListScheduledJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[ScheduledJob]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[ScheduledJob, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class PauseScheduledJobRequest(_message.Message):
    __slots__ = ("job_id", "reason")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    reason: str
    def __init__(self, job_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ResumeScheduledJobRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class DeleteScheduledJobRequest(_message.Message):
    __slots__ = ("job_id", "expected_version")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    expected_version: int
    def __init__(self, job_id: _Optional[str] = ..., expected_version: _Optional[int] = ...) -> None: ...

class DeleteScheduledJobResponse(_message.Message):
    __slots__ = ("job_id", "status")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    status: str
    def __init__(self, job_id: _Optional[str] = ..., status: _Optional[str] = ...) -> None: ...

class ScheduledJob(_message.Message):
    __slots__ = ("job_id", "name", "job_type", "status", "next_run_at", "last_run_at", "target_service", "target_method", "schedule_config", "parameters", "description", "queue", "priority", "timezone", "retry_policy", "overlap", "catchup", "timeout_seconds", "jitter_seconds", "max_runs", "start_at", "end_at", "tags", "action", "summary", "version", "paused_reason", "fault", "tenant_id", "user_id", "created_at", "updated_at", "kind", "alert", "exclude", "only", "shift")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NEXT_RUN_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_AT_FIELD_NUMBER: _ClassVar[int]
    TARGET_SERVICE_FIELD_NUMBER: _ClassVar[int]
    TARGET_METHOD_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_CONFIG_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIMEZONE_FIELD_NUMBER: _ClassVar[int]
    RETRY_POLICY_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    CATCHUP_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    JITTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    MAX_RUNS_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    END_AT_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PAUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ALERT_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    name: str
    job_type: str
    status: str
    next_run_at: _timestamp_pb2.Timestamp
    last_run_at: _timestamp_pb2.Timestamp
    target_service: str
    target_method: str
    schedule_config: ScheduleConfig
    parameters: _struct_pb2.Struct
    description: str
    queue: str
    priority: int
    timezone: str
    retry_policy: RetryPolicy
    overlap: str
    catchup: Catchup
    timeout_seconds: int
    jitter_seconds: int
    max_runs: int
    start_at: _timestamp_pb2.Timestamp
    end_at: _timestamp_pb2.Timestamp
    tags: _containers.RepeatedScalarFieldContainer[str]
    action: _struct_pb2.Struct
    summary: str
    version: int
    paused_reason: str
    fault: str
    tenant_id: str
    user_id: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    kind: str
    alert: Alert
    exclude: _struct_pb2.ListValue
    only: _struct_pb2.ListValue
    shift: str
    def __init__(self, job_id: _Optional[str] = ..., name: _Optional[str] = ..., job_type: _Optional[str] = ..., status: _Optional[str] = ..., next_run_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_run_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., target_service: _Optional[str] = ..., target_method: _Optional[str] = ..., schedule_config: _Optional[_Union[ScheduleConfig, _Mapping]] = ..., parameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., description: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[int] = ..., timezone: _Optional[str] = ..., retry_policy: _Optional[_Union[RetryPolicy, _Mapping]] = ..., overlap: _Optional[str] = ..., catchup: _Optional[_Union[Catchup, _Mapping]] = ..., timeout_seconds: _Optional[int] = ..., jitter_seconds: _Optional[int] = ..., max_runs: _Optional[int] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tags: _Optional[_Iterable[str]] = ..., action: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., summary: _Optional[str] = ..., version: _Optional[int] = ..., paused_reason: _Optional[str] = ..., fault: _Optional[str] = ..., tenant_id: _Optional[str] = ..., user_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[str] = ..., alert: _Optional[_Union[Alert, _Mapping]] = ..., exclude: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., only: _Optional[_Union[_struct_pb2.ListValue, _Mapping]] = ..., shift: _Optional[str] = ...) -> None: ...

class ExecuteJobRequest(_message.Message):
    __slots__ = ("job_id", "parameters")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    parameters: _struct_pb2.Struct
    def __init__(self, job_id: _Optional[str] = ..., parameters: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class ExecuteJobResponse(_message.Message):
    __slots__ = ("run_id", "status", "job_id")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    status: str
    job_id: str
    def __init__(self, run_id: _Optional[str] = ..., status: _Optional[str] = ..., job_id: _Optional[str] = ...) -> None: ...

class GetJobStatusRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class JobStatus(_message.Message):
    __slots__ = ("job_id", "run_id", "status", "started_at", "finished_at", "result", "error", "error_code", "attempt", "max_attempts", "scheduled_for", "created_at", "queue", "next_run_at")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_FOR_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    NEXT_RUN_AT_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    run_id: str
    status: str
    started_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    result: _struct_pb2.Struct
    error: str
    error_code: str
    attempt: int
    max_attempts: int
    scheduled_for: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    queue: str
    next_run_at: _timestamp_pb2.Timestamp
    def __init__(self, job_id: _Optional[str] = ..., run_id: _Optional[str] = ..., status: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., result: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., error: _Optional[str] = ..., error_code: _Optional[str] = ..., attempt: _Optional[int] = ..., max_attempts: _Optional[int] = ..., scheduled_for: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., queue: _Optional[str] = ..., next_run_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WatchJobRequest(_message.Message):
    __slots__ = ("job_id", "after")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    after: int
    def __init__(self, job_id: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class JobEvent(_message.Message):
    __slots__ = ("seq", "run_id", "job_id", "at", "type", "state", "attempt", "level", "message", "data")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    seq: int
    run_id: str
    job_id: str
    at: _timestamp_pb2.Timestamp
    type: str
    state: str
    attempt: int
    level: str
    message: str
    data: _struct_pb2.Struct
    def __init__(self, seq: _Optional[int] = ..., run_id: _Optional[str] = ..., job_id: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., type: _Optional[str] = ..., state: _Optional[str] = ..., attempt: _Optional[int] = ..., level: _Optional[str] = ..., message: _Optional[str] = ..., data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...
