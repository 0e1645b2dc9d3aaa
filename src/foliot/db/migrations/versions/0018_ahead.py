"""Up to where instants may have been fired ahead of time, by a clock that was ahead.

Revision ID: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

NAME = "ahead_until"
READABLE = f"{NAME} IS NULL OR (length({NAME}) = 26 AND datetime({NAME}) IS NOT NULL)"


def upgrade() -> None:
    """Add the column."""
    if op.get_bind().dialect.name == "sqlite":
        # Alembic cannot state a rule of a column that it adds here.
        op.execute(f"ALTER TABLE schedules ADD COLUMN {NAME} VARCHAR(26) CONSTRAINT {NAME}_readable CHECK ({READABLE})")
    else:
        op.add_column("schedules", sa.Column(NAME, Moment(), nullable=True))


def downgrade() -> None:
    """Take it away: what was fired ahead of time would fire again."""
    op.drop_column("schedules", NAME)
