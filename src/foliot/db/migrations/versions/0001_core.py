"""The core: schedules, versions, spans, ledger, runs, attempts, log chunks, requests, nodes.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from foliot.db.metadata import Document, Moment, blob, key, prose

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


# For people who query the store directly: stable names, read-only, documented in docs/reference/store.md.
VIEWS = {
    "foliot_schedules": """
        SELECT id, tenant_id, user_id, name, type, kind, status, version, next_at AS next_run_at, last_run_at,
               fired AS runs_made, paused_reason, fault, created_at, updated_at
        FROM schedules""",
    "foliot_runs": """
        SELECT id, tenant_id, user_id, schedule_id, version, kind, origin, state, scheduled_for, ready_at, queue,
               priority, attempt, max_attempts, worker, created_at, started_at, finished_at, result, error, parent_id,
               resolved_by
        FROM runs""",
    "foliot_attempts": """
        SELECT run_id, tenant_id, number AS attempt, worker, outcome, state, started_at, ended_at, error, response,
               retry_at
        FROM attempts""",
    "foliot_ledger": """
        SELECT schedule_id, tenant_id, version, fate, reason, first_at, last_at, count AS instants
        FROM ledger""",
    "foliot_spans": """
        SELECT schedule_id, tenant_id, version, active, start_at, end_at, reason
        FROM spans""",
}


def _readable(*columns: str) -> list[sa.CheckConstraint]:
    """SQLite takes any text for a moment; one it cannot read would stop whoever reads its neighbours too."""
    if op.get_bind().dialect.name != "sqlite":
        return []
    rule = "{0} IS NULL OR (length({0}) = 26 AND datetime({0}) IS NOT NULL)"
    return [sa.CheckConstraint(rule.format(column), name=f"{column}_readable") for column in columns]


def upgrade() -> None:
    """Create every table and view."""
    op.create_table(
        "attempts",
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", key(200), nullable=True),
        sa.Column("outcome", key(16), nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("started_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=False),
        sa.Column("started_seq", sa.BigInteger(), nullable=False),
        sa.Column("ended_seq", sa.BigInteger(), nullable=False),
        sa.Column("error", Document(), nullable=True),
        sa.Column("response", Document(), nullable=True),
        sa.Column("retry_at", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "epoch", name=op.f("pk_attempts")),
    )
    op.create_table(
        "ledger",
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("first_at", Moment(), nullable=False),
        sa.Column("fate", key(16), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("last_at", Moment(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reason", key(32), nullable=False),
        sa.CheckConstraint("fate IN ('skipped', 'missed', 'pruned')", name=op.f("ck_ledger_fate")),
        sa.CheckConstraint("count > 0", name=op.f("ck_ledger_count")),
        sa.CheckConstraint("last_at >= first_at", name=op.f("ck_ledger_range")),
        sa.PrimaryKeyConstraint("schedule_id", "first_at", "fate", name=op.f("pk_ledger")),
    )
    op.create_table(
        "log_chunks",
        sa.Column("run_id", key(40), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("data", blob(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "first_seq", name=op.f("pk_log_chunks")),
    )
    op.create_table(
        "nodes",
        sa.Column("id", key(200), nullable=False),
        sa.Column("role", key(32), nullable=False),
        sa.Column("started_at", Moment(), nullable=False),
        sa.Column("seen_at", Moment(), nullable=False),
        sa.Column("report", Document(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
    )
    op.create_table(
        "requests",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("request_key", key(200), nullable=False),
        sa.Column("fingerprint", key(64), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("body", prose(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "request_key", name=op.f("pk_requests")),
    )
    op.create_index(op.f("ix_requests_created_at"), "requests", ["created_at"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("user_id", key(200), server_default="", nullable=False),
        sa.Column("schedule_id", key(40), nullable=True),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("kind", key(64), nullable=False),
        sa.Column("origin", key(16), server_default="instant", nullable=False),
        sa.Column("state", key(16), nullable=False),
        sa.Column("scheduled_for", Moment(), nullable=True),
        sa.Column("ready_at", Moment(), nullable=False),
        sa.Column("queue", key(64), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("order_key", Moment(), nullable=False),
        sa.Column("lane", key(64), nullable=True),
        sa.Column("open_of", key(40), nullable=True),
        sa.Column("buffered_of", key(40), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("timeout_seconds", sa.Integer(), nullable=True),
        sa.Column("epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("token", key(40), nullable=True),
        sa.Column("lease_until", Moment(), nullable=True),
        sa.Column("worker", key(200), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("event_seq", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("started_seq", sa.BigInteger(), nullable=True),
        sa.Column("final_seq", sa.BigInteger(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("started_at", Moment(), nullable=True),
        sa.Column("attempt_at", Moment(), nullable=True),
        sa.Column("finished_at", Moment(), nullable=True),
        sa.Column("action", Document(), nullable=True),
        sa.Column("result", Document(), nullable=True),
        sa.Column("error", Document(), nullable=True),
        sa.Column("parent_id", key(40), nullable=True),
        sa.Column("resolved_by", key(40), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NULL) = (state IN ('queued', 'retrying', 'running'))", name=op.f("ck_runs_finished")
        ),
        sa.CheckConstraint("buffered_of IS NULL OR (state = 'queued' AND lane IS NULL)", name=op.f("ck_runs_buffered")),
        sa.CheckConstraint("lane IS NULL OR state IN ('queued', 'retrying')", name=op.f("ck_runs_lane")),
        sa.CheckConstraint("lease_until IS NULL OR state = 'running'", name=op.f("ck_runs_lease")),
        sa.CheckConstraint("open_of IS NULL OR state IN ('queued', 'retrying', 'running')", name=op.f("ck_runs_open")),
        sa.CheckConstraint("origin IN ('instant', 'manual', 'retry', 'replay')", name=op.f("ck_runs_origin")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'retrying', 'success', 'partial', 'failed', 'dead_letter', 'cancelled')",
            name=op.f("ck_runs_state"),
        ),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_runs_tenant")),
        sa.CheckConstraint("attempt >= 0 AND attempt <= max_attempts", name=op.f("ck_runs_attempt")),
        sa.CheckConstraint("priority BETWEEN 1 AND 10", name=op.f("ck_runs_priority")),
        *_readable(
            "scheduled_for",
            "ready_at",
            "order_key",
            "lease_until",
            "created_at",
            "started_at",
            "attempt_at",
            "finished_at",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("schedule_id", "scheduled_for", name=op.f("uq_runs_schedule_id_scheduled_for")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_index(
        "ix_runs_parent",
        "runs",
        ["parent_id"],
        unique=False,
        postgresql_where=sa.text("parent_id IS NOT NULL"),
        sqlite_where=sa.text("parent_id IS NOT NULL"),
    )
    op.create_index(
        "ix_runs_buffered",
        "runs",
        ["buffered_of"],
        unique=False,
        postgresql_where=sa.text("buffered_of IS NOT NULL"),
        sqlite_where=sa.text("buffered_of IS NOT NULL"),
    )
    op.create_index(
        "ix_runs_lease",
        "runs",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("lease_until IS NOT NULL"),
        sqlite_where=sa.text("lease_until IS NOT NULL"),
    )
    op.create_index(
        "ix_runs_open",
        "runs",
        ["open_of"],
        unique=False,
        postgresql_where=sa.text("open_of IS NOT NULL"),
        sqlite_where=sa.text("open_of IS NOT NULL"),
    )
    op.create_index(
        "ix_runs_ready",
        "runs",
        ["lane", "tenant_id", "order_key"],
        unique=False,
        postgresql_where=sa.text("lane IS NOT NULL"),
        sqlite_where=sa.text("lane IS NOT NULL"),
    )
    op.create_index(op.f("ix_runs_schedule_id_id"), "runs", ["schedule_id", "id"], unique=False)
    op.create_index(op.f("ix_runs_tenant_id_id"), "runs", ["tenant_id", "id"], unique=False)
    op.create_index(op.f("ix_runs_tenant_id_state_id"), "runs", ["tenant_id", "state", "id"], unique=False)
    op.create_table(
        "schedules",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("user_id", key(200), server_default="", nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", prose(), nullable=False),
        sa.Column("tags", prose(), nullable=False),
        sa.Column("type", key(16), nullable=False),
        sa.Column("kind", key(64), nullable=False),
        sa.Column("status", key(16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("spec", prose(), nullable=False),
        sa.Column("action", Document(), nullable=False),
        sa.Column("anchor", Moment(), nullable=False),
        sa.Column("next_at", Moment(), nullable=True),
        sa.Column("last_run_at", Moment(), nullable=True),
        sa.Column("fired", sa.Integer(), server_default="0", nullable=False),
        sa.Column("gap_first", Moment(), nullable=True),
        sa.Column("gap_reason", key(32), nullable=True),
        sa.Column("paused_reason", sa.String(length=500), server_default="", nullable=False),
        sa.Column("fault", prose(), nullable=True),
        sa.Column("fault_next_at", Moment(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.CheckConstraint("next_at IS NULL OR status = 'active'", name=op.f("ck_schedules_cursor")),
        sa.CheckConstraint("status IN ('active', 'paused', 'completed', 'deleted')", name=op.f("ck_schedules_status")),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_schedules_tenant")),
        sa.CheckConstraint("type IN ('cron', 'interval', 'oneoff')", name=op.f("ck_schedules_type")),
        *_readable("anchor", "next_at", "last_run_at", "gap_first", "fault_next_at", "created_at", "updated_at"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
    )
    op.create_index(
        "ix_schedules_next_at",
        "schedules",
        ["next_at"],
        unique=False,
        postgresql_where=sa.text("next_at IS NOT NULL"),
        sqlite_where=sa.text("next_at IS NOT NULL"),
    )
    op.create_index(op.f("ix_schedules_status"), "schedules", ["status"], unique=False)
    op.create_index(op.f("ix_schedules_tenant_id_id"), "schedules", ["tenant_id", "id"], unique=False)
    op.create_table(
        "spans",
        sa.Column("id", key(40), nullable=False),
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("open_of", key(40), nullable=True),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("start_at", Moment(), nullable=False),
        sa.Column("end_at", Moment(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(length=500), server_default="", nullable=False),
        sa.CheckConstraint("(end_at IS NULL) = (open_of IS NOT NULL)", name=op.f("ck_spans_open")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spans")),
        sa.UniqueConstraint("open_of", name=op.f("uq_spans_open_of")),
    )
    op.create_index(op.f("ix_spans_schedule_id_id"), "spans", ["schedule_id", "id"], unique=False)
    op.create_table(
        "versions",
        sa.Column("schedule_id", key(40), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("spec", prose(), nullable=False),
        sa.Column("action", Document(), nullable=False),
        sa.Column("anchor", Moment(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        *_readable("anchor", "created_at"),
        sa.PrimaryKeyConstraint("schedule_id", "version", name=op.f("pk_versions")),
    )
    for name, query in VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")


def downgrade() -> None:
    """Drop them again."""
    for name in VIEWS:
        op.execute(f"DROP VIEW {name}")
    for table in ["attempts", "ledger", "log_chunks", "nodes", "requests", "runs", "schedules", "spans", "versions"]:
        op.drop_table(table)
