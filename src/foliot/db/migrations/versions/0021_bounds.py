"""Hosts that a secret goes to, bodies of versions that are kept once, and what each tenant has stored.

Revision ID: 0021
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, key

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and the table; what was stored before is counted by the first round of upkeep."""
    op.add_column("secrets", sa.Column("hosts", Document(), nullable=True))
    op.add_column("versions", sa.Column("digest", key(64), nullable=True))
    op.add_column("versions", sa.Column("same_as", sa.Integer(), nullable=True))
    op.create_table(
        "stored",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("slot", sa.SmallInteger(), nullable=False, autoincrement=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_stored_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "slot", name=op.f("pk_stored")),
    )


def downgrade() -> None:
    """Give every version its body back, and take the rest away."""
    versions = sa.table(
        "versions",
        sa.column("schedule_id", key(40)),
        sa.column("version", sa.Integer()),
        sa.column("same_as", sa.Integer()),
        sa.column("action", sa.Text()),
    )
    first = versions.alias("first")
    conn = op.get_bind()
    query = sa.select(versions.c.schedule_id, versions.c.version, first.c.action).where(
        versions.c.same_as.is_not(None),
        first.c.schedule_id == versions.c.schedule_id,
        first.c.version == versions.c.same_as,
    )
    for schedule_id, version, action in conn.execute(query).all():
        where = (versions.c.schedule_id == schedule_id, versions.c.version == version)
        conn.execute(versions.update().where(*where).values(action=action))
    op.drop_table("stored")
    for table, name in (("versions", "same_as"), ("versions", "digest"), ("secrets", "hosts")):
        op.drop_column(table, name)
