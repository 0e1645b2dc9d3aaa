"""Reads and searches a run's log, stored in compressed chunks: a bounded number in memory, decompressed in a thread."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy import func, select

from foliot.core.threads import REQUESTS
from foliot.db.database import Statements
from foliot.engine.model.run import Event, EventType
from foliot.engine.sql.tables import attempts, log_chunks, runs
from foliot.features.runs.model.log import (
    LEVELS,
    LineCategory,
    LineCounts,
    LineTally,
    LogFilter,
    LogRange,
    Starts,
    beginning,
    category_of,
    severity,
)

FEW, MANY = 4, 40
"""Chunks per query: few at first, for most readers want little; twenty thousand lines at most."""

Chunk = tuple[int, int, bytes]
"""First sequence number, last sequence number, compressed lines."""


@dataclass(frozen=True, slots=True)
class SqlLogs(Statements):
    """Reads chunks in order, from either end."""

    async def tally(self, run_id: str, after: int = 0) -> LineTally:
        """The tally of all lines after this number."""
        total, place = LineTally(upto=after), after
        while chunks := await self._chunks(run_id, MANY, after=place):
            total = total.plus(await REQUESTS.run(_tally, chunks, after))
            place = chunks[-1][1]
        return total

    async def cut(self, run_id: str, cut: LogRange) -> list[Event]:
        """A range of the log, oldest line first."""
        found, place, size = list[Event](), cut.at, FEW
        while len(found) < cut.behind and (chunks := await self._chunks(run_id, size, before=place)):
            lines = await REQUESTS.run(_lines, chunks, _ALL)
            found = [line for line in lines if line.seq < cut.at] + found
            place, size = chunks[0][0], min(2 * size, MANY)
        found = found[-cut.behind :] if cut.behind else []
        place, size, most = cut.at - 1, FEW, len(found) + cut.ahead
        while len(found) < most and (chunks := await self._chunks(run_id, size, after=place)):
            lines = await REQUESTS.run(_lines, chunks, _ALL)
            found += [line for line in lines if line.seq >= cut.at]
            place, size = chunks[-1][1], min(2 * size, MANY)
        return found[:most]

    async def search(
        self, run_id: str, wanted: LogFilter, cut: LogRange, within: Sequence[range] | None = None
    ) -> tuple[list[Event], LineTally]:
        """A range of the matching lines, which are counted over the whole log, or over these numbers of it."""
        found = _SearchHits.around(cut)
        for stretch in _WHOLE if within is None else within:
            place = stretch.start - 1
            while place < stretch.stop - 1 and (chunks := await self._chunks(run_id, MANY, after=place)):
                await REQUESTS.run(found.take, chunks, wanted, stretch)
                place = chunks[-1][1]
        return [*found.behind, *found.ahead], found.total

    async def sort(self, run_id: str, starts: Starts, *, grep: str = "", after: int = 0) -> LineCounts:
        """Counts every line after this number that contains this text, per key."""
        found, wanted = LineCounts(upto=after), LogFilter(grep)
        while chunks := await self._chunks(run_id, MANY, after=found.upto):
            found = found.plus(await REQUESTS.run(_sorted, chunks, wanted, starts, after))
        return found

    async def starts(self, run_id: str) -> list[tuple[int, int]]:
        ended = select(attempts.c.started_seq, attempts.c.number).where(attempts.c.run_id == run_id)
        going = select(runs.c.started_seq, runs.c.attempt).where(runs.c.id == run_id, runs.c.started_seq.is_not(None))
        found = {(seq, number) for query in (ended, going) for seq, number in await self.conn.execute(query)}
        return sorted(found)

    async def kept(self, run_id: str) -> bool:
        """Whether all lines that were written are still stored.

        Every number is a stored line, or a change of state, which the attempts and the run record.
        """
        lines = func.coalesce(func.sum(log_chunks.c.last_seq - log_chunks.c.first_seq + 1), 0)
        there = await self.conn.scalar(select(lines).where(log_chunks.c.run_id == run_id))
        row = (await self.conn.execute(select(*_SEQUENCES).where(runs.c.id == run_id))).first()
        if row is None:
            return True
        query = select(attempts.c.started_seq, attempts.c.ended_seq).where(attempts.c.run_id == run_id)
        states = {1, row.started_seq, row.final_seq} - {None}
        for pair in await self.conn.execute(query):
            states.update(pair)
        return row.log_dropped == 0 and bool(int(there or 0) + len(states) >= row.event_seq)

    async def _chunks(
        self, run_id: str, limit: int, *, after: int | None = None, before: int | None = None
    ) -> list[Chunk]:
        """The next few after one number, or before another; oldest first."""
        query = select(log_chunks.c.first_seq, log_chunks.c.last_seq, log_chunks.c.data)
        query = query.where(log_chunks.c.run_id == run_id).limit(limit)
        if before is None:
            query = query.where(log_chunks.c.last_seq > after).order_by(log_chunks.c.first_seq)
            return [(first, last, data) for first, last, data in await self.conn.execute(query)]
        query = query.where(log_chunks.c.first_seq < before).order_by(log_chunks.c.first_seq.desc())
        return [(first, last, data) for first, last, data in await self.conn.execute(query)][::-1]


@dataclass(slots=True)
class _SearchHits:
    """The result of a search: all matches counted, and those kept that lie in the range."""

    cut: LogRange
    behind: deque[Event]
    ahead: list[Event]
    total: LineTally

    @classmethod
    def around(cls, cut: LogRange) -> _SearchHits:
        return cls(cut, deque(maxlen=cut.behind), [], LineTally())

    def take(self, chunks: Sequence[Chunk], wanted: LogFilter, stretch: range) -> None:
        """One chunk at a time: lines can be long, and most of them are only counted."""
        for chunk in chunks:
            lines, at = [line for line in _lines([chunk], wanted) if line.seq in stretch], self.cut.at
            self.behind.extend(line for line in lines if line.seq < at)
            self.ahead += [line for line in lines if line.seq >= at][: self.cut.ahead - len(self.ahead)]
            if lines:
                self.total = self.total.plus(LineTally(len(lines), lines[0].seq, lines[-1].seq, chunk[1]))


_SEQUENCES = (runs.c.event_seq, runs.c.started_seq, runs.c.final_seq, runs.c.log_dropped)
_ALL = LogFilter()
_WHOLE = (range(1, 2**62),)
_STEP = b'"progress"'
_PLAIN = re.compile(r"[a-z0-9 _.,:;/=+*()\[\]-]+")
"""Characters that JSON writes unescaped."""


def _tally(chunks: Sequence[Chunk], after: int) -> LineTally:
    lines, first, last = 0, None, None
    for begin, end, packed in chunks:
        data = zlib.decompress(packed)
        # A chunk without progress events has a line for every number.
        seqs: Sequence[int] = range(max(begin, after + 1), end + 1)
        if _STEP in data:
            seqs = [seq for seq, row in enumerate(orjson.loads(data), begin) if row[1] == EventType.LOG and seq > after]
        if seqs:
            lines, first, last = lines + len(seqs), first or seqs[0], seqs[-1]
    return LineTally(lines, first, last, chunks[-1][1])


def _sorted(chunks: Sequence[Chunk], wanted: LogFilter, starts: Starts, after: int) -> LineCounts:
    counts, begun = Counter[LineCategory](), [seq for seq, _ in starts]
    for begin, _, packed in chunks:
        data = zlib.decompress(packed)
        if not _may_hold(data, wanted):
            continue
        for seq, (_, kind, level, message, _) in enumerate(orjson.loads(data), begin):
            if kind == EventType.LOG and seq > after and wanted.takes(level, message):
                place = bisect_right(begun, seq)
                attempt = starts[place - 1][1] if place else None
                counts[LineCategory(LEVELS[severity(level)], category_of(message), attempt)] += 1
    return LineCounts(counts, chunks[-1][1])


def _lines(chunks: Sequence[Chunk], wanted: LogFilter) -> list[Event]:
    found = []
    for begin, _, packed in chunks:
        data = zlib.decompress(packed)
        if not _may_hold(data, wanted):
            continue
        for seq, (at, kind, level, message, _) in enumerate(orjson.loads(data), begin):
            if kind == EventType.LOG and wanted.takes(level, message):
                found.append(Event(seq, datetime.fromisoformat(at), EventType.LOG, level=level, message=message))
    return found


def _may_hold(data: bytes, wanted: LogFilter) -> bool:
    """Whether a chunk is worth parsing: most chunks of a long log hold no match."""
    if wanted.least > 1 and not any(f'"{level}"'.encode() in data for level in LEVELS[wanted.least :]):
        return False
    if wanted.categories and not any(beginning(one).encode() in data.lower() for one in wanted.categories):
        return False
    # Only for ASCII that JSON writes unescaped: other text may differ in its bytes and still match.
    sure = _PLAIN.fullmatch(wanted.needle) is not None and data.isascii()
    return not sure or wanted.needle.encode() in data.lower()
