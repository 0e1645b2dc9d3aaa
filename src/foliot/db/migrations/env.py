"""Runs the migrations on the connection that `foliot.db.migrate` opened."""

from __future__ import annotations

import re
from typing import Any

from alembic import context
from sqlalchemy import PrimaryKeyConstraint
from sqlalchemy.ext.compiler import compiles

from foliot.db.metadata import metadata


@compiles(PrimaryKeyConstraint, "mysql", "mariadb")
def _unnamed(key: PrimaryKeyConstraint, compiler: Any, **options: Any) -> str:
    """MariaDB has no names for primary keys, and warns about each that is given one."""
    return re.sub(r"^CONSTRAINT \S+ ", "", compiler.visit_primary_key_constraint(key, **options))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
