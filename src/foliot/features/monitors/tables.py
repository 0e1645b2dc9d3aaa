"""Tables of monitors and their pings."""

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

from foliot.db.metadata import Document, Moment, key, metadata, one_of, prose, tenant, where_set
from foliot.features.monitors.model import MonitorStatus, PingKind

monitors = Table(
    "monitors",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", key(200), nullable=False),
    # When a ping is expected, as a trigger.
    Column("spec", Document, nullable=False),
    Column("grace_seconds", Integer, nullable=False),
    Column("tags", Document, nullable=False),
    Column("status", key(16), nullable=False),
    # SHA-256 of the ping key, and the id of the master key that the ping key is derived with.
    Column("digest", key(64), nullable=False, unique=True),
    Column("key_of", key(40), nullable=False),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("last_ping_at", Moment),
    Column("last_duration_ms", BigInteger),
    Column("started_at", Moment),
    Column("next_expected_at", Moment),
    # When silence becomes an event, and which.
    Column("alert_at", Moment),
    Column("alert_as", key(8)),
    # The first expected time of the present silence: its entry in the ledger is extended.
    Column("gap_first", Moment),
    Column("pings", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("tenant_id", "name"),
    CheckConstraint(one_of("status", MonitorStatus), name="status"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint("alert_as IN ('late', 'missed')", name="event"),
    CheckConstraint("(alert_at IS NULL) = (alert_as IS NULL)", name="deadline"),
    Index("ix_monitors_alert_at", "alert_at", **where_set("alert_at")),  # type: ignore[arg-type]
)

pings = Table(
    "monitor_pings",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("monitor_id", key(40), nullable=False),
    Column("kind", key(16), nullable=False),
    Column("at", Moment, nullable=False),
    Column("method", key(8), nullable=False),
    Column("exit_code", Integer),
    Column("duration_ms", BigInteger),
    Column("rid", key(64)),
    Column("user_agent", String(200), nullable=False),
    Column("body", prose(), nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    # The expected time that it answers.
    Column("expected_at", Moment),
    Column("late", Boolean, nullable=False, server_default=text("false")),
    CheckConstraint(one_of("kind", PingKind), name="kind"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "monitor_id", "id"),
)
