"""The metadata that all tables share, and columns that most of them have.

Column types that mean the same on every database.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import Column, Dialect, LargeBinary, MetaData, String, Table, Text, delete, text, types
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

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


class Moment(types.TypeDecorator[datetime]):
    """A point in time: aware UTC in Python on every database; microseconds kept."""

    impl = String(26)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> types.TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(String(26))

    def bind_processor(self, dialect: Dialect) -> Any:
        # asyncpg takes and answers aware moments in UTC: no function is called for each value.
        return None if dialect.name == "postgresql" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: Any) -> Any:
        return None if dialect.name == "postgresql" else super().result_processor(dialect, coltype)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return None if value is None else moment_out(dialect.name, value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, str):
            return datetime.fromisoformat(f"{value}+00:00")
        # MariaDB answers naive.
        moment: datetime = value
        return moment.replace(tzinfo=UTC)


def moment_out(dialect: str, value: datetime) -> Any:
    """The driver's form of a moment, for statements that bypass column types."""
    if dialect == "postgresql":
        return value
    utc = value if value.tzinfo is UTC else value.astimezone(UTC)
    if dialect in {"mysql", "mariadb"}:
        return utc.replace(tzinfo=None)
    return utc.isoformat(" ", "microseconds")[: -len("+00:00")]


class DamagedDocument(dict[str, Any]):
    """Placeholder for a document that cannot be decoded: shown to people, and never performed."""


class Document(types.TypeDecorator[Any]):
    """JSON stored as text, so that it reads the same on every database."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> types.TypeEngine[Any]:
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.MEDIUMTEXT(collation="utf8mb4_bin"))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def result_processor(self, dialect: Dialect, coltype: Any) -> Any:
        # Text is decoded by the driver: SQLAlchemy's own processor would only add a call for each value.
        return _decoded


def _decoded(value: str | None) -> Any:
    if value is None:
        return None
    try:
        return orjson.loads(value)
    except ValueError:
        # One row that cannot be decoded must not fail a query that reads others too.
        return DamagedDocument(damaged=value[:200])


def key(length: int) -> types.TypeEngine[str]:
    """Text compared byte by byte: ids, tenants, queues, states."""
    return (
        String(length)
        .with_variant(String(length, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(length, collation="utf8mb4_bin"), "mysql", "mariadb")
    )


def prose() -> types.TypeEngine[str]:
    """Text of any length."""
    return Text().with_variant(mysql.MEDIUMTEXT(collation="utf8mb4_bin"), "mysql", "mariadb")


def blob() -> types.TypeEngine[bytes]:
    """Bytes of any length."""
    return LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
