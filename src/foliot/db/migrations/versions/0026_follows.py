"""Schedules that follow others.

Revision ID: 0026
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key
from foliot.db.migrations.check_constraint import restate

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
ORIGIN = "origin IN ('instant', 'manual', 'retry', 'replay'{})"
TYPE = "type IN ('cron', 'interval', 'oneoff'{})"
AFTER = ", 'after'"


def upgrade() -> None:
    """Add the tables, and allow the new type and the new origin."""
    op.create_table(
        "follows",
        sa.Column("parent_id", key(40), nullable=False),
        sa.Column("child_id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("stands", sa.Boolean(), nullable=False),
        sa.Column("active_from", Moment(), nullable=False),
        sa.Column("active_until", Moment(), nullable=True),
        *_readable("active_from", "active_until"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_follows_tenant")),
        sa.PrimaryKeyConstraint("parent_id", "child_id", name=op.f("pk_follows")),
    )
    op.create_index(op.f("ix_follows_child_id"), "follows", ["child_id"])
    op.create_index(op.f("ix_follows_active_from"), "follows", ["active_from"])
    op.create_index("ix_follows_active_until", "follows", ["active_until"], **_where_set("active_until"))
    op.create_table(
        "follow_ups",
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("root_id", key(40), nullable=False),
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("parent_id", key(40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("made", key(40), nullable=True),
        sa.Column("fate", key(16), nullable=True),
        sa.Column("reason", key(32), nullable=True),
        sa.Column("waiting_of", key(40), nullable=True),
        *_readable("at"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_follow_ups_tenant")),
        sa.CheckConstraint("fate IN ('skipped', 'missed', 'pruned')", name=op.f("ck_follow_ups_fate")),
        sa.CheckConstraint("waiting_of IS NULL OR (made IS NULL AND fate IS NULL)", name=op.f("ck_follow_ups_waiting")),
        sa.PrimaryKeyConstraint("schedule_id", "root_id", name=op.f("pk_follow_ups")),
    )
    op.create_index("ix_follow_ups_waiting", "follow_ups", ["waiting_of"], **_where_set("waiting_of"))
    op.create_index("ix_follow_ups_made", "follow_ups", ["made"], **_where_set("made"))
    op.create_index(op.f("ix_follow_ups_run_id"), "follow_ups", ["run_id"])
    restate("runs", "ck_runs_origin", ORIGIN.format(""), ORIGIN.format(AFTER))
    restate("schedules", "ck_schedules_type", TYPE.format(""), TYPE.format(AFTER))


def downgrade() -> None:
    """Take them away. A run that followed another was asked for by it; a schedule that followed stays, paused."""
    op.execute("UPDATE runs SET origin = 'manual' WHERE origin = 'after'")
    op.execute("UPDATE schedules SET type = 'oneoff' WHERE type = 'after'")
    restate("schedules", "ck_schedules_type", TYPE.format(AFTER), TYPE.format(""))
    restate("runs", "ck_runs_origin", ORIGIN.format(AFTER), ORIGIN.format(""))
    op.drop_table("follow_ups")
    op.drop_table("follows")


def _where_set(column: str) -> dict[str, Any]:
    condition = sa.text(f"{column} IS NOT NULL")
    return {"postgresql_where": condition, "sqlite_where": condition}


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]
