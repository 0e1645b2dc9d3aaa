"""Runs that found a change, which schedules can follow.

Revision ID: 0037
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that is empty for the runs that are there: no row is rewritten."""
    op.add_column("runs", sa.Column("changed", sa.Boolean(), nullable=True))


def downgrade() -> None:
    """Take the column away."""
    op.drop_column("runs", "changed")
