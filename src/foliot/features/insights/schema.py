"""Response schemas of attention, timeline and calendar."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.core.time.zone import Granularity
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule_sort import Urgency
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind, Severity
from foliot.features.schedules.schema import LocalTime
from foliot.servers.http.schema import CLOSED

MarkState = RunState | Literal["planned", "missed", "skipped"]


@declared
class ProposedRequest:
    """A suggested request, ready to be sent."""

    label: str
    method: str
    path: str
    body: Any


@declared
class AttentionItem:
    """One problem that needs a person."""

    id: str
    """Stable as long as the problem lasts."""
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
    """A filter of the runs that show it."""
    actions: list[ProposedRequest]
    """Only those that you may take."""

    @classmethod
    def of(cls, one: AttentionEntry) -> AttentionItem:
        return cls(
            id=one.id,
            kind=one.kind,
            severity=one.severity,
            title=one.title,
            reason=one.reason,
            since=one.since,
            count=one.count,
            schedule_id=one.schedule_id,
            run_id=one.run_id,
            queue=one.queue,
            worker=one.worker,
            q=one.q,
            actions=[
                ProposedRequest(label=each.label, method=each.method, path=each.path, body=each.body)
                for each in one.actions
            ],
        )


@declared
class AttentionReport:
    """Worst first. Empty: there is nothing to do."""

    checked_at: datetime
    items: list[AttentionItem]


@declared
class TimelineMark:
    """A run, planned instants, or instants that made no run; where folded, `count` of the same."""

    at: datetime
    until: datetime | None
    state: MarkState
    count: int
    run_id: str | None
    """For a single run."""


@declared
class TimelineRow:
    """One row of a timeline."""

    key: str
    """A schedule's or monitor's id, a tag or a queue; empty for runs without a schedule."""
    name: str
    kind: str | None
    """The kind of its runs; `monitor` for a job that runs elsewhere."""
    schedule_id: str | None
    summary: str | None
    timezone: str | None
    runs: int
    planned: int
    folded: bool
    """Whether some marks stand for several."""
    urgency: Urgency | None
    """Why the row stands where it does: it, or its most urgent schedule, is failing, missed, late, running or soon."""
    marks: list[TimelineMark]


@declared
class TimelineFold:
    """A density row: the schedules without a row of their own, by their first tag, else by their kind."""

    key: str
    """`tag:` or `kind:` and the word; empty for all others."""
    name: str
    q: str | None
    """A filter that opens it: the same timeline with this filter, or the list of schedules."""
    schedules: int
    """How many schedules it stands for that have something planned in the range."""
    runs: int
    planned: int
    marks: list[TimelineMark]


@declared
class TimelineCollision:
    """A minute at which several schedules begin; very frequent schedules are not counted."""

    at: datetime
    count: int


@declared
class TimelineLink:
    """A run that follows another: their ids, the keys of their rows, when the one ended and the other began."""

    parent: str
    child: str
    parent_key: str
    child_key: str
    ended_at: datetime
    began_at: datetime


_TimelineKey = TypedDict("_TimelineKey", {"from": datetime})


@with_config(CLOSED)
class Timeline(_TimelineKey):
    """Past runs and planned instants, at most 2,000 marks in total."""

    to: datetime
    now: datetime
    bucket_seconds: int
    """The smallest distance at which runs were folded."""
    groups: list[TimelineRow]
    """Failing schedules first, then those that missed an instant, late, running ones, and those due soonest."""
    rest: list[TimelineFold]
    """What has no row of its own, where rows are schedules."""
    collisions: list[TimelineCollision]
    links: list[TimelineLink]
    """Chains: runs with a mark of their own that follow runs of other rows."""
    marks: int
    dropped_groups: int
    """Tags or queues left out, beyond the limit. Schedules are never left out: `rest` sums up those without a row."""
    complete: bool
    """False when there are so many ranges of instants without a run that only the newest are included."""
    sampled: bool
    """Whether counts of frequent states are estimates from a random sample of about 4,000 runs, in rows that stand for
    many schedules (tags, queues and `rest`). Rare states, and rows of one schedule, are always complete."""


@declared
class CalendarCell:
    """One hour or day."""

    at: datetime
    """When it begins."""
    local: LocalTime
    """The same in local time of the zone."""
    counts: Mapping[RunState, int]
    """Runs created in it, by state."""
    total: int
    planned: int
    missed: int
    skipped: int


@declared
class Calendar:
    """Every hour or day of the range, in order."""

    timezone: str
    granularity: Granularity
    exact: bool
    """False when there are so many that planned instants of some schedules, or long ranges of instants without a run,
    are spread evenly or left out. Runs are always counted."""
    items: list[CalendarCell]
