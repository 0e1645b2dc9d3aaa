"""One engine per SQLite file: the lock that a second `foliot up` meets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foliot.domain.errors import Conflict


@contextmanager
def only_one(database: Path | None) -> Iterator[None]:
    """Hold the lock beside the database file; `Conflict` names the process that has it. None: nothing to lock.

    The kernel releases it when the process ends, however it ends; the file stays and means nothing by itself.
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
