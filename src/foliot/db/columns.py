"""Column types that mean the same on every database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import Dialect, LargeBinary, String, Text, types
from sqlalchemy.dialects import mysql, postgresql


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

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return None if value is None else moment_out(dialect.name, value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        # asyncpg answers in UTC already; MariaDB answers naive.
        moment: datetime = value
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def moment_out(dialect: str, value: datetime) -> Any:
    """The driver's form of a moment, for statements that bypass column types."""
    if dialect == "postgresql":
        return value
    naive = value.astimezone(UTC).replace(tzinfo=None)
    return naive if dialect in {"mysql", "mariadb"} else naive.isoformat(" ", "microseconds")


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

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
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
