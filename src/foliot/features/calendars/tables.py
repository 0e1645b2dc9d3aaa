"""Tables of calendars, and of the schedules that name them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table, UniqueConstraint

from foliot.db.metadata import Document, Moment, key, metadata, prose, tenant

calendars = Table(
    "calendars",
    metadata,
    Column("id", key(40), primary_key=True),
    tenant(),
    Column("name", key(200), nullable=False),
    # As a request says it, without the text of the iCalendar file: lists do not read that.
    Column("settings", Document, nullable=False),
    Column("ics", prose(), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("resolved", Document, nullable=False),
    Column("until", Moment, nullable=False),
    # When it is resolved again; public holidays and recurring events are.
    Column("refresh_at", Moment),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("tenant_id", "name"),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "refresh_at"),
)

calendar_uses = Table(
    "calendar_uses",
    metadata,
    Column("schedule_id", key(40), primary_key=True),
    Column("calendar_id", key(40), primary_key=True),
    tenant(),
    # That the schedule's present version holds: an older one than the calendar's means that it needs a new version.
    Column("revision", Integer, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "calendar_id", "revision"),
)
