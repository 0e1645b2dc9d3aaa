"""Runs the migrations on the connection that `foliot.store.migrate` opened."""

from __future__ import annotations

from alembic import context

from foliot.store import access_tables  # noqa: F401 -- its tables join the metadata
from foliot.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
