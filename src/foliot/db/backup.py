"""Copies a SQLite file while it is in use, and restores a copy, by SQLite's online backup."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from foliot.core.errors import Conflict, Unavailable
from foliot.db.file_lock import make_private

COMPANIONS = ("-wal", "-shm", "-journal")
"""Files that SQLite keeps beside a database; left over, they would be applied to the next file of that name."""


def copy(source: Path, target: Path) -> None:
    """A consistent copy during concurrent writes: complete on disk, or not there at all."""
    if target.exists():
        raise Conflict(f"{target} already exists: choose another file")
    partial = target.with_name(f"{target.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        make_private(partial)
        # All pages in one step: readers do not block writers, and a copy in several steps would restart at each write.
        with closing(_opened(source)) as reader, closing(sqlite3.connect(partial)) as writer:
            reader.backup(writer)
            # A single file, without a write-ahead log beside it.
            writer.execute("PRAGMA journal_mode=DELETE")
            [(result,)] = writer.execute("PRAGMA quick_check(1)").fetchall()
            if result != "ok":
                raise Unavailable(f"{source} is damaged, so a copy would be too: {result}")
        _sync(partial)
        partial.replace(target)
        _sync(target.parent)
    except (sqlite3.Error, OSError) as failed:
        raise Unavailable(f"cannot copy {source} to {target}: {failed}") from failed
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def keep(database: Path, revision: str) -> Path:
    """A copy beside the file, named for its revision; earlier ones are kept."""
    name = f"{database.name}.revision-{revision}"
    named = (database.with_name(name if n == 1 else f"{name}.{n}") for n in count(1))
    target = next(path for path in named if not path.exists())
    copy(database, target)
    return target


def revision_of(file: Path) -> str:
    """The revision of a copy; `Conflict` when it is not a complete database of Foliot's."""
    try:
        with closing(_opened(file)) as reader:
            row = reader.execute("SELECT version_num FROM alembic_version").fetchone()
            [(result,)] = reader.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as failed:
        raise Conflict(f"{file} is not a Foliot database: {failed}") from None
    if row is None or result != "ok":
        raise Conflict(f"{file} is incomplete: {'it has no revision' if row is None else result}")
    return str(row[0])


def restore(file: Path, database: Path, *, replace: bool) -> Path | None:
    """Replace the database by the copy. An existing one is kept beside it, if it may be replaced; returns its path."""
    kept = None
    if database.exists():
        if not replace:
            raise Conflict(
                f"{database} already exists: give --replace, which keeps it under another name, or another --home"
            )
        kept = keep(database, "replaced")
    fresh = database.with_name(f"{database.name}.restored")
    fresh.unlink(missing_ok=True)
    copy(file, fresh)
    for companion in COMPANIONS:
        database.with_name(database.name + companion).unlink(missing_ok=True)
    fresh.replace(database)
    _sync(database.parent)
    return kept


def _opened(file: Path) -> sqlite3.Connection:
    """An existing file: SQLite would create a new one."""
    return sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=rw", uri=True, timeout=5)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
