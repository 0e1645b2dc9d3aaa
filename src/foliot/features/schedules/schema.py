"""Requests and answers about schedules: the schedule itself, its instants, and previews of a trigger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import Field, with_config
from typing_extensions import TypedDict

from foliot.core.mask import shown
from foliot.core.time.preview import TriggerOutlook
from foliot.core.time.trigger import OneOff, TriggerType
from foliot.engine.model import schedule as model
from foliot.engine.model.retry import BackoffStrategy, RetryPolicy
from foliot.engine.model.schedule import Catchup, CatchupMode, ManagedBy, Overlap, ScheduleStatus
from foliot.features.schedules.usecases.instants import InstantRecord
from foliot.servers.http.schema import OPEN, Name, Priority, Queue, Tags, declared

InstantOutcome = Literal["ran", "queued", "skipped", "missed", "pruned", "planned"]
LocalTime = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""Local time in a schedule's zone, with the offset of that zone."""


@declared
class Schedule:
    """A schedule with its present status."""

    id: str
    tenant_id: str
    user_id: str
    name: str
    description: str
    tags: Sequence[str]
    type: TriggerType
    cron_expr: str | None
    interval_seconds: int | None
    run_at: datetime | None
    timezone: str
    action: ActionConfig
    retry_policy: RetrySettings
    overlap: Overlap
    catchup: CatchupSettings
    queue: str
    priority: int
    timeout_seconds: int | None
    jitter_seconds: int
    start_at: datetime | None
    end_at: datetime | None
    max_runs: int | None
    status: ScheduleStatus
    paused_reason: str
    paused_at: datetime | None
    paused_by: str | None
    skips: SkippedInstant | None
    """The instant ahead that a user asked to skip."""
    fault: str | None
    """Why it does not fire although active: its row was damaged. Resuming or replacing it repairs it."""
    managed_by: ManagedBy
    """What manages it. A schedule of `file` is edited in its file; here it can be paused, resumed and run."""
    summary: str
    """The trigger in words."""
    next_run_at: datetime | None
    """The next instant that makes a run: one that is to be skipped is passed over."""
    last_run_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime
    links: dict[str, str]

    @classmethod
    def of(cls, one: model.Schedule) -> Schedule:
        spec, trigger = one.spec, one.spec.trigger.as_dict()
        base = f"/api/schedules/{one.id}"
        return cls(
            id=one.id,
            tenant_id=one.tenant_id,
            user_id=one.user_id,
            name=one.name,
            description=one.description,
            tags=one.tags,
            type=spec.type,
            cron_expr=trigger.get("cron_expr"),
            interval_seconds=trigger.get("interval_seconds"),
            run_at=spec.trigger.rule.at if isinstance(spec.trigger.rule, OneOff) else None,
            timezone=spec.trigger.rule.zone,
            action=cast("ActionConfig", {"kind": spec.kind, **shown(one.action)}),
            retry_policy=RetrySettings.of(spec.retry),
            overlap=spec.overlap,
            catchup=CatchupSettings.of(spec.catchup),
            queue=spec.queue,
            priority=spec.priority,
            timeout_seconds=spec.timeout_seconds,
            jitter_seconds=spec.jitter_seconds,
            start_at=spec.trigger.start_at,
            end_at=spec.trigger.end_at,
            max_runs=spec.max_runs,
            status=one.status,
            paused_reason=one.paused_reason,
            paused_at=one.paused_at,
            paused_by=one.paused_by,
            skips=None if one.skip_at is None else SkippedInstant(at=one.skip_at, by=one.skip_by),
            fault=one.fault,
            managed_by=one.managed_by,
            summary=spec.trigger.summary,
            next_run_at=one.next_run_at,
            last_run_at=one.last_run_at,
            version=one.version,
            created_at=one.created_at,
            updated_at=one.updated_at,
            links={"self": base, "runs": f"{base}/runs", "instants": f"{base}/instants"},
        )


def etag(one: model.Schedule) -> dict[str, str]:
    """The header that names the version."""
    return {"ETag": f'"{one.version}"'}


@declared
class SchedulePage:
    """A page of schedules."""

    items: list[Schedule]
    next_cursor: str | None


@declared
class ScheduleInstant:
    """One instant of a schedule, and its outcome."""

    at: datetime
    outcome: InstantOutcome
    reason: str
    """For `ran` and `queued` the run's state; otherwise the rule that decided."""
    run_id: str | None

    @classmethod
    def of(cls, one: InstantRecord) -> ScheduleInstant:
        return cls(at=one.at, outcome=cast("InstantOutcome", one.outcome), reason=one.reason, run_id=one.run_id)


@declared
class InstantPage:
    """A page of instants."""

    items: list[ScheduleInstant]
    next_cursor: str | None


@declared
class PreviewInstant:
    """An instant, in UTC and in local time of the zone."""

    at: datetime
    local: LocalTime


@declared
class SchedulePreview:
    """The next instants of a trigger, and its fields: a request may have described it in `words`."""

    summary: str
    type: TriggerType
    cron_expr: str | None
    interval_seconds: int | None
    run_at: datetime | None
    timezone: str
    next: list[PreviewInstant]
    notes: list[str]

    @classmethod
    def of(cls, one: TriggerOutlook) -> SchedulePreview:
        trigger = one.trigger.as_dict()
        return cls(
            summary=one.summary,
            type=TriggerType(trigger["type"]),
            cron_expr=trigger.get("cron_expr"),
            interval_seconds=trigger.get("interval_seconds"),
            run_at=trigger.get("run_at"),
            timezone=trigger["timezone"],
            next=[PreviewInstant(at=fire.at, local=fire.local) for fire in one.fires],
            notes=one.notes,
        )


@declared
class Interval:
    """An interval in parts, added up."""

    days: Annotated[int, Field(ge=0)] = 0
    hours: Annotated[int, Field(ge=0)] = 0
    minutes: Annotated[int, Field(ge=0)] = 0
    seconds: Annotated[int, Field(ge=0)] = 0


@declared
class WebhookPayload:
    """The request that a webhook sends."""

    url: Annotated[str, Field(max_length=8192, examples=["https://example.com/hook"])]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = "POST"
    headers: Annotated[dict[str, str], Field(max_length=64)] = field(default_factory=dict)
    """`{{ secret.NAME }}` in a value stands for a secret."""
    body: Any = None
    """Sent as JSON; at most 256 KiB."""


@with_config({**OPEN, "json_schema_extra": {"example": {"kind": "webhook", "url": "https://example.com/hook"}}})
class ActionConfig(TypedDict):
    """The action of a schedule. `kind` chooses it; the other fields are its configuration."""

    kind: str


@declared
class RetrySettings:
    """Delay before retry n: exponential delay·2^(n-1), linear delay·n, fixed delay."""

    strategy: BackoffStrategy = BackoffStrategy.EXPONENTIAL
    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    """3 means one first attempt and three retries."""
    delay_seconds: Annotated[float, Field(ge=0)] = 10
    max_delay_seconds: Annotated[float, Field(ge=0)] = 600
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.1
    dead_letter: bool = True
    """Whether a final failure becomes a dead letter; otherwise the run is `failed`."""

    @classmethod
    def of(cls, policy: RetryPolicy) -> RetrySettings:
        return cls(
            strategy=policy.strategy,
            max_retries=policy.max_retries,
            delay_seconds=policy.delay_seconds,
            max_delay_seconds=policy.max_delay_seconds,
            jitter=policy.jitter,
            dead_letter=policy.dead_letter,
        )


@declared
class CatchupSettings:
    """What happens to instants that passed while no scheduler was running."""

    mode: CatchupMode = CatchupMode.LATEST
    window_seconds: Annotated[int, Field(ge=0)] = 3600
    max_runs: Annotated[int, Field(ge=1, le=1000)] = 10
    grace_seconds: Annotated[int, Field(ge=0)] = 60
    """Instants less late than this always run."""

    @classmethod
    def of(cls, catchup: Catchup) -> CatchupSettings:
        return cls(
            mode=catchup.mode,
            window_seconds=catchup.window_seconds,
            max_runs=catchup.max_runs,
            grace_seconds=catchup.grace_seconds,
        )


@declared
class TriggerFields:
    """The trigger: when a schedule fires."""

    type: TriggerType
    cron_expr: Annotated[str | None, Field(examples=["0 2 * * *"])] = None
    """Type cron: 5 fields, 6 with seconds first, @hourly … @yearly, L, #, names, H."""
    interval_seconds: Annotated[int | None, Field(ge=1)] = None
    """Type interval; or `interval`."""
    interval: Interval | None = None
    run_at: datetime | None = None
    """Type oneoff; an offset is required."""
    timezone: Annotated[str | None, Field(examples=["Europe/Stockholm"])] = None
    start_at: datetime | None = None
    end_at: datetime | None = None


@declared(
    example={
        "name": "Daily Task",
        "type": "cron",
        "cron_expr": "0 2 * * *",
        "timezone": "Europe/Stockholm",
        "action": {"kind": "webhook", "url": "https://example.com/hook", "method": "POST"},
    }
)
class ScheduleRequest(TriggerFields):
    """A request to create or replace a schedule."""

    name: Name
    description: Annotated[str | None, Field(max_length=10_000)] = ""
    tags: Tags | None = None
    action: ActionConfig | None = None
    payload: WebhookPayload | None = None
    """The same as action `webhook`; give one of the two."""
    retry_policy: RetrySettings | None = None
    overlap: Overlap | None = Overlap.SKIP
    catchup: CatchupSettings | None = None
    queue: Queue | None = "default"
    priority: Priority | None = 5
    """1 is most urgent."""
    timeout_seconds: Annotated[int | None, Field(ge=1, le=604_800)] = None
    jitter_seconds: Annotated[int | None, Field(ge=0, le=86_400)] = 0
    max_runs: Annotated[int | None, Field(ge=1)] = None
    paused: bool | None = False
    """Paused in the same step: nothing fires in between. Without it, an existing schedule keeps its status."""
    paused_reason: Annotated[str | None, Field(max_length=500)] = None


@declared(extra=True, example={"name": "New name", "retry_policy": {"max_retries": 5}})
class SchedulePatch:
    """Any of a schedule's fields; a null resets one to its default."""

    name: Name | None = None
    description: str | None = None
    tags: Tags | None = None
    type: TriggerType | None = None
    cron_expr: str | None = None
    interval_seconds: int | None = None
    timezone: str | None = None
    queue: Queue | None = None
    priority: Priority | None = None


@declared
class PreviewRequest(TriggerFields):
    """A trigger, or `words` that describe one; `start_at` is the first moment considered."""

    type: TriggerType | None = None  # type: ignore[assignment]
    """Not together with `words`, which replace it."""
    words: Annotated[str | None, Field(max_length=200, examples=["every day at 02:30"])] = None
    count: Annotated[int, Field(ge=1, le=500)] = 10


@declared
class PauseRequest:
    """Why the schedule is paused."""

    reason: Annotated[str | None, Field(max_length=500)] = None


@declared
class RunNowRequest:
    """Overrides for this run only."""

    payload: dict[str, Any] | None = None


@declared
class SkippedInstant:
    """An instant that will make no run, and who asked for that."""

    at: datetime
    by: str | None


@declared
class SkipRequest:
    """Which instant is meant: any other than the next is refused (409)."""

    at: datetime | None = None


@declared
class RealignedSchedule:
    """A schedule that was ahead, and when it fires next."""

    id: str
    name: str
    next_run_at: datetime | None


@declared
class RealignResult:
    """The schedules that were realigned."""

    items: list[RealignedSchedule]
