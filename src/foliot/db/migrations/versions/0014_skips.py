"""Instants that somebody wants skipped, who paused, runs that make up for instants, and what bulk actions can do more.

Revision ID: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, key

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

READABLE = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
OLD = "action IN ('cancel', 'retry', 'replay', 'discard', 'pause', 'resume', 'run', 'delete')"
NEW = "action IN ('cancel', 'retry', 'replay', 'discard', 'pause', 'resume', 'run', 'tag', 'delete', 'backfill')"
PAUSED = """UPDATE schedules SET paused_at = (SELECT start_at FROM spans WHERE spans.open_of = schedules.id)
WHERE status = 'paused'"""
RUNS = """
    SELECT id, tenant_id, user_id, schedule_id, version, kind, origin, state, scheduled_for, ready_at, queue,
           priority, attempt, max_attempts, worker, created_at, started_at, finished_at, result, error, parent_id,
           resolved_by{0}
    FROM runs"""
LEDGER = """
    SELECT schedule_id, tenant_id, version, fate, reason, first_at, last_at, count AS instants{0}
    FROM ledger"""


def upgrade() -> None:
    """Add the columns, and let bulk actions do two things more."""
    _add_moment("schedules", "skip_at")
    op.add_column("schedules", sa.Column("skip_by", key(200), nullable=True))
    _add_moment("schedules", "paused_at")
    op.add_column("schedules", sa.Column("paused_by", key(200), nullable=True))
    op.execute(PAUSED)
    op.add_column("ledger", sa.Column("skipped_by", key(200), nullable=True))
    _add_moment("runs", "fills")
    there = sa.text("fills IS NOT NULL")
    columns = ["schedule_id", "fills"]
    op.create_index("ix_runs_fills", "runs", columns, postgresql_where=there, sqlite_where=there)
    _replace_views(", fills", ", skipped_by")
    op.add_column("bulks", sa.Column("details", Document(), nullable=True))
    _allow(NEW, instead_of=OLD)


def downgrade() -> None:
    """Take them away; what a bulk action did that was unknown before is forgotten with it."""
    op.execute("DELETE FROM bulks WHERE action IN ('tag', 'backfill')")
    _allow(OLD, instead_of=NEW)
    op.drop_column("bulks", "details")
    op.execute("DROP VIEW foliot_runs")
    op.execute("DROP VIEW foliot_ledger")
    op.drop_index("ix_runs_fills", "runs")
    op.drop_column("runs", "fills")
    op.drop_column("ledger", "skipped_by")
    op.drop_column("schedules", "paused_by")
    op.drop_column("schedules", "paused_at")
    op.drop_column("schedules", "skip_by")
    op.drop_column("schedules", "skip_at")
    op.execute(f"CREATE VIEW foliot_runs AS {RUNS.format('')}")
    op.execute(f"CREATE VIEW foliot_ledger AS {LEDGER.format('')}")


def _sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _add_moment(table: str, name: str) -> None:
    if _sqlite():
        # Alembic cannot state a rule of a column that it adds here.
        readable = f"CONSTRAINT {name}_readable CHECK ({READABLE.format(name)})"
        op.execute(f"ALTER TABLE {table} ADD COLUMN {name} VARCHAR(26) {readable}")
    else:
        op.add_column(table, sa.Column(name, Moment(), nullable=True))


def _replace_views(of_runs: str, of_ledger: str) -> None:
    """Where it can be, in place: whoever was allowed to read a view still is."""
    for name, query in (("foliot_runs", RUNS.format(of_runs)), ("foliot_ledger", LEDGER.format(of_ledger))):
        if _sqlite():
            op.execute(f"DROP VIEW {name}")
            op.execute(f"CREATE VIEW {name} AS {query}")
        else:
            op.execute(f"CREATE OR REPLACE VIEW {name} AS {query}")


def _allow(actions: str, instead_of: str) -> None:
    if not _sqlite():
        op.drop_constraint(op.f("ck_bulks_action"), "bulks", type_="check")
        op.create_check_constraint(op.f("ck_bulks_action"), "bulks", actions)
        return
    # SQLite changes no rule of a table: one that differs in this rule alone takes its place.
    bind = op.get_bind()
    made = str(bind.scalar(sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'bulks'")))
    if made.count(instead_of) != 1:
        raise RuntimeError("the table bulks has not the rule that it was made with")
    _, _, columns = made.replace(instead_of, actions).partition("(")
    op.execute(f"CREATE TABLE bulks_anew ({columns}")
    op.execute("INSERT INTO bulks_anew SELECT * FROM bulks")
    op.drop_table("bulks")
    op.rename_table("bulks_anew", "bulks")
    soon = sa.text("next_at IS NOT NULL")
    op.create_index("ix_bulks_next_at", "bulks", ["next_at"], sqlite_where=soon)
    op.create_index(op.f("ix_bulks_tenant_id_id"), "bulks", ["tenant_id", "id"])
