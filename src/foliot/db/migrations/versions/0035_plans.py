"""Documents that were applied, and the file that manages a schedule.

Revision ID: 0035
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, key

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the column."""
    op.create_table(
        "applied",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("thing", key(16), nullable=False),
        sa.Column("name", key(200), nullable=False),
        sa.Column("file", key(64), nullable=False),
        sa.Column("thing_id", key(64), nullable=False),
        sa.Column("made", Document(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_applied_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "thing", "name", name=op.f("pk_applied")),
    )
    op.create_index(op.f("ix_applied_tenant_id_file"), "applied", ["tenant_id", "file"])
    op.add_column("schedules", sa.Column("managed_file", key(64), nullable=True))


def downgrade() -> None:
    """Take them away again."""
    op.drop_column("schedules", "managed_file")
    op.drop_table("applied")
