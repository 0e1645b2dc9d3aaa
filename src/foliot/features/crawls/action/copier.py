"""Copies a crawl's log and items by range requests: bounded in bytes and lines, each line and item once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from foliot.core.errors import Invalid
from foliot.core.json_values import check_depth
from foliot.engine.model.run import LINE_LIMIT, LOG_BYTES
from foliot.engine.ports import ActionLog
from foliot.features.crawls.action.handle import FROM_HERE, CopyPosition, CrawlHandle
from foliot.features.crawls.action.scrapy_log import zone_of
from foliot.features.crawls.action.scrapyd_client import FileRange, ScrapydClient


@dataclass(frozen=True, slots=True)
class SplitLines:
    """The lines of one range."""

    lines: list[tuple[bytes, bool]]
    """Each without its newline, and whether it was longer than the limit and is truncated."""
    used: int
    """Bytes that need not be read again; an unfinished line at the end is left for the next range."""
    inside: bool
    """Whether the next range begins inside a line whose beginning was returned already."""


def cut(part: bytes, *, inside: bool, limit: int, most: int, last: bool = False) -> SplitLines:
    """At most `most` lines of at most `limit` bytes. `last`: nothing follows, so that an unfinished line counts too."""
    lines: list[tuple[bytes, bool]] = []
    used = 0
    for line, size, complete in _split(part):
        if len(lines) >= most:
            return SplitLines(lines, used, inside)
        if inside:
            used += size
            inside = not complete
            continue
        if not complete and len(line) <= limit and not last:
            break
        lines.append((_bare(line[:limit]), len(line) > limit))
        used += size
        inside = not complete and not last
    return SplitLines(lines, used, inside)


def _split(part: bytes) -> Iterator[tuple[bytes, int, bool]]:
    """Each line without its newline, with its size, and whether a newline ended it."""
    start = 0
    while start < len(part):
        end = part.find(b"\n", start)
        if end < 0:
            yield part[start:], len(part) - start, False
            return
        yield part[start:end], end + 1 - start, True
        start = end + 1


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\r")


PART = 512 * 1024
LEAST_PART = 32 * 1024
LINES = 20_000
"""Maximum lines of one crawl in one poll; bounds the memory of unwritten lines."""
BREATH = 100
"""Lines after which the event loop runs other tasks: parsing thousands of lines takes a tenth of a second."""
ITEMS = 2000
LONGEST_ITEM = 256 * 1024
TAIL = 64 * 1024
"""Bytes read from the end of a log that is too large to be copied: there Scrapy writes how the crawl ended."""
_FUTURE = timedelta(hours=1)
_PAST = timedelta(days=366)


@dataclass(slots=True)
class CopyBudget:
    """Remaining bytes, lines and time of one poll round over all crawls; bounds memory."""

    crawls: int = 1
    until: float = float("inf")
    """Event loop time; a crawl that has not begun by then waits for the next round."""
    size: int = 16 * 1024 * 1024
    lines: int = 50_000

    def share(self, want: int = 0) -> int:
        """How many bytes to request now; 0 when the crawl has to wait for the next round."""
        if self.size <= 0 or self.lines <= 0 or asyncio.get_running_loop().time() > self.until:
            return 0
        fair = min(PART, max(LEAST_PART, self.size // self.crawls))
        return max(fair, want)

    def spend(self, size: int, lines: int) -> None:
        self.size -= size
        self.lines -= lines


@dataclass(slots=True)
class CopiedPart:
    """What one poll of a crawl copied."""

    size: int = 0
    more: bool = False
    """Whether more can be copied at once."""
    missing: bool = False
    """Whether there is no log."""
    items: list[Any] = field(default_factory=list)

    def add(self, other: CopiedPart) -> None:
        self.size += other.size
        self.more = self.more or other.more
        self.items += other.items


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlCopier:
    """Copies logs and items; of a log above `most_log`, only the beginning and the end."""

    most_log: int = LOG_BYTES

    async def copy_log(
        self,
        scrapyd: ScrapydClient,
        handle: CrawlHandle,
        log: ActionLog,
        budget: CopyBudget,
        now: datetime,
        *,
        ended: bool = False,
    ) -> CopiedPart:
        """Copies the next lines; an unfinished one only when the crawl has `ended` and writes no more."""
        length = budget.share()
        if not length:
            return CopiedPart(more=True)
        if handle.log.offset < handle.log.known:
            length = min(length, handle.log.known - handle.log.offset)
        piece = await scrapyd.log(handle.project, handle.spider, handle.jobid, handle.log.offset, length)
        _know(handle.log, piece, log)
        if piece is None:
            return CopiedPart(missing=True)
        await self._find_zone(scrapyd, handle, piece)
        last = ended and handle.log.offset + len(piece.data) >= piece.total
        taken = cut(piece.data, inside=handle.log.inside, limit=LINE_LIMIT, most=min(LINES, budget.lines), last=last)
        budget.spend(len(piece.data), len(taken.lines))
        await _say(handle, taken, log, now)
        if not taken.used:
            # The known part ends inside a line, which was not copied.
            handle.log.known = min(handle.log.known, handle.log.offset)
        used = taken.used
        if self._leap(handle.log, piece.total):
            said = f"The log is too large to be kept in full: {handle.log.left_out} bytes were left out here"
            log(said, level="warning")
        # An unfinished line alone is no reason to poll again at once.
        return CopiedPart(used, more=handle.log.offset < piece.total and (used > 0 or len(piece.data) >= length))

    async def copy_items(self, scrapyd: ScrapydClient, handle: CrawlHandle, budget: CopyBudget) -> CopiedPart:
        """Copies the next items."""
        copied = handle.items
        length = budget.share(copied.want)
        if not length:
            return CopiedPart(more=True)
        piece = await scrapyd.items(handle.project, handle.spider, handle.jobid, copied.offset, length)
        if piece is None:
            return CopiedPart(missing=True)
        taken = cut(piece.data, inside=copied.inside, limit=LONGEST_ITEM, most=ITEMS)
        budget.spend(len(piece.data), len(taken.lines))
        lines = [(line, long) for line, long in taken.lines if line.strip()]
        items = [item for line, long in lines if not long for item in _item(line)]
        copied.count += len(items)
        copied.left_out += len(lines) - len(items)
        full = len(piece.data) >= length
        _move(copied, taken.used, inside=taken.inside, want=min(2 * length, LONGEST_ITEM + 1) if full else 0)
        return CopiedPart(taken.used, more=copied.offset < piece.total and (taken.used > 0 or full), items=items)

    async def _find_zone(self, scrapyd: ScrapydClient, handle: CrawlHandle, piece: FileRange) -> None:
        """Finds the node's UTC offset from the end of the log: Scrapy writes local time without an offset."""
        end: FileRange | None = piece
        if handle.log.offset + len(piece.data) < piece.total:
            if handle.reading.zone is not None:
                return
            end = await scrapyd.log(handle.project, handle.spider, handle.jobid, -LEAST_PART, LEAST_PART)
        if end is not None:
            zone = zone_of(end.data, end.modified)
            handle.reading.zone = handle.reading.zone if zone is None else zone

    def _leap(self, copied: CopyPosition, total: int) -> bool:
        """Skips the middle of a log that is too large."""
        if copied.offset < self.most_log or total - copied.offset <= TAIL:
            return False
        copied.left_out += total - TAIL - copied.offset
        copied.offset, copied.inside = total - TAIL, True
        return True


def _know(copied: CopyPosition, piece: FileRange | None, log: ActionLog) -> None:
    """Sets how much of the log an earlier attempt may have copied, if that is not known yet."""
    if copied.known != FROM_HERE:
        return
    copied.known = 0 if piece is None else piece.total
    if copied.known:
        log(
            f"The first {copied.known} bytes of its log are not copied again: they are in the log of the earlier "
            "attempt, except for what was written after that was given up",
            level="warning",
        )


async def _say(handle: CrawlHandle, taken: SplitLines, log: ActionLog, now: datetime) -> None:
    known = handle.log.offset < handle.log.known
    for number, (line, long) in enumerate(taken.lines, 1):
        if number % BREATH == 0:
            await asyncio.sleep(0)
        said = handle.reading.read(line.decode("utf-8", "replace"))
        if known:
            continue
        at = said.at if said.at is not None and now - _PAST < said.at < now + _FUTURE else None
        log(f"{said.text}… (cut)" if long else said.text, level=said.level, at=at)
    _move(handle.log, taken.used, inside=taken.inside)


def _move(copied: CopyPosition, used: int, *, inside: bool, want: int = 0) -> None:
    copied.offset += used
    copied.inside = inside
    copied.want = 0 if used else want


def _item(line: bytes) -> Iterator[Any]:
    """The item, if it can be stored."""
    try:
        # PostgreSQL stores no U+0000 in text.
        item = _loads(line.replace(b"\\u0000", b"\\ufffd"))
        check_depth("item", item)
    except (ValueError, RecursionError, Invalid):
        return
    yield item


def _loads(line: bytes) -> Any:
    """JSON, also as Python writes it: with NaN and lone surrogates."""
    try:
        return orjson.loads(line)
    except ValueError:
        value = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
