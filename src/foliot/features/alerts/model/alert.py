"""Alerts and their deliveries: states, and how long failed deliveries wait for their next attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from foliot.features.alerts.model.rule import AlertEvent, AlertSeverity

ALERT = "alr"
DELIVERY = "dlv"
ALERTS_TOPIC = "alerts"
"""Wakes the sender, and readers of alerts."""
GATHER = timedelta(seconds=2)
"""A delivery waits this long for others of its rule, so that a storm becomes one message."""
STORM = 20
"""More alerts of one rule within a minute are sent as one message."""
MINUTE = timedelta(seconds=60)
MOST_ATTEMPTS = 8
"""Attempts of one delivery, over about half an hour; then it is a dead letter of its channel."""
MOST_TEXT = 500
_REFUSED = dict.fromkeys([*range(32), 127, *range(0xD800, 0xE000)], " ")
"""Control characters, and halves of surrogate pairs."""


class AlertState(StrEnum):
    """open → acknowledged → resolved; an acknowledged alert sends no reminders."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class DeliveryEvent(StrEnum):
    """What a message reports."""

    OPENED = "opened"
    REMINDED = "reminded"
    RESOLVED = "resolved"
    TEST = "test"


class DeliveryState(StrEnum):
    """pending → sent, or dead after the last attempt; skipped when there is nothing left to report."""

    PENDING = "pending"
    SENT = "sent"
    DEAD = "dead"
    SKIPPED = "skipped"


class SubjectKind(StrEnum):
    """What alerts are about."""

    SCHEDULE = "schedule"
    RUN = "run"
    """A run without a schedule."""
    MONITOR = "monitor"
    QUEUE = "queue"
    WORKER = "worker"
    INSTALLATION = "installation"


@dataclass(frozen=True, slots=True)
class AlertSubject:
    """What an alert is about."""

    kind: SubjectKind
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One problem that a rule noticed; there is at most one open alert per rule and subject."""

    id: str
    tenant_id: str
    rule_id: str
    event: AlertEvent
    severity: AlertSeverity
    state: AlertState
    subject: AlertSubject
    count: int
    """Failures, those before it was opened included."""
    first_at: datetime
    """When the first of them happened."""
    opened_at: datetime
    last_at: datetime
    summary: str
    reason: str
    run_id: str | None = None
    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    snoozed_until: datetime | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None
    remind_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One message for one channel."""

    id: str
    tenant_id: str
    alert_id: str | None
    rule_id: str | None
    channel_id: str
    event: DeliveryEvent
    state: DeliveryState
    attempts: int
    ready_at: datetime | None
    created_at: datetime
    sent_at: datetime | None = None
    error: str | None = None
    grouped: int = 1
    """How many alerts the message reported together."""
    instead_of: str | None = None
    """The channel that this one stands in for: the first had failed for good."""


@dataclass(frozen=True, slots=True)
class AlertView:
    """An alert with its deliveries."""

    alert: Alert
    deliveries: Sequence[Delivery] = ()


@dataclass(frozen=True, slots=True)
class AlertFinding:
    """Something that rules are asked about: an event of a subject, under each name that rules know it by."""

    tenant_id: str
    events: tuple[AlertEvent, ...]
    subject: AlertSubject
    at: datetime
    summary: str
    reason: str
    run_id: str | None = None
    over: bool = False
    """Whether it reports that the problem is over."""
    failed_at: Sequence[datetime] = ()
    """When its subject failed lately, this time included; for a subject whose failures are no runs."""


def retry_delay(attempts: int, retry_after: timedelta | None) -> timedelta:
    """How long a delivery waits after so many attempts; a target's `Retry-After` is honoured up to an hour."""
    usual = timedelta(seconds=min(15 * 2 ** min(attempts - 1, 8), 3600))
    return usual if retry_after is None else max(usual, min(retry_after, timedelta(hours=1)))


def clipped(text: str, most: int = MOST_TEXT) -> str:
    """The text on one line, cut to so many characters; without what no database or service takes."""
    line = " ".join(text.translate(_REFUSED).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
