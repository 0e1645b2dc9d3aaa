"""Where a page was moved to, while it has its turn there.

Revision ID: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import prose

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("articles", sa.Column("moved_to", prose(), nullable=True))
    op.add_column("articles", sa.Column("moves", sa.SmallInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    """Take them away; whoever is on its way elsewhere begins anew."""
    op.drop_column("articles", "moves")
    op.drop_column("articles", "moved_to")
