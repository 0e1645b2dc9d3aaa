"""Tables of tenants' limits, and of the rows that are locked to count against them."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Table

from foliot.db.columns import Document, Moment, key
from foliot.db.metadata import metadata

tenants = Table(
    "tenants",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    # What differs from the limits of the settings.
    Column("limits", Document, nullable=False),
    # Allowed targets of its actions; empty: whatever the operator allows.
    Column("egress_allow", Document, nullable=False),
    Column("updated_by", key(200), nullable=False),
    Column("updated_at", Moment, nullable=False),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)


# Rows to be locked only: they serialise transactions that count a tenant's things before they add one.
turns = Table(
    "turns",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("thing", key(16), primary_key=True),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)
