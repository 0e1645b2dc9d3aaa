"""How an article is fetched, as its batch says.

Revision ID: 0032
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("articles", sa.Column("options", Document()))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("articles", "options")
