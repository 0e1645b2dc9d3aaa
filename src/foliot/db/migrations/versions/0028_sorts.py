"""What lists of runs are sorted by: the duration of ended runs, and indexes of their times.

Revision ID: 0028
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

ENDED = sa.text("finished_at IS NOT NULL")
MICROS = {
    "postgresql": "CAST(round(date_part('epoch', finished_at - started_at) * 1000000) AS BIGINT)",
    "sqlite": "((strftime('%s', substr(finished_at, 1, 19)) - strftime('%s', substr(started_at, 1, 19))) * 1000000"
    " + substr(finished_at, 21, 6) - substr(started_at, 21, 6))",
    "mysql": "TIMESTAMPDIFF(MICROSECOND, started_at, finished_at)",
}
INDEXES = {"due": "scheduled_for", "began": "started_at", "took": "took_us"}


def upgrade() -> None:
    """Add the column and the indexes."""
    op.add_column("runs", sa.Column("took_us", sa.BigInteger(), nullable=True))
    took = MICROS["mysql" if op.get_bind().dialect.name == "mariadb" else op.get_bind().dialect.name]
    fill = f"UPDATE runs SET took_us = {took} WHERE finished_at IS NOT NULL AND started_at IS NOT NULL"  # noqa: S608
    op.execute(sa.text(fill.replace(":", "\\:")))
    for name, column in INDEXES.items():
        columns = ["tenant_id", column, "id"]
        op.create_index(f"ix_runs_{name}", "runs", columns, unique=False, postgresql_where=ENDED, sqlite_where=ENDED)


def downgrade() -> None:
    """Take them away."""
    for name in INDEXES:
        op.drop_index(f"ix_runs_{name}", "runs")
    op.drop_column("runs", "took_us")
