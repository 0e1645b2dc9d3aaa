"""Permissions and the lock of a SQLite file: only one process may run the engine on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
                f"another Foliot already runs on {database}"
                + (f" (process {holder})" if holder else "")
                + ": stop it first, or give this one its own --home"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
