"""Log lines and progress, stored in compressed chunks and numbered with the run's other events; bounded per run."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from foliot.engine.model.run import LINES_PER_RUN, LOG_BYTES, Event, EventLine, EventType

CHUNK_LINES = 500
_SIZES, _CHECK = struct.Struct("<HH"), struct.Struct(">I")
"""Of a stored block in zlib's format: its length and the complement, and the sum at the end."""
_WINDOW = 1024
"""Chunks up to this many bytes are compressed with a window of that size."""
_STORED = 256
"""Chunks up to this many bytes are not compressed: a few lines shrink by less than the row that holds them."""


def pack(lines: Sequence[EventLine]) -> bytes:
    """A chunk's bytes; level 1 is nearly as small as the best and several times faster."""
    data = orjson.dumps([[line.at, line.type, line.level, line.message, line.data] for line in lines])
    if len(data) <= _STORED:
        return b"\x78\x01\x01" + _SIZES.pack(len(data), ~len(data) & 0xFFFF) + data + _CHECK.pack(zlib.adler32(data))
    if len(data) > _WINDOW:
        return zlib.compress(data, 1)
    # The usual tables take many times longer to set up than a few lines to compress.
    packer = zlib.compressobj(1, zlib.DEFLATED, _WINDOW.bit_length() - 1, 2)
    return packer.compress(data) + packer.flush()


def unpack(data: bytes, first_seq: int) -> Iterator[Event]:
    """A chunk's lines as numbered events."""
    for offset, (at, kind, level, message, extra) in enumerate(orjson.loads(zlib.decompress(data))):
        yield Event(
            first_seq + offset, datetime.fromisoformat(at), EventType(kind), level=level, message=message, data=extra
        )


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The state of a run's log after new lines: its last number, its size, and the number of dropped lines."""

    seq: int
    size: int
    dropped: int


def position_columns(positions: Sequence[LogPosition]) -> dict[str, list[Any]]:
    """The same as columns of runs."""
    return {
        "event_seq": [position.seq for position in positions],
        "log_bytes": [position.size for position in positions],
        "log_dropped": [position.dropped for position in positions],
    }


@dataclass(slots=True)
class LogChunkWriter:
    """Builds the chunks of many runs. A run's log is bounded over all its attempts; beyond, lines are counted."""

    columns: dict[str, list[Any]]

    @classmethod
    def new(cls) -> LogChunkWriter:
        return cls({"run_id": [], "first_seq": [], "tenant_id": [], "last_seq": [], "data": []})

    async def tell_each(self, told: Iterable[tuple[Any, Sequence[EventLine], datetime | None]]) -> list[LogPosition]:
        """The same for many, whose chunks are compressed one at a time, yielding to other tasks in between."""
        tolds = []
        for row, lines, ended_at in told:
            for done in self._steps(row, lines, ended_at):
                if done is None:
                    await asyncio.sleep(0)
                else:
                    tolds.append(done)
        return tolds

    def tell(self, row: Any, lines: Sequence[EventLine], ended_at: datetime | None = None) -> LogPosition:
        """Lines of a running attempt, whose row is locked; at its end a last line says how many were dropped."""
        return next(done for done in self._steps(row, lines, ended_at) if done is not None)

    def _steps(self, row: Any, lines: Sequence[EventLine], ended_at: datetime | None) -> Generator[LogPosition | None]:
        """None after each full chunk, then the state of the log."""
        # Each attempt has a start event, and each but the last an end event: the other numbers are lines.
        room = max(LINES_PER_RUN - (row.event_seq - 2 * row.attempt), 0)
        seq, size = row.event_seq, row.log_bytes
        kept = lines[:room]
        for start in range(0, len(kept), CHUNK_LINES):
            part = kept[start : start + CHUNK_LINES]
            data = pack(part)
            if size + len(data) > LOG_BYTES:
                # Full from here on, also for shorter lines: a log with silent holes would look complete.
                size = LOG_BYTES
                break
            seq, size = self._add(row, seq, part, data), size + len(data)
            if len(part) == CHUNK_LINES:
                yield None
        dropped = row.log_dropped + len(lines) - (seq - row.event_seq)
        if dropped and ended_at is not None:
            message = f"{dropped} more lines were dropped: a run's log has at most {LINES_PER_RUN:,} lines and 256 MiB"
            last = [EventLine(ended_at, EventType.LOG, "warning", message)]
            yield LogPosition(self._add(row, seq, last, pack(last)), size, 0)
            return
        yield LogPosition(seq, size, dropped)

    def _add(self, row: Any, seq: int, lines: Sequence[EventLine], data: bytes) -> int:
        last, columns = seq + len(lines), self.columns
        columns["run_id"].append(row.id)
        columns["first_seq"].append(seq + 1)
        columns["tenant_id"].append(row.tenant_id)
        columns["last_seq"].append(last)
        columns["data"].append(data)
        return last
