"""Runs that finish and break an expectation of their data.

Revision ID: 0027
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key
from foliot.db.migrations.check_constraint import restate

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
STATE = "state IN ('queued', 'running', 'retrying', 'success', 'partial', {}'failed', 'dead_letter', 'cancelled')"


def upgrade() -> None:
    """Allow the state, and keep what was decided about withheld data."""
    restate("runs", "ck_runs_state", STATE.format(""), STATE.format("'degraded', "))
    lite = op.get_bind().dialect.name == "sqlite"
    op.create_table(
        "quarantine_decisions",
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("decided_at", Moment(), nullable=False),
        sa.Column("decided_by", key(200), nullable=False),
        sa.Column("release_id", key(40), nullable=True),
        *([sa.CheckConstraint(READABLE.format("decided_at"), name="decided_at_readable")] if lite else []),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_quarantine_decisions_tenant")),
        sa.CheckConstraint("state IN ('released', 'dropped')", name=op.f("ck_quarantine_decisions_state")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_quarantine_decisions")),
    )


def downgrade() -> None:
    """Take them away; what was degraded counts as partial."""
    op.drop_table("quarantine_decisions")
    op.execute("UPDATE runs SET state = 'partial', error = NULL WHERE state = 'degraded'")
    restate("runs", "ck_runs_state", STATE.format("'degraded', "), STATE.format(""))
