"""Several statements in one round trip, for databases that cannot combine them into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

Prepared = tuple[str, Sequence[tuple[Any, ...]]]
"""A statement, and the rows that it is executed with."""

SHORT = 1024 * 1024
"""Characters of a block's values: a server refuses packets that are larger than its `max_allowed_packet`."""


async def in_one_hop(conn: AsyncConnection, statements: Sequence[Prepared]) -> None:
    """SQLite: all of these in one visit to the connection's thread; SQLAlchemy makes four for each statement."""
    # The transaction has begun: our listener sends BEGIN when SQLAlchemy begins one.
    raw = await conn.get_raw_connection()
    driver: Any = raw.driver_connection

    def execute() -> None:
        connection = driver._conn  # noqa: SLF001 -- the connection itself, in its own thread
        for sql, rows in statements:
            connection.executemany(sql, rows)

    try:
        await driver._execute(execute)  # noqa: SLF001 -- what every public method of aiosqlite calls
    except conn.dialect.loaded_dbapi.Error as error:
        wrapped = DBAPIError.instance(
            "; ".join(sql for sql, _ in statements), None, error, conn.dialect.loaded_dbapi.Error, hide_parameters=True
        )
        raise wrapped from error


async def in_one_block(conn: AsyncConnection, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
    """MariaDB: a compound statement, whose error is that of the statement that failed; MySQL has none."""
    parameters = tuple(value for _, values in statements for value in values)
    short = sum(len(value) for value in parameters if isinstance(value, str)) <= SHORT
    if short and len(statements) > 1 and getattr(conn.dialect, "is_mariadb", False):
        block = "".join(f"{sql}; " for sql, _ in statements)
        await conn.exec_driver_sql(f"BEGIN NOT ATOMIC {block}END", parameters)
        return
    for sql, values in statements:
        await conn.exec_driver_sql(sql, values)
