"""When the first failure that an alert counts happened.

Revision ID: 0040
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

TABLES = ("alert_streaks", "alerts")


def upgrade() -> None:
    """Add the columns, empty for the rows that are there."""
    for table in TABLES:
        op.add_column(table, sa.Column("first_at", Moment(), nullable=True))


def downgrade() -> None:
    """Take them away."""
    for table in TABLES:
        op.drop_column(table, "first_at")
