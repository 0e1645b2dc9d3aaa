"""Requests and answers about channels, alert rules and alerts; those that are read stand in the model."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from foliot.core.declaration import declared
from foliot.features.alerts.model import alert as alert_model
from foliot.features.alerts.model import rule as rule_model
from foliot.features.alerts.model.alert import AlertState, AlertView, DeliveryEvent, DeliveryState, SubjectKind
from foliot.features.alerts.model.channel import ChannelKind, ChannelRequest
from foliot.features.alerts.model.rule import (
    AfterThreshold,
    AlertEvent,
    AlertRulePreviewRequest,
    AlertRuleRequest,
    AlertSeverity,
    Duration,
    QuietTimes,
    SnoozeRequest,
)
from foliot.features.alerts.preview import RulePreview
from foliot.features.alerts.usecases import rules
from foliot.features.alerts.usecases.channels import ChannelView
from foliot.servers.http.schema import Name


@declared
class ChannelChange:
    """Fields to change; a credential that is `***` stays as it was."""

    name: Name | None = None
    config: dict[str, Any] | None = None


@declared
class AlertDelivery:
    """A message for one channel, and what became of it."""

    id: str
    channel_id: str
    alert_id: str | None
    event: DeliveryEvent
    state: DeliveryState
    attempts: int
    created_at: datetime
    next_attempt_at: datetime | None
    sent_at: datetime | None
    error: str | None
    grouped: int
    """How many alerts the message reported together."""
    instead_of: str | None
    """The channel that this one stands in for: it had failed for good."""

    @classmethod
    def of(cls, one: alert_model.Delivery) -> AlertDelivery:
        return cls(
            id=one.id,
            channel_id=one.channel_id,
            alert_id=one.alert_id,
            event=one.event,
            state=one.state,
            attempts=one.attempts,
            created_at=one.created_at,
            next_attempt_at=one.ready_at,
            sent_at=one.sent_at,
            error=one.error,
            grouped=one.grouped,
            instead_of=one.instead_of,
        )


@declared
class NotificationChannel:
    """A channel. Credentials are masked."""

    id: str
    name: str
    kind: ChannelKind
    config: dict[str, Any]
    created_by: str
    created_at: datetime
    updated_at: datetime
    failing: bool
    """Whether its last message failed for good: the tenant's other channels stand in for it."""
    last_error: str | None
    last_delivery: AlertDelivery | None

    @classmethod
    def of(cls, one: ChannelView) -> NotificationChannel:
        channel = one.channel
        return cls(
            id=channel.id,
            name=channel.name,
            kind=channel.kind,
            config=channel.shown(),
            created_by=channel.created_by,
            created_at=channel.created_at,
            updated_at=channel.updated_at,
            failing=channel.failing,
            last_error=channel.last_error if channel.failing else None,
            last_delivery=None if one.last is None else AlertDelivery.of(one.last),
        )


@declared
class ChannelPage:
    """The channels of the tenant, by name."""

    items: list[NotificationChannel]
    next_cursor: str | None


@declared
class AlertRuleChange:
    """Fields of a rule to change."""

    name: Name | None = None
    on: list[AlertEvent] | None = None
    filter: Annotated[str, Field(max_length=1000)] | None = None
    after: AfterThreshold | int | None = None
    late_after: Duration | None = None
    slow_after: Duration | None = None
    remind_every: Duration | None = None
    quiet: QuietTimes | None = None
    severity: AlertSeverity | None = None
    to: list[str] | None = None
    enabled: bool | None = None


@declared
class AlertRule:
    """An alert rule."""

    id: str
    name: str
    on: list[AlertEvent]
    filter: str
    after: dict[str, Any]
    late_after: str
    """How long a schedule must be overdue to be `late`."""
    slow_after: str | None
    """How long a run may take before it is `slow`."""
    remind_every: str | None
    quiet: dict[str, str] | None
    severity: AlertSeverity
    to: list[str]
    """Channels, by id."""
    enabled: bool
    schedule_id: str | None
    """The schedule whose document declares this rule by `alert`; it is changed there."""
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, one: rule_model.AlertRuleRecord) -> AlertRule:
        said = one.settings.as_dict()
        return cls(
            id=one.id,
            name=one.settings.name,
            on=list(one.settings.on),
            filter=one.settings.filter,
            after=said["after"],
            late_after=said["late_after"],
            slow_after=said["slow_after"],
            remind_every=said["remind_every"],
            quiet=said["quiet"],
            severity=one.settings.severity,
            to=list(one.settings.to),
            enabled=one.settings.enabled,
            schedule_id=one.schedule_id,
            created_by=one.created_by,
            created_at=one.created_at,
            updated_at=one.updated_at,
        )


@declared
class NotifyingRule:
    """A rule that is about a schedule, and the channels that it notifies, by name."""

    id: str
    name: str
    on: list[AlertEvent]
    after: dict[str, Any]
    severity: AlertSeverity
    filter: str
    """Why it is about this schedule: it matches; an empty filter matches every schedule."""
    channels: list[str]
    declared: bool
    """Whether the schedule's own document declares it, by `alert`."""

    @classmethod
    def of(cls, one: rules.RuleOfSchedule) -> NotifyingRule:
        settings = one.rule.settings
        return cls(
            id=one.rule.id,
            name=settings.name,
            on=list(settings.on),
            after=settings.after.as_dict(),
            severity=settings.severity,
            filter=settings.filter,
            channels=list(one.channels),
            declared=one.rule.schedule_id is not None,
        )


@declared
class NotifyingRulePage:
    """The enabled rules that are about a schedule, by name. Empty: it notifies no channel."""

    items: list[NotifyingRule]


@declared
class AlertRulePage:
    """The alert rules of the tenant, by name."""

    items: list[AlertRule]
    next_cursor: str | None


@declared
class SubjectOfAlert:
    """What an alert is about."""

    kind: SubjectKind
    id: str
    name: str


@declared
class PreviewItem:
    """One message that the rule would have sent."""

    at: datetime
    event: AlertEvent
    subject: SubjectOfAlert
    would_say: str


@declared
class AlertRulePreview:
    """What the rule would have reported, newest first."""

    items: list[PreviewItem]
    total: int
    whole: bool
    """False when more runs ended in that time than a preview reads."""
    unknown: list[AlertEvent]
    """Events of the rule about whose past nothing is kept: they are not in the preview."""

    @classmethod
    def of(cls, one: RulePreview) -> AlertRulePreview:
        items = [
            PreviewItem(
                at=each.at,
                event=each.event,
                subject=SubjectOfAlert(kind=each.subject.kind, id=each.subject.id, name=each.subject.name),
                would_say=each.would_say,
            )
            for each in one.items
        ]
        return cls(items=items, total=one.total, whole=one.whole, unknown=list(one.unknown))


@declared
class AlertDetail:
    """An alert, and the messages about it."""

    id: str
    rule_id: str
    event: AlertEvent
    severity: AlertSeverity
    state: AlertState
    subject: SubjectOfAlert
    count: int
    """How often it happened while the alert was open."""
    first_at: datetime
    """When the first failure that it counts happened: `opened_at` is when the threshold was reached."""
    opened_at: datetime
    last_at: datetime
    acknowledged_by: str | None
    acknowledged_at: datetime | None
    snoozed_until: datetime | None
    resolved_at: datetime | None
    resolved_by: str | None
    summary: str
    reason: str
    run_id: str | None
    deliveries: list[AlertDelivery]

    @classmethod
    def of(cls, one: AlertView) -> AlertDetail:
        alert = one.alert
        return cls(
            id=alert.id,
            rule_id=alert.rule_id,
            event=alert.event,
            severity=alert.severity,
            state=alert.state,
            subject=SubjectOfAlert(kind=alert.subject.kind, id=alert.subject.id, name=alert.subject.name),
            count=alert.count,
            first_at=alert.first_at,
            opened_at=alert.opened_at,
            last_at=alert.last_at,
            acknowledged_by=alert.acknowledged_by,
            acknowledged_at=alert.acknowledged_at,
            snoozed_until=alert.snoozed_until,
            resolved_at=alert.resolved_at,
            resolved_by=alert.resolved_by,
            summary=alert.summary,
            reason=alert.reason,
            run_id=alert.run_id,
            deliveries=[AlertDelivery.of(each) for each in one.deliveries],
        )


@declared
class AlertPage:
    """A page of alerts, newest first."""

    items: list[AlertDetail]
    next_cursor: str | None


@declared
class AlertCounts:
    """Alerts that are not resolved."""

    open: int
    acknowledged: int


__all__ = ["AlertRulePreviewRequest", "AlertRuleRequest", "ChannelRequest", "SnoozeRequest"]
