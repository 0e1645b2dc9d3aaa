"""Keys, tickets, secrets, tenants and the trail of who changed what.

Revision ID: 0003
"""

from __future__ import annotations

import logging

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import DBAPIError

from foliot.db.metadata import Document, Moment, blob, key
from foliot.db.migrations.append_only import guards

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# What MariaDB and MySQL answer to whom may not make triggers; with a binary log, that takes a privilege of its own.
DENIED = frozenset({1142, 1227, 1419})

log = logging.getLogger("foliot.db")

AUDIT = """
    SELECT id, tenant_id, at, user_id, key_id, door, verb, thing, thing_id, was AS before_change,
           became AS after_change, seq, digest
    FROM trail"""


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "api_keys",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", key(16), nullable=False),
        sa.Column("scopes", Document(), nullable=True),
        sa.Column("digest", key(64), nullable=False),
        sa.Column("pepper", key(16), nullable=False),
        sa.Column("hint", key(16), nullable=False),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=True),
        sa.Column("last_used_at", Moment(), nullable=True),
        sa.Column("revoked_at", Moment(), nullable=True),
        sa.Column("revoked_by", key(200), nullable=True),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_api_keys_tenant")),
        sa.CheckConstraint("role IN ('viewer', 'operator', 'admin', 'system')", name=op.f("ck_api_keys_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_keys_digest")),
    )
    op.create_index(op.f("ix_api_keys_tenant_id_id"), "api_keys", ["tenant_id", "id"], unique=False)
    op.create_table(
        "tickets",
        sa.Column("digest", key(64), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("caller", Document(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_tickets_tenant")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_tickets")),
    )
    op.create_index(op.f("ix_tickets_expires_at"), "tickets", ["expires_at"], unique=False)
    op.create_table(
        "secrets",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("name", key(64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sealed_with", key(16), nullable=False),
        sa.Column("sealed", blob(), nullable=False),
        sa.Column("created_by", key(200), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("retired_at", Moment(), nullable=True),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_secrets_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "name", "version", name=op.f("pk_secrets")),
    )
    op.create_index(op.f("ix_secrets_sealed_with"), "secrets", ["sealed_with"], unique=False)
    op.create_table(
        "tenants",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("limits", Document(), nullable=False),
        sa.Column("egress_allow", Document(), nullable=False),
        sa.Column("updated_by", key(200), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_tenants_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_tenants")),
    )
    op.create_table(
        "turns",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("thing", key(16), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_turns_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", "thing", name=op.f("pk_turns")),
    )
    # Counts a tenant's schedules without reading those that ended.
    op.drop_index(op.f("ix_schedules_status"), "schedules")
    op.create_index(op.f("ix_schedules_status_tenant_id"), "schedules", ["status", "tenant_id"], unique=False)
    op.create_table(
        "trail",
        sa.Column("id", key(40), nullable=False),
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("user_id", key(200), nullable=False),
        sa.Column("key_id", key(40), nullable=True),
        sa.Column("door", key(16), nullable=False),
        sa.Column("verb", key(32), nullable=False),
        sa.Column("thing", key(32), nullable=False),
        sa.Column("thing_id", key(200), nullable=False),
        sa.Column("was", Document(), nullable=True),
        sa.Column("became", Document(), nullable=True),
        sa.Column("waiting_of", key(64), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("digest", key(64), nullable=True),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_trail_tenant")),
        sa.CheckConstraint("(seq IS NULL) = (waiting_of IS NOT NULL)", name=op.f("ck_trail_waiting")),
        sa.CheckConstraint("(seq IS NULL) = (digest IS NULL)", name=op.f("ck_trail_chained")),
        sa.CheckConstraint("waiting_of IS NULL OR waiting_of = tenant_id", name=op.f("ck_trail_own")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trail")),
        sa.UniqueConstraint("tenant_id", "seq", name=op.f("uq_trail_tenant_id_seq")),
    )
    op.create_index(
        "ix_trail_waiting",
        "trail",
        ["waiting_of", "id"],
        unique=False,
        postgresql_where=sa.text("waiting_of IS NOT NULL"),
        sqlite_where=sa.text("waiting_of IS NOT NULL"),
    )
    op.create_index(op.f("ix_trail_tenant_id_id"), "trail", ["tenant_id", "id"], unique=False)
    op.create_index(op.f("ix_trail_tenant_id_thing_id_id"), "trail", ["tenant_id", "thing_id", "id"], unique=False)
    op.create_table(
        "trail_heads",
        sa.Column("tenant_id", key(64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("digest", key(64), nullable=False),
        sa.CheckConstraint("tenant_id <> ''", name=op.f("ck_trail_heads_tenant")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_trail_heads")),
    )
    op.execute(f"CREATE VIEW foliot_audit AS {AUDIT}")
    dialect = op.get_bind().dialect.name
    _guard(dialect)


def _guard(dialect: str) -> None:
    """The trail only grows. Where this user may not make triggers, its chain alone shows what was altered."""
    for statement in guards(dialect):
        try:
            op.execute(statement)
        except DBAPIError as error:
            codes = {*(getattr(error.orig, "args", None) or ())[:1]}
            if dialect == "postgresql" or not codes & DENIED:
                raise
            log.warning("the audit log has no triggers that refuse changes to it: %s", error.orig)
            return


def downgrade() -> None:
    """Drop them again."""
    op.execute("DROP VIEW foliot_audit")
    op.drop_index(op.f("ix_schedules_status_tenant_id"), "schedules")
    op.create_index(op.f("ix_schedules_status"), "schedules", ["status"], unique=False)
    for table in ("trail_heads", "trail", "turns", "tenants", "secrets", "tickets", "api_keys"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION foliot_append_only()")
