"""Compression of long values in PostgreSQL (TOAST), such as the text of an article."""

from __future__ import annotations

from typing import Any

# The default takes several times as long for the same size. Not every server supports another: then it is kept.
_FASTER = """SELECT set_config(name, 'lz4', false) FROM pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)"""


def pack_fast(connection: Any, _record: Any) -> None:
    """For every new connection; values compressed before stay readable."""
    # Bypasses the adapter, whose transaction would roll the setting back.
    connection.run_async(lambda raw: raw.execute(_FASTER))
