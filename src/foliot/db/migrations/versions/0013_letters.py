"""Muted groups of dead letters.

Letters from before fingerprints had none of the host that their action was going to; they get it here, so that they
stand in one group with those that failed alike since.

Revision ID: 0013
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

from foliot.core.failure_fingerprint import fingerprint, host_in
from foliot.db.metadata import Document, Moment, key

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
BATCH = 1000


def upgrade() -> None:
    """Add the table, and write fingerprints anew."""
    op.create_table(
        "mutes",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("fingerprint", key(16), nullable=False),
        sa.Column("user_id", key(200), nullable=False),
        sa.Column("muted_at", Moment(), nullable=False),
        sa.Column("muted_until", Moment(), nullable=False),
        sa.Column("reason", sa.String(length=500), server_default="", nullable=False),
        *_readable("muted_at", "muted_until"),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_mutes_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "fingerprint", name=op.f("pk_mutes")),
    )
    _letters()


def downgrade() -> None:
    """Take it away; fingerprints stay as they are."""
    op.drop_table("mutes")


def _readable(*names: str) -> list[sa.CheckConstraint]:
    """SQLite keeps moments as text, and would keep any text as a moment."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    return [sa.CheckConstraint(READABLE.format(name), name=f"{name}_readable") for name in names]


def _letters() -> None:
    """Those that wait for an answer, by what their run or its schedule's version was going to do."""
    runs = sa.table(
        "runs",
        *(sa.column(name) for name in ("id", "kind", "state", "resolved_by", "fingerprint", "schedule_id", "version")),
        sa.column("error", Document()),
        sa.column("action", Document()),
    )
    versions = sa.table("versions", sa.column("schedule_id"), sa.column("version"), sa.column("action", Document()))
    followed = sa.and_(versions.c.schedule_id == runs.c.schedule_id, versions.c.version == runs.c.version)
    query = (
        sa.select(runs.c.id, runs.c.kind, runs.c.error, runs.c.action, versions.c.action.label("follows"))
        .select_from(runs.outerjoin(versions, followed))
        .where(runs.c.state == "dead_letter", runs.c.resolved_by.is_(None))
        .order_by(runs.c.id)
        .limit(BATCH)
    )
    write = sa.update(runs).where(runs.c.id == sa.bindparam("of")).values(fingerprint=sa.bindparam("alike"))
    bind, place = op.get_bind(), ""
    while found := bind.execute(query.where(runs.c.id > place)).all():
        bind.execute(write, [{"of": row.id, "alike": _alike(row)} for row in found])
        place = found[-1].id


def _alike(row: Any) -> str:
    action = row.action if row.action is not None else row.follows
    url = action.get("url", "") if isinstance(action, Mapping) else ""
    return fingerprint(row.kind, row.error, host_in(str(url)))
