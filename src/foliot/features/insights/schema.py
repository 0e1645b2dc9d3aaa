"""The shapes of answers about time and attention, for OpenAPI and for whoever generates a client."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from foliot.core.time.calendar_cells import Granularity
from foliot.engine.model.run import RunState
from foliot.features.insights.model.attention import Kind, Severity
from foliot.servers.http.bodies import Model


class Waiting(Model):
    """Why a run that was ready has not begun: no attempt was made of it."""

    code: str
    """`waiting_target`: its target has its share of the slots. `waiting_breaker`: its target does not answer and is
    left alone until its next trial. `waiting_share`: its tenant has its share."""
    message: str


class OutcomeModel(Model):
    """How one run ended."""

    run_id: str
    state: RunState
    duration_ms: float | None
    at: datetime
    """When it ended."""


class ScheduleHealth(Model):
    """How one schedule fares."""

    schedule_id: str
    outcomes: list[OutcomeModel]
    """Its last 20, oldest first."""
    success_ratio: float | None
    """Of those that succeeded or failed, from 0 to 1."""
    avg_duration_ms: float | None
    """Of those that succeeded."""
    failing_since: datetime | None
    """When the first failure since the last success ended, as far as the outcomes go back."""
    streak: int
    """Failures since the last success, as far as the outcomes go back."""


class ScheduleHealths(Model):
    """Those that are there, in the order asked for."""

    items: list[ScheduleHealth]


class ActionModel(Model):
    """Something to be done about it: a request as it can be sent."""

    label: str
    method: str
    path: str
    body: Any


class AttentionItem(Model):
    """One thing that needs a person."""

    id: str
    """Stays the same as long as the trouble does."""
    kind: Kind
    severity: Severity
    title: str
    reason: str
    since: datetime | None
    count: int
    schedule_id: str | None
    run_id: str | None
    queue: str | None
    worker: str | None
    q: str | None
    """The filter of runs that proves it."""
    actions: list[ActionModel]
    """Only those that you may take."""


class AttentionList(Model):
    """Worst first. Empty: all is well."""

    checked_at: datetime
    items: list[AttentionItem]


class MarkModel(Model):
    """A run, planned instants, or instants that made no run; of those that are folded, `count` of the same."""

    at: datetime
    until: datetime | None
    state: RunState | Literal["planned", "missed", "skipped"]
    count: int
    run_id: str | None
    """Of a single run."""


class GroupModel(Model):
    """One row of a timeline."""

    key: str
    """A schedule's id, a tag or a queue; empty for runs without a schedule."""
    name: str
    kind: str | None
    schedule_id: str | None
    summary: str | None
    timezone: str | None
    runs: int
    planned: int
    folded: bool
    """Some marks stand for several."""
    marks: list[MarkModel]


class CollisionModel(Model):
    """A minute at which several schedules begin; those that are due all the time are not counted."""

    at: datetime
    count: int


class TimelineModel(Model):
    """Past runs and planned instants, at most 2,000 marks altogether."""

    from_: datetime = Field(alias="from")
    to: datetime
    now: datetime
    bucket_seconds: int
    """How close together runs were folded at least."""
    groups: list[GroupModel]
    collisions: list[CollisionModel]
    marks: int
    dropped_groups: int
    """For which there was no room."""
    complete: bool
    """False when so many ranges of instants made no run that only the newest of them are drawn."""


class CellModel(Model):
    """One hour or day."""

    at: datetime
    """When it begins."""
    local: datetime
    """The same on the clock of the zone."""
    counts: dict[RunState, int]
    """Runs that were made in it, by state."""
    total: int
    planned: int
    missed: int
    skipped: int


class CalendarModel(Model):
    """Every hour or day of the stretch, in order."""

    timezone: str
    granularity: Granularity
    exact: bool
    """False when there is so much that planned instants of some schedules, or long ranges of instants that made no run,
    are spread evenly or left out. Runs are always counted."""
    items: list[CellModel]
