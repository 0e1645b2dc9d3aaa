"""Reads entries that a scheduler keeps in a database: RedBeat's in Redis, ScrapydWeb's in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from foliot.features.imports.model.imported import UnreadableSource

MOST_ENTRIES = 20_000
TIMEOUT = 10


def redbeat_definitions(source: str) -> dict[str, str]:
    """By key, the definition of every entry; the key's query `prefix=` names another prefix than `redbeat:`."""
    parts = urlsplit(source)
    if parts.scheme not in {"redis", "rediss"}:
        raise UnreadableSource("SOURCE: must be the address of RedBeat's Redis, such as redis://127.0.0.1:6379/0")
    try:
        import redis
    except ImportError:
        raise UnreadableSource("redbeat needs the redis library: pip install 'foliot[cluster]'") from None
    found: dict[str, str] = {}
    try:
        with redis.Redis.from_url(source, decode_responses=True, socket_timeout=TIMEOUT) as connection:
            for key in connection.scan_iter(match="*", _type="hash", count=1000):
                definition = connection.hget(key, "definition")
                if isinstance(definition, str):
                    found[str(key)] = definition
                if len(found) > MOST_ENTRIES:
                    raise UnreadableSource(f"{parts.hostname}: has more than {MOST_ENTRIES:,} entries")
    except (redis.RedisError, ValueError) as failed:
        raise UnreadableSource(f"{parts.hostname}: {failed}") from None
    if not found:
        raise UnreadableSource(f"{parts.hostname}: database {parts.path.strip('/') or 0} has no entry of RedBeat")
    return dict(sorted(found.items()))


def scrapydweb_tasks(source: str) -> Sequence[Mapping[str, Any]]:
    """The rows of ScrapydWeb's timer tasks."""
    path = Path(source)
    if path.is_dir():
        # ScrapydWeb's data directory.
        path = next((each for each in sorted(path.rglob("timer_tasks.db"))), path / "timer_tasks.db")
    if not path.is_file():
        raise UnreadableSource(f"{path}: is no file; give the timer_tasks.db of ScrapydWeb's data directory")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=TIMEOUT)
        try:
            connection.row_factory = sqlite3.Row
            rows = connection.execute("SELECT * FROM task ORDER BY id LIMIT ?", (MOST_ENTRIES,)).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as failed:
        raise UnreadableSource(f"{path}: is no database of ScrapydWeb's timer tasks ({failed})") from None
    if not rows:
        raise UnreadableSource(f"{path}: has no timer task")
    return [dict(row) for row in rows]
