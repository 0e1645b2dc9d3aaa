"""Expected times of pings.

Revision ID: 0038
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

ADDED = (("monitors", "gap_first"), ("monitor_pings", "expected_at"))


def upgrade() -> None:
    """Add the columns."""
    for table, name in ADDED:
        op.add_column(table, sa.Column(name, Moment(), nullable=True))
    op.add_column("monitor_pings", sa.Column("late", sa.Boolean(), nullable=False, server_default=sa.text("false")))


def downgrade() -> None:
    """Take them away."""
    op.drop_column("monitor_pings", "late")
    for table, name in ADDED:
        op.drop_column(table, name)
