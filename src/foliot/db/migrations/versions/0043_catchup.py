"""Runs that make up for an outage.

Revision ID: 0043
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that is empty for the runs that are there: no row is rewritten."""
    op.add_column("runs", sa.Column("catchup", sa.Boolean(), nullable=True))


def downgrade() -> None:
    """Take the column away."""
    op.drop_column("runs", "catchup")
