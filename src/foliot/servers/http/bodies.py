"""The shapes of requests, for OpenAPI and for whoever generates a client.

The domain reads requests (`features/schedules/model/document.py`), for it knows the rules; nothing is validated here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from foliot.core.time.trigger import Type
from foliot.engine.model.retry import Strategy
from foliot.engine.model.schedule import CatchupMode, Overlap
from foliot.features.runs.model.replay import AsOf
from foliot.servers.http.attribute_docs import Described


class Model(Described):
    """Every model here knows all of its fields."""

    model_config = ConfigDict(extra="forbid")


AS_OF = (
    "By the settings of their schedule `now` (as they were, where it is gone or does something else), or by those of "
    "`then`. What a run was given for itself alone stays in both."
)
PATCH = "A JSON merge patch (RFC 7396) laid over the payload of each."
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
    """`{{ secret.NAME }}` in a value stands for a secret."""
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
                "action": {"kind": "webhook", "url": "https://example.com/hook", "method": "POST"},
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
    paused: bool | None = False
    """Paused in the same step: nothing fires in between. Without it, one that stands stays as it is."""
    paused_reason: str | None = Field(None, max_length=500)


class SchedulePatch(BaseModel):
    """Any of a schedule's fields; a null takes one back to its default."""

    model_config = ConfigDict(
        extra="allow",
        defer_build=True,
        json_schema_extra={"example": {"name": "New name", "retry_policy": {"max_retries": 5}}},
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
    """A trigger, or `words` instead of one; `start_at` is the moment to count from, itself included."""

    type: Type | None = None  # type: ignore[assignment]
    """Not beside `words`, which stand for one."""
    words: str | None = Field(None, max_length=200, examples=["every day at 02:30"])
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
    as_of: AsOf = Field(AsOf.NOW, description=AS_OF)
    patch: dict[str, Any] | None = Field(None, description=PATCH)


class MuteRequest(Model):
    """For how long, and why."""

    hours: int = Field(24, ge=1, le=720)
    reason: str = Field("", max_length=500)


REQUESTS: tuple[type[BaseModel], ...] = (
    ScheduleRequest,
    SchedulePatch,
    PreviewRequest,
    PauseRequest,
    RunNowRequest,
    ReplayRequest,
    MuteRequest,
)
"""Models that no route declares to FastAPI, because the domain reads the body."""


def body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """The request body of a route, for OpenAPI."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}
