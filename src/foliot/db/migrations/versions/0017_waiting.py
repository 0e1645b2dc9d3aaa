"""Why a run waits that is ready: its target has no place, or does not answer.

Revision ID: 0017
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("runs", sa.Column("waiting", Document(), nullable=True))


def downgrade() -> None:
    """Take it away; what waits goes on waiting."""
    op.drop_column("runs", "waiting")
