"""Calendars, the schedules that name them, and what a calendar calls an excluded time in the ledger.

Revision ID: 0041
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key, prose

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the tables and the column: processes of the version before go on with it."""
    lite = op.get_bind().dialect.name == "sqlite"
    moments = ("until", "refresh_at", "created_at", "updated_at") if lite else ()
    op.create_table(
        "calendars",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("settings", Document(), nullable=False),
        sa.Column("ics", prose(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("resolved", Document(), nullable=False),
        sa.Column("until", Moment(), nullable=False),
        sa.Column("refresh_at", Moment(), nullable=True),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_calendars_tenant_id_name")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_calendars_ck_calendars_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calendars")),
    )
    op.create_index(op.f("ix_calendars_refresh_at"), "calendars", ["refresh_at"])
    op.create_table(
        "calendar_uses",
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("calendar_id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_calendar_uses_ck_calendar_uses_tenant")),
        sa.PrimaryKeyConstraint("schedule_id", "calendar_id", name=op.f("pk_calendar_uses")),
    )
    op.create_index(op.f("ix_calendar_uses_calendar_id_revision"), "calendar_uses", ["calendar_id", "revision"])
    op.add_column("ledger", sa.Column("note", sa.String(200), nullable=False, server_default=""))


def downgrade() -> None:
    """Take them away. Schedules keep the days that they hold; the version before refuses to read those."""
    op.drop_column("ledger", "note")
    op.drop_table("calendar_uses")
    op.drop_table("calendars")
