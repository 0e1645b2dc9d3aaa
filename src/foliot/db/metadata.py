"""The metadata that all tables share, and columns that most of them have."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    MetaData,
    text,
)

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
