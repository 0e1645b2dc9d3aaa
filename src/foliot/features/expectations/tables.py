"""What was decided about withheld data."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Table

from foliot.db.metadata import WITH_RUN, Moment, key, metadata, one_of, tenant
from foliot.features.expectations.model.facts import QuarantineState

quarantine_decisions = Table(
    "quarantine_decisions",
    metadata,
    # A degraded run without a row: its data are held.
    Column("run_id", key(40), primary_key=True),
    tenant(),
    Column("state", key(16), nullable=False),
    Column("decided_at", Moment, nullable=False),
    Column("decided_by", key(200), nullable=False),
    # The run that writes released data to the sinks.
    Column("release_id", key(40)),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    CheckConstraint(one_of("state", [QuarantineState.RELEASED, QuarantineState.DROPPED]), name="state"),
    info=WITH_RUN,
)
