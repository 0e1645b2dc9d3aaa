"""The shapes of answers about time and attention, for OpenAPI and for whoever generates a client."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.time.calendar_cells import Granularity
from foliot.engine.model.run import RunState
from foliot.features.insights.model.attention import AttentionKind, Severity
from foliot.features.schedules.schema import LocalTime
from foliot.servers.http.schema import CLOSED, declared

MarkState = RunState | Literal["planned", "missed", "skipped"]


@declared
class ProposedRequest:
    """Something to be done about it: a request as it can be sent."""

    label: str
    method: str
    path: str
    body: Any


@declared
class AttentionItem:
    """One thing that needs a person."""

    id: str
    """Stays the same as long as the trouble does."""
    kind: AttentionKind
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
    actions: list[ProposedRequest]
    """Only those that you may take."""


@declared
class AttentionReport:
    """Worst first. Empty: all is well."""

    checked_at: datetime
    items: list[AttentionItem]


@declared
class TimelineMark:
    """A run, planned instants, or instants that made no run; of those that are folded, `count` of the same."""

    at: datetime
    until: datetime | None
    state: MarkState
    count: int
    run_id: str | None
    """Of a single run."""


@declared
class TimelineRow:
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
    marks: list[TimelineMark]


@declared
class TimelineCollision:
    """A minute at which several schedules begin; those that are due all the time are not counted."""

    at: datetime
    count: int


_TimelineKey = TypedDict("_TimelineKey", {"from": datetime})


@with_config(CLOSED)
class Timeline(_TimelineKey):
    """Past runs and planned instants, at most 2,000 marks altogether."""

    to: datetime
    now: datetime
    bucket_seconds: int
    """How close together runs were folded at least."""
    groups: list[TimelineRow]
    collisions: list[TimelineCollision]
    marks: int
    dropped_groups: int
    """For which there was no room."""
    complete: bool
    """False when so many ranges of instants made no run that only the newest of them are drawn."""


@declared
class CalendarCell:
    """One hour or day."""

    at: datetime
    """When it begins."""
    local: LocalTime
    """The same on the clock of the zone."""
    counts: Mapping[RunState, int]
    """Runs that were made in it, by state."""
    total: int
    planned: int
    missed: int
    skipped: int


@declared
class Calendar:
    """Every hour or day of the stretch, in order."""

    timezone: str
    granularity: Granularity
    exact: bool
    """False when there is so much that planned instants of some schedules, or long ranges of instants that made no run,
    are spread evenly or left out. Runs are always counted."""
    items: list[CalendarCell]
