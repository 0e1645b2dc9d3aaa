"""Permissions and the lock of a SQLite file: only one process may run the engine on it.

Settings of a SQLite connection, and how its transactions begin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from foliot.core.errors import Conflict


def make_private(database: Path | None) -> None:
    """A directory for the database that no other user can read; what exists stays as it is."""
    if database is None:
        return
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The directory may have existed before, open to all. What SQLite puts beside the file takes its mode.
    with suppress(FileExistsError):
        os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def only_one(database: Path | None) -> Iterator[None]:
    """Hold the lock beside the database file; `Conflict` names the process that holds it. None: nothing to lock.

    The kernel releases it when the process ends, however it ends; the file remains, without meaning.
    """
    if database is None:
        yield
        return
    import fcntl

    path = database.with_name(f"{database.name}.lock")
    with path.open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read(20).strip()
            raise Conflict(
                f"another Foliot is already running on {database}"
                + (f" (process {holder})" if holder else "")
                + ": stop it first, or give this one its own --home"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


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
