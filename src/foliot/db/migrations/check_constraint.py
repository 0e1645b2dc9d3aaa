"""Changes a CHECK constraint without reading the table's rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


def restate(table: str, name: str, old: str, new: str) -> None:
    """Replace the rule of a table by another one that every row that kept the old keeps as well."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        # The documented way to change a rule that no stored byte depends on (https://sqlite.org/lang_altertable.html).
        query = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name")
        written = str(bind.scalar(query, {"name": table}))
        if written.count(old) != 1:
            raise RuntimeError(f"table {table} does not have the rule {name} that this migration replaces")
        version = bind.exec_driver_sql("PRAGMA schema_version").scalar_one()
        bind.exec_driver_sql("PRAGMA writable_schema = ON")
        change = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = :name")
        bind.execute(change, {"sql": written.replace(old, new), "name": table})
        bind.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
        bind.exec_driver_sql("PRAGMA writable_schema = OFF")
        return
    op.drop_constraint(op.f(name), table, type_="check")
    unread = " NOT VALID" if bind.dialect.name == "postgresql" else ""
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({new}){unread}")
