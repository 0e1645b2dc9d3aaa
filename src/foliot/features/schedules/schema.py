"""Requests and answers about schedules: the schedule itself, its instants, and previews of a trigger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, cast

from pydantic import Field

from foliot.core.declaration import Wire, declared
from foliot.core.mask import shown
from foliot.core.time.business_days import Shift
from foliot.core.time.preview import ExcludedFires, TriggerOutlook
from foliot.core.time.trigger import After, Cron, FixedInterval, FollowOutcome, OneOff, TriggerType
from foliot.core.time.zone import zone_info
from foliot.engine.model import schedule as model
from foliot.engine.model.outcome import RetryPolicy, RetrySettings
from foliot.engine.model.schedule import (
    POLICIES,
    Catchup,
    CatchupSettings,
    ExcludedHours,
    Overlap,
    ScheduleAlert,
    ScheduleStatus,
)
from foliot.features.schedules.model.request import ActionConfig, Following
from foliot.features.schedules.usecases.chains import ChainView
from foliot.features.schedules.usecases.instants import InstantRecord
from foliot.features.schedules.usecases.versions import VersionRecord
from foliot.servers.http.schema import Name, Priority, Queue, Tags

InstantOutcome = Literal["ran", "queued", "skipped", "missed", "pruned", "planned"]
LocalTime = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""Local time in a schedule's zone, with the offset of that zone."""


@declared
class FollowedSchedules:
    """The schedules whose runs it follows, by id and by name."""

    schedule: list[str]
    outcome: FollowOutcome
    all: bool
    names: list[str]

    @classmethod
    def of(cls, rule: After | None) -> FollowedSchedules | None:
        if rule is None:
            return None
        return cls(schedule=list(rule.parents), outcome=rule.outcome, all=rule.all, names=list(rule.names))


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
    after: FollowedSchedules | None
    """Type after: the schedules that it follows."""
    timezone: str
    action: ActionConfig
    retry_policy: Annotated[RetryPolicy, Wire(RetrySettings)]
    overlap: Overlap
    catchup: Annotated[Catchup, Wire(CatchupSettings)]
    queue: str
    priority: int
    timeout_seconds: int | None
    jitter_seconds: int
    start_at: datetime | None
    end_at: datetime | None
    max_runs: int | None
    alert: ScheduleAlert | None
    """The short form of an alert rule about it."""
    exclude: Sequence[str | ExcludedHours]
    """When it does not run."""
    only: Sequence[str | ExcludedHours]
    """The only times when it runs; empty: always."""
    shift: Shift
    """What becomes of a time on a weekend or an excluded day."""
    status: ScheduleStatus
    paused_reason: str
    paused_at: datetime | None
    paused_by: str | None
    skips: SkippedInstant | None
    """The instant ahead that a user asked to skip."""
    fault: str | None
    """Why it does not fire although active: its row was damaged. Resuming or replacing it repairs it."""
    managed_by: str
    """What manages it: `api`, `code`, `preset`, `file` or `file:NAME`. One of `file` is edited in its file; here
    it can be paused, resumed and run. One of `file:NAME` was applied by `foliot apply`: an edit here is drift.
    """
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
        spec, rule = one.spec, one.spec.trigger.rule
        base = f"/api/schedules/{one.id}"
        return cls(
            id=one.id,
            tenant_id=one.tenant_id,
            user_id=one.user_id,
            name=one.name,
            description=one.description,
            tags=one.tags,
            type=spec.type,
            cron_expr=rule.expression if isinstance(rule, Cron) else None,
            interval_seconds=rule.seconds if isinstance(rule, FixedInterval) else None,
            run_at=rule.at if isinstance(rule, OneOff) else None,
            after=FollowedSchedules.of(spec.trigger.follows),
            timezone=rule.zone,
            action=cast("ActionConfig", {"kind": spec.kind, **shown(one.action)}),
            retry_policy=spec.retry,
            start_at=spec.trigger.start_at,
            end_at=spec.trigger.end_at,
            **{name: getattr(spec, name) for name in POLICIES},
            status=one.status,
            paused_reason=one.paused_reason,
            paused_at=one.paused_at,
            paused_by=one.paused_by,
            skips=None if one.skip_at is None else SkippedInstant(at=one.skip_at, by=one.skip_by),
            fault=one.fault,
            managed_by=str(one.managed_by),
            summary=spec.trigger.summary,
            next_run_at=one.next_run_at,
            last_run_at=one.last_run_at,
            version=one.version,
            created_at=one.created_at,
            updated_at=one.updated_at,
            links={"self": base, "runs": f"{base}/runs", "instants": f"{base}/instants", "chain": f"{base}/chain"},
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
class ChainedSchedule:
    """A schedule of a chain."""

    id: str
    name: str
    type: TriggerType
    status: ScheduleStatus
    summary: str
    state: str | None
    """How its newest ended run ended."""
    run_id: str | None


@declared
class ScheduleLink:
    """One schedule that follows another."""

    parent: str
    child: str
    outcome: FollowOutcome
    all: bool


@declared
class ScheduleChain:
    """The schedules that one follows, directly or not, and those that follow it; itself among them."""

    schedules: list[ChainedSchedule]
    links: list[ScheduleLink]

    @classmethod
    def of(cls, chain: ChainView) -> ScheduleChain:
        by_id = {node.schedule.id: node.schedule for node in chain.nodes}
        rules = {schedule_id: schedule.spec.trigger.follows for schedule_id, schedule in by_id.items()}
        return cls(
            schedules=[
                ChainedSchedule(
                    id=node.schedule.id,
                    name=node.schedule.name,
                    type=node.schedule.spec.type,
                    status=node.schedule.status,
                    summary=node.schedule.spec.trigger.summary,
                    state=None if node.state is None else node.state.value,
                    run_id=node.run_id,
                )
                for node in chain.nodes
            ],
            links=[
                ScheduleLink(parent=link.parent_id, child=link.child_id, outcome=rule.outcome, all=rule.all)
                for link in chain.links
                if (rule := rules.get(link.child_id)) is not None
            ],
        )


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
class ScheduleVersion:
    """What an edit, a pause or a resume of a schedule left in force."""

    version: int
    at: datetime
    status: Literal["active", "paused"]
    """Whether instants made runs under it: paused, completed and deleted schedules make none."""
    reason: str
    user_id: str | None
    """Who made it; null unless you may read the audit log."""
    change: str | None
    """The action in the audit log, such as `create`, `patch` or `pause`."""
    settings: dict[str, object] | None
    """The fields of a request but `name`, `description` and `tags`, which have no versions; credentials are masked."""

    @classmethod
    def of(cls, one: VersionRecord) -> ScheduleVersion:
        return cls(
            version=one.version,
            at=one.at,
            status="active" if one.active else "paused",
            reason=one.reason,
            user_id=one.user_id,
            change=one.change,
            settings=None if one.settings is None else dict(one.settings),
        )


@declared
class ScheduleVersionPage:
    """A page of versions."""

    items: list[ScheduleVersion]
    next_cursor: str | None


@declared
class PreviewInstant:
    """An instant, in UTC and in local time of the zone."""

    at: datetime
    local: LocalTime


@declared
class ExcludedTimes:
    """Instants in a row that make no run."""

    first: datetime
    last: datetime
    first_local: LocalTime
    last_local: LocalTime
    count: int
    reason: str

    @classmethod
    def of(cls, one: ExcludedFires, zone: str) -> ExcludedTimes:
        local = zone_info(zone)
        return cls(
            first=one.first,
            last=one.last,
            first_local=one.first.astimezone(local).isoformat(),
            last_local=one.last.astimezone(local).isoformat(),
            count=one.count,
            reason=one.reason,
        )


@declared
class SchedulePreview:
    """The next instants of a trigger, and its fields: a request may have described it in `words`."""

    summary: str
    type: TriggerType
    cron_expr: str | None
    interval_seconds: int | None
    run_at: datetime | None
    after: FollowedSchedules | None
    start_at: datetime | None
    """The first instant of an interval whose `words` name a day or a time: send it along when you create it."""
    timezone: str
    next: list[PreviewInstant]
    """The next instants that make a run."""
    excluded: list[ExcludedTimes]
    """What is excluded until the last of them, at most fifty."""
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
            after=FollowedSchedules.of(one.trigger.follows),
            start_at=trigger["start_at"],
            timezone=trigger["timezone"],
            next=[PreviewInstant(at=fire.at, local=fire.local) for fire in one.fires],
            excluded=[ExcludedTimes.of(each, one.trigger.rule.zone) for each in one.excluded],
            notes=one.notes,
        )


@declared(extra=True, example={"name": "New name", "retry_policy": {"max_retries": 5}})
class SchedulePatch:
    """Any of a schedule's fields; a null resets one to its default."""

    name: Name | None = None
    description: str | None = None
    tags: Tags | None = None
    type: TriggerType | None = None
    cron_expr: str | None = None
    interval_seconds: int | None = None
    after: Following | None = None
    timezone: str | None = None
    queue: Queue | None = None
    priority: Priority | None = None


@declared
class SkippedInstant:
    """An instant that will make no run, and who asked for that."""

    at: datetime
    by: str | None


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
