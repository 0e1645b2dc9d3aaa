"""Tables of channels, alert rules, alerts and deliveries."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    text,
)

from foliot.db.metadata import Document, Moment, blob, key, metadata, one_of, prose, tenant, where_set
from foliot.features.alerts.model.alert import AlertState, DeliveryEvent, DeliveryState
from foliot.features.alerts.model.channel import ChannelKind
from foliot.features.alerts.model.rule import AlertEvent, AlertSeverity

channels = Table(
    "channels",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", key(200), nullable=False),
    Column("kind", key(16), nullable=False),
    Column("config", Document, nullable=False),
    # Its credentials as one encrypted document, and the key that encrypted it.
    Column("sealed_with", key(40)),
    Column("sealed", blob()),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("last_sent_at", Moment),
    Column("last_error", String(500)),
    Column("last_error_at", Moment),
    UniqueConstraint("tenant_id", "name"),
    CheckConstraint(one_of("kind", ChannelKind), name="kind"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

alert_rules = Table(
    "alert_rules",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", key(200), nullable=False),
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    # As a request says it, channels by id.
    Column("spec", Document, nullable=False),
    # The schedule whose document declares it.
    Column("schedule_id", key(40)),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("tenant_id", "name"),
    UniqueConstraint("schedule_id"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)

alert_streaks = Table(
    "alert_streaks",
    metadata,
    # Rule and subject. Its row is locked while failures are counted, so that concurrent endings count each other.
    Column("streak_of", key(160), primary_key=True),
    tenant(),
    Column("rule_id", key(40), nullable=False),
    Column("subject_id", key(100), nullable=False),
    Column("in_a_row", Integer, nullable=False),
    # When the first of them ended.
    Column("first_at", Moment),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "tenant_id", "subject_id"),
    Index(None, "updated_at"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("rule_id", key(40), nullable=False),
    # Rule and subject while the alert is not resolved: there is never more than one.
    Column("open_of", key(160), unique=True),
    Column("event", key(16), nullable=False),
    Column("severity", key(16), nullable=False),
    Column("state", key(16), nullable=False),
    Column("subject_kind", key(16), nullable=False),
    Column("subject_id", key(100), nullable=False),
    Column("subject_name", String(200), nullable=False),
    Column("occurrences", BigInteger, nullable=False, server_default="1"),
    Column("summary", String(500), nullable=False),
    Column("reason", prose(), nullable=False),
    Column("run_id", key(40)),
    # When the first failure that it counts happened; an alert is opened by the one that reaches the threshold.
    Column("first_at", Moment),
    Column("opened_at", Moment, nullable=False),
    Column("last_at", Moment, nullable=False),
    Column("acknowledged_by", key(200)),
    Column("acknowledged_at", Moment),
    Column("snoozed_until", Moment),
    Column("resolved_at", Moment),
    Column("resolved_by", key(200)),
    # When its next reminder is due; NULL when there is none.
    Column("remind_at", Moment),
    CheckConstraint(one_of("event", AlertEvent), name="event"),
    CheckConstraint(one_of("severity", AlertSeverity), name="severity"),
    CheckConstraint(one_of("state", AlertState), name="state"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("(open_of IS NULL) = (state = 'resolved')", name="open"),
    CheckConstraint("(resolved_at IS NULL) = (state <> 'resolved')", name="resolved"),
    Index(None, "tenant_id", "state", "id"),
    Index(None, "tenant_id", "subject_id", "state"),
    Index("ix_alerts_remind_at", "remind_at", **where_set("remind_at")),  # type: ignore[arg-type]
    Index(None, "resolved_at"),
)

deliveries = Table(
    "alert_deliveries",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    # NULL for a test of the channel.
    Column("alert_id", key(40)),
    Column("rule_id", key(40)),
    Column("channel_id", key(40), nullable=False),
    Column("event", key(16), nullable=False),
    Column("state", key(16), nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    # When it may be sent; NULL when it is settled.
    Column("ready_at", Moment),
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("token", key(40)),
    Column("lease_until", Moment),
    Column("created_at", Moment, nullable=False),
    Column("sent_at", Moment),
    Column("error", String(500)),
    Column("grouped", Integer, nullable=False, server_default="1"),
    # The channel that this one stands in for: the first had failed for good.
    Column("instead_of", key(40)),
    UniqueConstraint("alert_id", "channel_id", "event", "created_at"),
    CheckConstraint(one_of("event", DeliveryEvent), name="event"),
    CheckConstraint(one_of("state", DeliveryState), name="state"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("(ready_at IS NULL) = (state <> 'pending')", name="ready"),
    Index("ix_alert_deliveries_ready_at", "ready_at", **where_set("ready_at")),  # type: ignore[arg-type]
    Index(None, "alert_id"),
    Index(None, "channel_id", "sent_at"),
)
