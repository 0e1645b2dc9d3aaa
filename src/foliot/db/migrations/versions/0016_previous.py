"""What a page said before it changed: one title, one text, and when it was last read that way.

Revision ID: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, prose

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
AT = "previous_scraped_at"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("articles", sa.Column("previous_title", prose(), nullable=True))
    op.add_column("articles", sa.Column("previous_content", prose(), nullable=True))
    if op.get_bind().dialect.name == "sqlite":
        # Alembic cannot state a rule of a column that it adds here.
        readable = f"CONSTRAINT {AT}_readable CHECK ({READABLE.format(AT)})"
        op.execute(f"ALTER TABLE articles ADD COLUMN {AT} VARCHAR(26) {readable}")
    else:
        op.add_column("articles", sa.Column(AT, Moment(), nullable=True))


def downgrade() -> None:
    """Take them away; what pages say now stays."""
    for name in (AT, "previous_content", "previous_title"):
        op.drop_column("articles", name)
