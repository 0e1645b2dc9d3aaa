"""The shapes of requests and answers, for OpenAPI and for whoever generates a client.

Requests are read by the domain (`domain/draft.py`), which knows the rules; answers are written by `render.py`. A test
holds every answer against its model here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from foliot.domain.event import EventType
from foliot.domain.retry import Strategy
from foliot.domain.run import Origin, RunState
from foliot.domain.schedule import CatchupMode, Overlap, Status, Type


class Model(BaseModel):
    """Every model here knows all of its fields."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


# --- requests ---------------------------------------------------------------------------------------------------------

Name = Annotated[str, Field(min_length=1, max_length=200)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=20)]
Queue = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Priority = Annotated[int, Field(ge=1, le=10)]


class Interval(Model):
    """An interval in parts, added up."""

    days: int = Field(0, ge=0)
    hours: int = Field(0, ge=0)
    minutes: int = Field(0, ge=0)
    seconds: int = Field(0, ge=0)


class WebhookPayload(Model):
    """What a webhook sends."""

    url: str = Field(max_length=8192, examples=["https://example.com/hook"])
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, max_length=64)
    body: Any = None
    """Sent as JSON; at most 256 KiB."""


class Action(BaseModel):
    """What to do. `kind` chooses the action; the other fields are its configuration."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"example": {"kind": "webhook", "url": "https://example.com/hook"}}
    )

    kind: str


class RetryPolicy(Model):
    """Delay before retry n: exponential delay·2^(n-1), linear delay·n, fixed delay."""

    strategy: Strategy = Strategy.EXPONENTIAL
    max_retries: int = Field(3, ge=0, le=100)
    """3 means one first attempt and three more."""
    delay_seconds: float = Field(10, ge=0)
    max_delay_seconds: float = Field(600, ge=0)
    jitter: float = Field(0.1, ge=0, le=1)
    dead_letter: bool = True
    """Whether a final failure is kept as a dead letter; otherwise it is `failed`."""


class Catchup(Model):
    """What happens to instants that passed while nobody was there to fire them."""

    mode: CatchupMode = CatchupMode.LATEST
    window_seconds: int = Field(3600, ge=0)
    max_runs: int = Field(10, ge=1, le=1000)
    grace_seconds: int = Field(60, ge=0)
    """Less late than this always runs."""


class Trigger(Model):
    """When."""

    type: Type
    cron_expr: str | None = Field(None, examples=["0 2 * * *"])
    """Type cron: 5 fields, 6 with seconds first, @hourly … @yearly, L, #, names, H."""
    interval_seconds: int | None = Field(None, ge=1)
    """Type interval; or `interval`."""
    interval: Interval | None = None
    run_at: datetime | None = None
    """Type oneoff; an offset is required."""
    timezone: str | None = Field(None, examples=["Europe/Stockholm"])
    start_at: datetime | None = None
    end_at: datetime | None = None


class ScheduleRequest(Trigger):
    """A schedule as somebody wants it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "Daily Task",
                "type": "cron",
                "cron_expr": "0 2 * * *",
                "timezone": "Europe/Stockholm",
                "payload": {"url": "https://example.com/hook", "method": "POST"},
            }
        }
    )

    name: Name
    description: str | None = Field("", max_length=10_000)
    tags: Tags | None = None
    action: Action | None = None
    payload: WebhookPayload | None = None
    """The same as action `webhook`; give one of the two."""
    retry_policy: RetryPolicy | None = None
    overlap: Overlap | None = Overlap.SKIP
    catchup: Catchup | None = None
    queue: Queue | None = "default"
    priority: Priority | None = 5
    """1 is most urgent."""
    timeout_seconds: int | None = Field(None, ge=1, le=604_800)
    jitter_seconds: int | None = Field(0, ge=0, le=86_400)
    max_runs: int | None = Field(None, ge=1)


class SchedulePatch(BaseModel):
    """Any of a schedule's fields; a null takes one back to its default."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"example": {"name": "New name", "retry_policy": {"max_retries": 5}}}
    )

    name: Name | None = None
    description: str | None = None
    tags: Tags | None = None
    type: Type | None = None
    cron_expr: str | None = None
    interval_seconds: int | None = None
    timezone: str | None = None
    queue: Queue | None = None
    priority: Priority | None = None


class PreviewRequest(Trigger):
    """A trigger; `start_at` is the moment to count from, itself included."""

    count: int = Field(10, ge=1, le=500)


class PauseRequest(Model):
    """Why."""

    reason: str | None = Field(None, max_length=500)


class RunNowRequest(Model):
    """What to do differently this once."""

    payload: dict[str, Any] | None = None


class DeadFilter(Model):
    """Which letters."""

    kind: str | None = Field(None, max_length=200)
    schedule_id: str | None = Field(None, max_length=200)
    code: str | None = Field(None, max_length=200)


class ReplayRequest(Model):
    """Ids, or a filter; `{}` as filter means all."""

    ids: list[str] | None = Field(None, min_length=1, max_length=500)
    filter: DeadFilter | None = None


# --- answers ----------------------------------------------------------------------------------------------------------


class Complaint(Model):
    """One broken rule."""

    field: str
    message: str
    got: Any = None


class Problem(Model):
    """RFC 9457. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[Complaint] = Field(default_factory=list)


class Schedule(Model):
    """A schedule as it stands."""

    id: str
    tenant_id: str
    user_id: str
    name: str
    description: str
    tags: list[str]
    type: Type
    cron_expr: str | None
    interval_seconds: int | None
    run_at: datetime | None
    timezone: str
    action: Action
    retry_policy: RetryPolicy
    overlap: Overlap
    catchup: Catchup
    queue: str
    priority: int
    timeout_seconds: int | None
    jitter_seconds: int
    start_at: datetime | None
    end_at: datetime | None
    max_runs: int | None
    status: Status
    paused_reason: str
    fault: str | None
    """Why it is silent although active: its row was damaged. Resuming or replacing it mends it."""
    summary: str
    """The trigger in words."""
    next_run_at: datetime | None
    last_run_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime
    links: dict[str, str]


class Schedules(Model):
    """A page of schedules."""

    items: list[Schedule]
    next_cursor: str | None


class Failure(BaseModel):
    """Why something did not succeed."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str


class Run(Model):
    """One execution."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    schedule_version: int | None
    kind: str
    origin: Origin
    state: RunState
    buffered: bool
    """Waits for its predecessor."""
    cancel_requested: bool
    scheduled_for: datetime | None
    """Its instant; none when somebody asked for the run."""
    ready_at: datetime
    queue: str
    priority: int
    attempt: int
    max_attempts: int
    worker: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: float | None
    lateness_ms: float | None
    """From when it was ready to when it started."""
    result: Any
    error: Failure | None
    parent_id: str | None
    """The run that this one repeats."""
    resolved_by: str | None
    """The replay that settled this dead letter."""
    links: dict[str, str | None]


class Attempt(Model):
    """One try that has ended."""

    number: int
    epoch: int
    worker: str | None
    outcome: str
    started_at: datetime
    ended_at: datetime
    duration_ms: float
    error: Failure | None
    response: dict[str, Any] | None
    retry_at: datetime | None


class RunWithAttempts(Run):
    """A run with its ended attempts."""

    action: dict[str, Any] | None
    """What this run does, when it is not what its schedule's version does."""
    attempts: list[Attempt]


class Runs(Model):
    """A page of runs."""

    items: list[Run]
    next_cursor: str | None


class Event(Model):
    """One numbered fact about a run."""

    seq: int
    at: datetime
    type: EventType
    state: RunState | None = None
    attempt: int | None = None
    level: str | None = None
    data: dict[str, Any] | None = None
    message: str


class Events(Model):
    """A page of events; `next_cursor` is what to give as `after`, null at the end of what there is."""

    items: list[Event]
    next_cursor: str | None


class Instant(Model):
    """One nominal due time."""

    at: datetime
    outcome: Literal["ran", "queued", "skipped", "missed", "pruned", "planned"]
    reason: str
    """For `ran` and `queued` the run's state; otherwise the rule that decided."""
    run_id: str | None


class Instants(Model):
    """A page of instants."""

    items: list[Instant]
    next_cursor: str | None


class Fire(Model):
    """An instant, in UTC and on the clock of the zone."""

    at: datetime
    local: datetime


class Preview(Model):
    """What a trigger would do."""

    summary: str
    next: list[Fire]
    notes: list[str]


class DeadGroup(Model):
    """Dead letters that failed alike."""

    code: str
    message: str
    kind: str
    count: int
    first_at: datetime
    last_at: datetime
    ids: list[str]


class DeadGroups(Model):
    """A page of groups."""

    items: list[DeadGroup]
    next_cursor: str | None


class Replayed(Model):
    """The new runs; `more` says that the filter matches letters beyond the bound of one request."""

    items: list[Run]
    more: bool


class Alive(Model):
    """This process answers."""

    status: Literal["ok"]
    version: str


class DatabaseHealth(Model):
    """The one dependency that is always needed."""

    status: Literal["ok", "down"]
    latency_ms: float | None
    error: str | None
    disk: dict[str, Any] | None


class NodeHealth(Model):
    """A process that reported in the last 30 s."""

    id: str
    role: str
    started_at: datetime
    seen_at: datetime
    lateness_p99_seconds: float | None
    report: dict[str, Any]


class QueueHealth(Model):
    """What waits in a queue."""

    queue: str
    depth: int
    oldest: datetime | None


class Damage(Model):
    """A schedule whose row was damaged."""

    schedule_id: str
    fault: str


class Health(Model):
    """Every dependency, and what stands out."""

    status: Literal["ok", "degraded", "down"]
    version: str
    problems: list[str]
    database: DatabaseHealth
    nodes: list[NodeHealth]
    queues: list[QueueHealth]
    damaged: list[Damage]


# --- for the routes ---------------------------------------------------------------------------------------------------

REQUESTS: tuple[type[BaseModel], ...] = (
    ScheduleRequest,
    SchedulePatch,
    PreviewRequest,
    PauseRequest,
    RunNowRequest,
    ReplayRequest,
    Problem,
)
"""Models that no route declares to FastAPI, because the domain reads the body."""


def body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """The request body of a route, for OpenAPI."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def problem(status: int, description: str) -> dict[int | str, dict[str, Any]]:
    """A response that is a problem document, for OpenAPI."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": description, "content": {"application/problem+json": {"schema": schema}}}}


UNKNOWN = problem(404, "There is no such thing, or not for you")
CONFLICT = problem(409, "Its state does not allow this")
MISMATCH = problem(412, "Somebody changed it first")
ALWAYS = {
    **problem(400, "The body is not JSON"),
    **problem(403, "You may not do this"),
    **problem(413, "The body is too large"),
    **problem(422, "The request breaks a rule"),
    **problem(503, "The database is away"),
}
