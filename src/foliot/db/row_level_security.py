"""Row-level security on PostgreSQL: a transaction that took the role sees only its tenant's rows."""

from __future__ import annotations

import logging

from sqlalchemy.ext.asyncio import AsyncConnection

ROLE = "foliot_tenant"
IS_OURS = f"SELECT pg_has_role(oid, 'MEMBER') FROM pg_roles WHERE rolname = '{ROLE}'"  # noqa: S608 -- the name is ours

EVERYTHING = "SELECT, INSERT, UPDATE, DELETE"
LESS = {"turns": "SELECT, INSERT, UPDATE", "trail": "SELECT, INSERT", "trail_heads": "SELECT", "tenants": "SELECT"}
"""Tables on which a confined transaction has fewer rights."""
INSTALLATION_WIDE = {"tallies": "SELECT, INSERT, UPDATE", "queues": "SELECT"}
"""Tables without tenants that a confined transaction needs; no interface shows their rows to a tenant."""

# The role belongs to the whole server: another database or process may have created it first.
_MAKE_ROLE = f"""
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}') THEN
    CREATE ROLE {ROLE} NOLOGIN NOINHERIT;
  END IF;
  IF NOT pg_has_role(current_user, '{ROLE}', 'MEMBER') THEN
    GRANT {ROLE} TO CURRENT_USER;
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END $$"""  # noqa: S608 -- the name is ours
_OURS = "tenant_id = current_setting('foliot.tenant', true) AND tenant_id <> ''"
_STANDING = "SELECT tablename FROM pg_policies WHERE policyname = 'tenant' AND schemaname = current_schema()"

_TENANTS_TABLES = """
SELECT c.table_name FROM information_schema.columns c
JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.column_name = 'tenant_id' AND t.table_type = 'BASE TABLE' AND table_schema = current_schema()
ORDER BY c.table_name"""

log = logging.getLogger("foliot.db")


async def create_row_level_security(conn: AsyncConnection) -> bool:
    """Create what is missing; False when this user may not. Safe to repeat: every migration ends with it."""
    for _ in range(2):
        if not (await conn.exec_driver_sql(IS_OURS)).scalar():
            await conn.exec_driver_sql(_MAKE_ROLE)
    if not (await conn.exec_driver_sql(IS_OURS)).scalar():
        log.warning("row-level security is not enforced: this database user may not create the role %s", ROLE)
        return False
    standing = set((await conn.exec_driver_sql(_STANDING)).scalars())
    for table in (await conn.exec_driver_sql(_TENANTS_TABLES)).scalars().all():
        if table not in standing:
            for statement in _around(table, LESS.get(table, EVERYTHING)):
                await conn.exec_driver_sql(statement)
    for name, verbs in INSTALLATION_WIDE.items():
        granted = f"SELECT has_table_privilege('{ROLE}', '{name}', 'SELECT')"
        if not (await conn.exec_driver_sql(granted)).scalar():
            await conn.exec_driver_sql(f"GRANT {verbs} ON {name} TO {ROLE}")
    return True


def _around(table: str, verbs: str) -> list[str]:
    return [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"DROP POLICY IF EXISTS house ON {table}",
        # Connections that did not take the role, such as the engine's, see everything.
        f"CREATE POLICY house ON {table} USING (current_user <> '{ROLE}')",
        f"CREATE POLICY tenant ON {table} TO {ROLE} USING ({_OURS}) WITH CHECK ({_OURS})",
        f"GRANT {verbs} ON {table} TO {ROLE}",
    ]
