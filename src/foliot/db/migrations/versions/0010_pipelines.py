"""Pipelines that files define, and who looks after a schedule.

Revision ID: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key, prose

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

READABLE = "length({0}) = 26 AND datetime({0}) IS NOT NULL"


def upgrade() -> None:
    """Add the tables, and say of every schedule who made it."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    op.create_table(
        "pipelines",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(100), nullable=False),
        sa.Column("file", sa.String(length=1024), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("definition", Document(), nullable=True),
        sa.Column("steps", Document(), nullable=False),
        sa.Column("fault", Document(), nullable=True),
        sa.Column("yaml", prose(), nullable=False),
        sa.Column("schedule_id", key(40), nullable=True),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_pipelines_tenant")),
        *([sa.CheckConstraint(READABLE.format("updated_at"), name="updated_at_readable")] if sqlite else []),
        sa.PrimaryKeyConstraint("tenant_id", "name", name=op.f("pk_pipelines")),
    )
    op.create_table(
        "pipeline_runs",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(100), nullable=False),
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("first_of", key(64), nullable=True),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_pipeline_runs_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "name", "run_id", name=op.f("pk_pipeline_runs")),
        sa.UniqueConstraint("tenant_id", "name", "first_of", name=op.f("uq_pipeline_runs_tenant_id_name_first_of")),
    )
    op.add_column("schedules", sa.Column("managed_by", key(16), nullable=False, server_default="api"))
    # Those that code and presets have made were marked beside them only.
    for source, maker in (("code", "code"), ("preset:%", "preset")):
        op.execute(
            sa.text(
                "UPDATE schedules SET managed_by = :maker WHERE id IN"
                " (SELECT schedule_id FROM declared WHERE source LIKE :source AND schedule_id IS NOT NULL)"
            ).bindparams(maker=maker, source=source)
        )


def downgrade() -> None:
    """Take them away; the schedules stay, and belong to whoever asks."""
    op.drop_column("schedules", "managed_by")
    op.drop_table("pipeline_runs")
    op.drop_table("pipelines")
