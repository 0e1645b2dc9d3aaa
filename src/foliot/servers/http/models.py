"""The shapes of answers, for OpenAPI and for whoever generates a client.

`render.py` writes the answers; a test holds every answer against its model here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from foliot.core.time.trigger import Type
from foliot.engine.model.event import EventType
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.schedule import ManagedBy, Overlap, Status
from foliot.features.insights.schema import Waiting
from foliot.features.schedules.schema import Skips
from foliot.servers.http.bodies import Action, Catchup, Model, RetryPolicy


class Complaint(Model):
    """One broken rule."""

    field: str
    message: str
    got: Any = None
    position: tuple[int, int] | None = None
    """Where in the text: from, and up to."""
    suggestion: str | None = None
    """The text as it may have been meant."""


class Problem(Model):
    """RFC 9457. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    cause: Literal["disk_full", "read_only", "disk_error", "busy", "away"] | None = None
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
    paused_at: datetime | None
    paused_by: str | None
    skips: Skips | None
    """The instant ahead that somebody wants skipped."""
    fault: str | None
    """Why it is silent although active: its row was damaged. Resuming or replacing it mends it."""
    managed_by: ManagedBy
    """Who looks after it. One of `file` is edited in its file; here it can be paused, resumed and run."""
    summary: str
    """The trigger in words."""
    next_run_at: datetime | None
    """The next instant that makes a run: one that is to be skipped is passed over."""
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
    """What came back. Lists leave out one of more than 2 KiB: the run by its id has it."""
    retry_at: datetime | None


class Run(Model):
    """One execution, with its ended attempts."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    schedule_name: str | None
    """What its schedule is called now."""
    schedule_version: int | None
    kind: str
    origin: Origin
    state: RunState
    buffered: bool
    """Waits for its predecessor."""
    parked: bool
    """Its effect goes on elsewhere; it takes no slot."""
    cancel_requested: bool
    scheduled_for: datetime | None
    fills: datetime | None
    """The instant that it makes up for: a backfill's, or that of the run it repeats."""
    """Its instant; none when somebody asked for the run."""
    ready_at: datetime
    waiting: Waiting | None
    """Why it was not started although it was ready; it is looked at again at `ready_at`."""
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
    """From when it was ready for its first start to that start; retries leave it alone."""
    result: Any
    error: Failure | None
    fingerprint: str | None
    """The same for failures that are alike; only failed runs and dead letters have one."""
    parent_id: str | None
    """The run that this one repeats."""
    resolved_by: str | None
    """The replay that settled this dead letter; `discarded` when somebody threw it away."""
    action: dict[str, Any] | None
    """What this run does, when it is not what its schedule's version does."""
    attempts: list[Attempt]
    links: dict[str, str | None]


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
    """What a trigger would do, and the trigger itself, for whoever gave words."""

    summary: str
    type: Type
    cron_expr: str | None
    interval_seconds: int | None
    run_at: datetime | None
    timezone: str
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


class TrailEntry(Model):
    """One change: who, what, when, and how the thing was before and after."""

    id: str
    at: datetime
    user_id: str
    key_id: str | None
    """The API key that was shown, when one was."""
    door: str
    verb: str
    thing: str
    thing_id: str
    thing_name: str | None
    """What a schedule is called now; of other things none."""
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    seq: int | None
    """Its number in the tenant's chain, from 1 without gaps; none for the first seconds."""
    digest: str | None


class Trail(Model):
    """A page of the audit log."""

    items: list[TrailEntry]
    next_cursor: str | None


def problem(status: int, description: str) -> dict[int | str, dict[str, Any]]:
    """A response that is a problem document, for OpenAPI."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": description, "content": {"application/problem+json": {"schema": schema}}}}


UNKNOWN = problem(404, "There is no such thing, or not for you")
CONFLICT = problem(409, "Its state does not allow this")
MISMATCH = problem(412, "Somebody changed it first")
ALWAYS = {
    **problem(400, "The body is not JSON"),
    **problem(401, "No valid token or API key was shown"),
    **problem(403, "You may not do this"),
    **problem(413, "The body is too large"),
    **problem(422, "The request breaks a rule"),
    **problem(429, "Your tenant has had its share; `Retry-After` says when to come back"),
    **problem(503, "The database is away, or the keys that tokens are checked by"),
}
