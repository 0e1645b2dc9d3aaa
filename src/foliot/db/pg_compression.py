"""How PostgreSQL packs what is long, such as the text of an article."""

from __future__ import annotations

from typing import Any

# Its default takes several times as long for the same. Not every server knows another: then this chooses nothing.
_FASTER = """SELECT set_config(name, 'lz4', false) FROM pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)"""


def pack_fast(connection: Any, _record: Any) -> None:
    """For every connection that is opened; what was packed before stays readable."""
    # Past the adapter, whose transaction would take the setting back with it.
    connection.run_async(lambda raw: raw.execute(_FASTER))
