"""Schedules, runs and events as Protocol Buffers messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from foliot.core.mask import shown
from foliot.engine.model.run import Event
from foliot.engine.model.schedule import Schedule, ScheduleSpec
from foliot.engine.model.views import RunView
from foliot.features.schedules.rpc.request import JOB_TYPE, KIND
from foliot.features.schedules.rpc.trigger import config_of
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import listed, struct, whole

LARGEST = 3 * 1024 * 1024
"""Bytes of an answer. A gRPC client refuses more than 4 MiB unless it is configured otherwise."""


def at(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def job_type(one: Schedule) -> str:
    """As it was given; for a schedule that was not created over gRPC, the name of its queue."""
    given = [tag.removeprefix(JOB_TYPE) for tag in one.tags if tag.startswith(JOB_TYPE)]
    return given[0] if given else one.spec.queue.upper()


_FIELDS = pb.ScheduledJob.DESCRIPTOR.fields_by_name


def _policies(spec: ScheduleSpec) -> dict[str, Any]:
    """Those that the message has fields for; an object becomes the message of the same fields."""
    policies = {name: value for name, value in spec.policies().items() if name in _FIELDS}
    return policies | {name: listed(policies[name]) for name in ("exclude", "only")}


def job(one: Schedule) -> pb.ScheduledJob:
    spec = one.spec
    message = pb.ScheduledJob(
        job_id=one.id,
        name=one.name,
        job_type=job_type(one),
        status=one.status.value,
        next_run_at=at(one.next_run_at),
        last_run_at=at(one.last_run_at),
        schedule_config=config_of(spec.trigger.rule),
        description=one.description,
        timezone=spec.trigger.rule.zone,
        retry_policy=pb.RetryPolicy(**spec.retry.as_dict()),
        start_at=at(spec.trigger.start_at),
        end_at=at(spec.trigger.end_at),
        tags=[tag for tag in one.tags if not tag.startswith(JOB_TYPE)],
        summary=spec.trigger.summary,
        version=one.version,
        paused_reason=one.paused_reason,
        fault=one.fault or "",
        tenant_id=one.tenant_id,
        user_id=one.user_id,
        created_at=at(one.created_at),
        updated_at=at(one.updated_at),
        kind=spec.kind,
        **_policies(spec),
    )
    _describe_action(message, one)
    return message


def _describe_action(message: pb.ScheduledJob, one: Schedule) -> None:
    if one.spec.kind != KIND:
        message.action.CopyFrom(struct({"kind": one.spec.kind, **shown(one.action)}))
        return
    message.target_service = str(one.action.get("target_service", ""))
    message.target_method = str(one.action.get("target_method", ""))
    message.parameters.CopyFrom(whole(shown(one.action).get("parameters") or {}))


def status(run: RunView, next_run_at: datetime | None = None) -> pb.JobStatus:
    error = run.error or {}
    message = pb.JobStatus(
        job_id=run.schedule_id or run.id,
        run_id=run.id,
        status=run.state.value,
        started_at=at(run.started_at),
        finished_at=at(run.finished_at),
        error=str(error.get("message", "")),
        error_code=str(error.get("code", "")),
        attempt=run.attempt,
        max_attempts=run.max_attempts,
        scheduled_for=at(run.scheduled_for),
        created_at=at(run.created_at),
        queue=run.queue,
        next_run_at=at(next_run_at),
    )
    if run.result is not None:
        result = whole(run.result)
        if result.ByteSize() > LARGEST:
            result = struct({"too_large": f"the result is too large for a message: read /api/runs/{run.id} over HTTP"})
        message.result.CopyFrom(result)
    return message


def not_run_yet(one: Schedule) -> pb.JobStatus:
    return pb.JobStatus(
        job_id=one.id,
        status=one.status.value,
        created_at=at(one.created_at),
        queue=one.spec.queue,
        next_run_at=at(one.next_run_at),
    )


def event(one: Event, run: RunView) -> pb.JobEvent:
    return pb.JobEvent(
        seq=one.seq,
        run_id=run.id,
        job_id=run.schedule_id or run.id,
        at=at(one.at),
        type=one.type.value,
        state=one.state,
        attempt=one.attempt,
        level=one.level,
        message=one.message,
        data=None if one.data is None else struct(one.data),
    )
