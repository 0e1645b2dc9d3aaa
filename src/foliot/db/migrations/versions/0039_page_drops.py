"""When stored pages were deleted because a quota was full.

Revision ID: 0039
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Moment, key

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"


def upgrade() -> None:
    """Add the table."""
    lite = op.get_bind().dialect.name == "sqlite"
    moments = ("first_at", "last_at") if lite else ()
    op.create_table(
        "page_drops",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("first_at", Moment(), nullable=False),
        sa.Column("last_at", Moment(), nullable=False),
        *(sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in moments),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_page_drops_ck_page_drops_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_page_drops")),
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("page_drops")
