"""Settings of a SQLite connection, and how its transactions begin."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

WRITER_CACHE, READER_CACHE = 16_384, 2048
"""KiB of page cache for the one writer and for each reader. The operating system caches the file for all of them; what
a connection caches beside it is memory of this process, once for each.
"""


def _lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


def prepare_sqlite(engine: AsyncEngine, begin: str, cache: int) -> None:
    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # The driver's own implicit BEGIN is deferred, and would let two writers deadlock.
        connection.isolation_level = None
        # SQLite's own knows ASCII only, and would not find `Ä` by `ä`.
        connection.create_function("lower", 1, _lower, deterministic=True)
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "busy_timeout=5000",
            "foreign_keys=ON",
            f"cache_size=-{cache}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)
