"""Log lines and progress, kept in compressed chunks and numbered with the run's other events."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import orjson

from foliot.domain.event import Event, EventType, Line

CHUNK_LINES = 500


def pack(lines: Sequence[Line]) -> bytes:
    """A chunk's bytes; level 1 is nearly as small as the best and several times faster."""
    rows = [[line.at.isoformat(), line.type.value, line.level, line.message, line.data] for line in lines]
    return zlib.compress(orjson.dumps(rows), 1)


def unpack(data: bytes, first_seq: int) -> Iterator[Event]:
    """A chunk's lines as numbered events."""
    for offset, (at, kind, level, message, extra) in enumerate(orjson.loads(zlib.decompress(data))):
        yield Event(
            first_seq + offset, datetime.fromisoformat(at), EventType(kind), level=level, message=message, data=extra
        )


def chunk_columns(entries: Sequence[tuple[str, str, int, Sequence[Line]]]) -> dict[str, list[Any]]:
    """Rows for (run, tenant, last number used, new lines)."""
    columns: dict[str, list[Any]] = {"run_id": [], "first_seq": [], "tenant_id": [], "last_seq": [], "data": []}
    for run_id, tenant_id, seq, lines in entries:
        for start in range(0, len(lines), CHUNK_LINES):
            part = lines[start : start + CHUNK_LINES]
            columns["run_id"].append(run_id)
            columns["tenant_id"].append(tenant_id)
            columns["first_seq"].append(seq + start + 1)
            columns["last_seq"].append(seq + start + len(part))
            columns["data"].append(pack(part))
    return columns
