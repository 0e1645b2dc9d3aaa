"""Ended runs by state and by when they were made: what counts, charts and calendars of a million runs walk.

Revision ID: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

ENDED = sa.text("finished_at IS NOT NULL")


def upgrade() -> None:
    """Add the index."""
    op.create_index(
        "ix_runs_made",
        "runs",
        ["tenant_id", "state", "created_at"],
        unique=False,
        postgresql_where=ENDED,
        sqlite_where=ENDED,
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_index("ix_runs_made", "runs")
