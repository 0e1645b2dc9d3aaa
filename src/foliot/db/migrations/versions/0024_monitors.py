"""Monitors and their pings.

Revision ID: 0024
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key, prose

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "monitors",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("spec", Document(), nullable=False),
        sa.Column("grace_seconds", sa.Integer(), nullable=False),
        sa.Column("tags", Document(), nullable=False),
        sa.Column("status", key(16), nullable=False),
        sa.Column("digest", key(64), nullable=False),
        sa.Column("key_of", key(40), nullable=False),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.Column("last_ping_at", Moment(), nullable=True),
        sa.Column("last_duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("started_at", Moment(), nullable=True),
        sa.Column("next_expected_at", Moment(), nullable=True),
        sa.Column("alert_at", Moment(), nullable=True),
        sa.Column("alert_as", key(8), nullable=True),
        sa.Column("pings", sa.BigInteger(), nullable=False, server_default="0"),
        *_readable("created_at", "updated_at", "last_ping_at", "started_at", "next_expected_at", "alert_at"),
        sa.CheckConstraint(
            "status IN ('new', 'up', 'late', 'down', 'paused')", name=op.f("ck_monitors_ck_monitors_status")
        ),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_monitors_ck_monitors_tenant")),
        sa.CheckConstraint("alert_as IN ('late', 'missed')", name=op.f("ck_monitors_ck_monitors_event")),
        sa.CheckConstraint("(alert_at IS NULL) = (alert_as IS NULL)", name=op.f("ck_monitors_ck_monitors_deadline")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_monitors")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_monitors_tenant_id_name")),
        sa.UniqueConstraint("digest", name=op.f("uq_monitors_digest")),
    )
    op.create_index(op.f("ix_monitors_alert_at"), "monitors", ["alert_at"], **_where_set("alert_at"))
    op.create_table(
        "monitor_pings",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("monitor_id", key(40), nullable=False),
        sa.Column("kind", key(16), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("method", key(8), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("rid", key(64), nullable=True),
        sa.Column("user_agent", sa.String(200), nullable=False),
        sa.Column("body", prose(), nullable=False),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False),
        *_readable("at"),
        sa.CheckConstraint(
            "kind IN ('success', 'start', 'fail', 'log')", name=op.f("ck_monitor_pings_ck_monitor_pings_kind")
        ),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_monitor_pings_ck_monitor_pings_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_monitor_pings")),
    )
    op.create_index(op.f("ix_monitor_pings_monitor_id_id"), "monitor_pings", ["monitor_id", "id"])


def downgrade() -> None:
    """Take them away."""
    for name in ("monitor_pings", "monitors"):
        op.drop_table(name)


def _where_set(column: str) -> dict[str, Any]:
    condition = sa.text(f"{column} IS NOT NULL")
    return {"postgresql_where": condition, "sqlite_where": condition}


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
