"""Channels, alert rules, alerts and their deliveries.

Revision ID: 0022
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, blob, key, prose

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "channels",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("kind", key(16), nullable=False),
        sa.Column("config", Document(), nullable=False),
        sa.Column("sealed_with", key(40), nullable=True),
        sa.Column("sealed", blob(), nullable=True),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_sent_at", Moment(), nullable=True),
        sa.Column("last_error", sa.String(500), nullable=True),
        sa.Column("last_error_at", Moment(), nullable=True),
        *_readable("created_at", "updated_at", "last_sent_at", "last_error_at"),
        sa.CheckConstraint(
            "kind IN ('webhook', 'email', 'slack', 'discord', 'teams', 'telegram', 'pagerduty"
            "', 'opsgenie', 'ntfy', 'gotify', 'apprise')",
            name=op.f("ck_channels_ck_channels_kind"),
        ),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_channels_ck_channels_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channels")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_channels_tenant_id_name")),
    )
    op.create_table(
        "alert_rules",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False, server_default=sa.text("true")),
        sa.Column("spec", Document(), nullable=False),
        sa.Column("schedule_id", key(40), nullable=True),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        *_readable("created_at", "updated_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_alert_rules_ck_alert_rules_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rules")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_alert_rules_tenant_id_name")),
        sa.UniqueConstraint("schedule_id", name=op.f("uq_alert_rules_schedule_id")),
    )
    op.create_table(
        "alert_streaks",
        sa.Column("streak_of", key(160), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("rule_id", key(40), nullable=False),
        sa.Column("subject_id", key(100), nullable=False),
        sa.Column("in_a_row", sa.Integer(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        *_readable("updated_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_alert_streaks_ck_alert_streaks_tenant")),
        sa.PrimaryKeyConstraint("streak_of", name=op.f("pk_alert_streaks")),
    )
    op.create_index(op.f("ix_alert_streaks_tenant_id_subject_id"), "alert_streaks", ["tenant_id", "subject_id"])
    op.create_index(op.f("ix_alert_streaks_updated_at"), "alert_streaks", ["updated_at"])
    op.create_table(
        "alerts",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("rule_id", key(40), nullable=False),
        sa.Column("open_of", key(160), nullable=True),
        sa.Column("event", key(16), nullable=False),
        sa.Column("severity", key(16), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("subject_kind", key(16), nullable=False),
        sa.Column("subject_id", key(100), nullable=False),
        sa.Column("subject_name", sa.String(200), nullable=False),
        sa.Column("occurrences", sa.BigInteger(), nullable=False, server_default="1"),
        sa.Column("summary", sa.String(500), nullable=False),
        sa.Column("reason", prose(), nullable=False),
        sa.Column("run_id", key(40), nullable=True),
        sa.Column("opened_at", Moment(), nullable=False),
        sa.Column("last_at", Moment(), nullable=False),
        sa.Column("acknowledged_by", key(200), nullable=True),
        sa.Column("acknowledged_at", Moment(), nullable=True),
        sa.Column("snoozed_until", Moment(), nullable=True),
        sa.Column("resolved_at", Moment(), nullable=True),
        sa.Column("resolved_by", key(200), nullable=True),
        sa.Column("remind_at", Moment(), nullable=True),
        *_readable("opened_at", "last_at", "acknowledged_at", "snoozed_until", "resolved_at", "remind_at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_alerts_ck_alerts_tenant")),
        sa.CheckConstraint("(open_of IS NULL) = (state = 'resolved')", name=op.f("ck_alerts_ck_alerts_open")),
        sa.CheckConstraint(
            "event IN ('failed', 'dead_letter', 'late', 'missed', 'slow', 'degraded', 'change"
            "d', 'recovered', 'finished', 'queue_stuck', 'worker_lost', 'node_silent')",
            name=op.f("ck_alerts_ck_alerts_event"),
        ),
        sa.CheckConstraint("(resolved_at IS NULL) = (state <> 'resolved')", name=op.f("ck_alerts_ck_alerts_resolved")),
        sa.CheckConstraint("severity IN ('warning', 'critical')", name=op.f("ck_alerts_ck_alerts_severity")),
        sa.CheckConstraint("state IN ('open', 'acknowledged', 'resolved')", name=op.f("ck_alerts_ck_alerts_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sa.UniqueConstraint("open_of", name=op.f("uq_alerts_open_of")),
    )
    op.create_index(op.f("ix_alerts_remind_at"), "alerts", ["remind_at"], **_where_set("remind_at"))
    op.create_index(op.f("ix_alerts_resolved_at"), "alerts", ["resolved_at"])
    op.create_index(op.f("ix_alerts_tenant_id_state_id"), "alerts", ["tenant_id", "state", "id"])
    op.create_index(op.f("ix_alerts_tenant_id_subject_id_state"), "alerts", ["tenant_id", "subject_id", "state"])
    op.create_table(
        "alert_deliveries",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("alert_id", key(40), nullable=True),
        sa.Column("rule_id", key(40), nullable=True),
        sa.Column("channel_id", key(40), nullable=False),
        sa.Column("event", key(16), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("ready_at", Moment(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("token", key(40), nullable=True),
        sa.Column("lease_until", Moment(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("sent_at", Moment(), nullable=True),
        sa.Column("error", sa.String(500), nullable=True),
        sa.Column("grouped", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("instead_of", key(40), nullable=True),
        *_readable("ready_at", "lease_until", "created_at", "sent_at"),
        sa.CheckConstraint(
            "(ready_at IS NULL) = (state <> 'pending')", name=op.f("ck_alert_deliveries_ck_alert_deliveries_ready")
        ),
        sa.CheckConstraint(
            "state IN ('pending', 'sent', 'dead', 'skipped')",
            name=op.f("ck_alert_deliveries_ck_alert_deliveries_state"),
        ),
        sa.CheckConstraint(
            "event IN ('opened', 'reminded', 'resolved', 'test')",
            name=op.f("ck_alert_deliveries_ck_alert_deliveries_event"),
        ),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_alert_deliveries_ck_alert_deliveries_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_deliveries")),
        sa.UniqueConstraint(
            "alert_id",
            "channel_id",
            "event",
            "created_at",
            name=op.f("uq_alert_deliveries_alert_id_channel_id_event_created_at"),
        ),
    )
    op.create_index(op.f("ix_alert_deliveries_alert_id"), "alert_deliveries", ["alert_id"])
    op.create_index(op.f("ix_alert_deliveries_channel_id_sent_at"), "alert_deliveries", ["channel_id", "sent_at"])
    op.create_index(op.f("ix_alert_deliveries_ready_at"), "alert_deliveries", ["ready_at"], **_where_set("ready_at"))


def downgrade() -> None:
    """Take them away."""
    for name in ("alert_deliveries", "alerts", "alert_streaks", "alert_rules", "channels"):
        op.drop_table(name)


def _where_set(column: str) -> dict[str, Any]:
    condition = sa.text(f"{column} IS NOT NULL")
    return {"postgresql_where": condition, "sqlite_where": condition}


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
