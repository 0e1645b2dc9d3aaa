"""The metadata that all tables share, and columns that most of them have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, MetaData, Table, delete, text
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.columns import key

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: object) -> str:
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"  # type: ignore[attr-defined]


def tenant() -> Column[str]:
    return Column("tenant_id", key(64), nullable=False)


def where_set(column: str) -> dict[str, object]:
    """A partial index where the database supports them."""
    condition = text(f"{column} IS NOT NULL")
    return {"postgresql_where": condition, "sqlite_where": condition}


FORGET_RUNS = "forget_runs"
"""Key of `Table.info`: the function that deletes a table's rows of runs that are pruned."""


async def _delete_by_run(conn: AsyncConnection, dialect: Any, table: Table, runs: Sequence[Any]) -> None:
    await conn.execute(delete(table).where(dialect.among(table.c.run_id, [run.id for run in runs])))


WITH_RUN = {FORGET_RUNS: _delete_by_run}
"""`info` of a table whose rows go with the run in `run_id`."""
