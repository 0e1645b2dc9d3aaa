"""What the dashboard asks: fingerprints of failures, by which dead letters are grouped, and a tenant's ledger by time.

Runs get no index for it: failed runs are found by their state, of which there is an index, and they are few beside the
others; an index more would be paid for by each run that fires.

Revision ID: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.core.failure_fingerprint import fingerprint
from foliot.db.metadata import Document, key

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BATCH = 1000


def upgrade() -> None:
    """Add the column, and write it for the letters that are there."""
    op.add_column("runs", sa.Column("fingerprint", key(16), nullable=True))
    op.create_index(op.f("ix_ledger_tenant_id_last_at"), "ledger", ["tenant_id", "last_at"], unique=False)
    _letters()


def downgrade() -> None:
    """Take it away."""
    op.drop_index(op.f("ix_ledger_tenant_id_last_at"), "ledger")
    op.drop_column("runs", "fingerprint")


def _letters() -> None:
    """Only those that wait for an answer: nobody groups the others."""
    runs = sa.table(
        "runs",
        *(sa.column(name) for name in ("id", "kind", "state", "resolved_by", "fingerprint")),
        sa.column("error", Document()),
    )
    mine = (runs.c.state == "dead_letter", runs.c.resolved_by.is_(None))
    bind, place = op.get_bind(), ""
    query = sa.select(runs.c.id, runs.c.kind, runs.c.error).where(*mine).order_by(runs.c.id).limit(BATCH)
    write = sa.update(runs).where(runs.c.id == sa.bindparam("of")).values(fingerprint=sa.bindparam("alike"))
    while found := bind.execute(query.where(runs.c.id > place)).all():
        bind.execute(write, [{"of": row.id, "alike": fingerprint(row.kind, row.error)} for row in found])
        place = found[-1].id
