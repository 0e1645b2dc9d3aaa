"""Wake-ups through PostgreSQL: LISTEN and NOTIFY, on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode

CHANNEL = "foliot_wakes"
"""Channels are per database, so one name is enough."""
CONNECT = 5.0
HANG_UP = 1.0

_NOT_THE_DRIVERS = frozenset({"async_fallback", "prepared_statement_cache_size", "prepared_statement_name_func"})


class PostgresTransport:
    """Notifies outside of every transaction, so that no commit waits for it."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        self._dsn = dsn(url)
        self._connection: Any = None

    async def open(self, heard: Callable[[str], None], lost: Callable[[], None]) -> None:
        import asyncpg

        self._connection = connection = await asyncpg.connect(
            self._dsn, timeout=CONNECT, command_timeout=CONNECT, server_settings={"application_name": "foliot feed"}
        )
        connection.add_termination_listener(lambda _: lost())
        await connection.add_listener(CHANNEL, lambda *said: heard(said[3]))

    async def send(self, payload: str) -> None:
        await self._connection.execute("SELECT pg_notify($1, $2)", CHANNEL, payload)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            with suppress(Exception):
                await connection.close(timeout=HANG_UP)
        finally:
            connection.terminate()


def dsn(url: str) -> str:
    """The database URL in the driver's form, with `ssl` for `sslmode`."""
    place, _, query = url.partition("?")
    given = [(name, value) for name, value in parse_qsl(query) if name not in _NOT_THE_DRIVERS]
    named = urlencode([("sslmode" if name == "ssl" else name, value) for name, value in given])
    return f"postgresql://{place.partition('://')[2]}" + (f"?{named}" if named else "")
