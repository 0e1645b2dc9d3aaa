"""What an owner of the database can do to the audit log: drop its triggers, write, and create them again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import text

from foliot.db.database import Database
from foliot.db.migrations.append_only import RULES, guards


@asynccontextmanager
async def unguarded(store: Database) -> AsyncIterator[None]:
    """The triggers are away meanwhile."""
    postgresql = store.dialect.name == "postgresql"
    async with store.begin() as tx:
        for name, (table, _, _) in RULES.items():
            await tx.conn.exec_driver_sql(
                f"ALTER TABLE {table} DISABLE TRIGGER {name}" if postgresql else f"DROP TRIGGER {name}"
            )
    try:
        yield
    finally:
        async with store.begin() as tx:
            if postgresql:
                for name, (table, _, _) in RULES.items():
                    await tx.conn.exec_driver_sql(f"ALTER TABLE {table} ENABLE TRIGGER {name}")
            else:
                for statement in guards(store.dialect.name):
                    await tx.conn.exec_driver_sql(statement)


async def tamper(store: Database, *statements: str, **values: Any) -> None:
    """Run these, whatever the triggers would say."""
    async with unguarded(store), store.begin() as tx:
        for statement in statements:
            await tx.conn.execute(text(statement), values)
