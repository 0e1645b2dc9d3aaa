"""Parses Scrapy's log: logger, level and time of each line, progress, closing stats and the reason of the end."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

MOST_STATS = 60
"""Maximum of closing stats that say nothing about how the crawl ended; as many again of those that may."""
_ALWAYS = frozenset(
    {
        "elapsed_time_seconds",
        "finish_reason",
        "item_scraped_count",
        "log_count/CRITICAL",
        "log_count/ERROR",
        "response_received_count",
        "robotstxt/response_count",
    }
)
_TELLING = ("log_count/", "spider_exceptions/")
_LARGEST = 2**53
"""Integers up to here are exact in every JSON parser."""
_LONGEST_TROUBLE = 300
_QUARTER = 15 * 60
"""Offsets from UTC are quarters of an hour."""
_FARTHEST = 14 * 60
_HEAD = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)? \[([^\]]{1,200})\] (DEBUG|INFO|WARNING|ERROR|CRITICAL): ?"
)
_ENTRY = re.compile(r"[{ ]'([^']{1,100})': (?:(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)|'([^']{0,100})')[,}]")
_SO_FAR = re.compile(r"Crawled (\d{1,12}) pages? \(at \S+ pages?/min\), scraped (\d{1,12}) items? ")
_CLOSED = re.compile(r"Spider closed \(([^)]{1,100})\)")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:: .*|Error|Exception|Exit|Interrupt)")
# ANSI sequences first, so that they are removed as a whole.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ENGINE = "scrapy.core.engine"
_AT_WORK = frozenset({_ENGINE, "scrapy.core.scraper", "scrapy.extensions.logstats"})


@dataclass(frozen=True, slots=True)
class ScrapyLogLine:
    """One line, ready for the run's own log."""

    text: str
    level: str
    at: datetime | None
    """None when it is unknown: then the time of reading is used."""


@dataclass(slots=True)
class ScrapyLogState:
    """Parser state between lines; stored in the handle."""

    zone: int | None = None
    """The node's UTC offset in minutes, once known."""
    level: str = "info"
    at: str | None = None
    """Time of the last record, as the node wrote it: continuation lines belong to it."""
    troubled: bool = False
    """Whether the next lines belong to the first error, and may name the exception."""
    dumping: bool = False
    trouble: str | None = None
    """The first error, in one line."""
    opened: bool = False
    closed: str | None = None
    """The reason with which the spider closed, if nothing followed."""
    pages: int = 0
    items: int = 0
    errors: int = 0
    stats: dict[str, Any] = field(default_factory=dict)

    def read(self, line: str) -> ScrapyLogLine:
        """Parses one line and updates the state."""
        text = clean(line)
        head = _HEAD.match(text)
        if head is None:
            self._continue(text)
            return ScrapyLogLine(text, self.level, self._moment())
        self.at, name, level = head[1], head[2], head[3].lower()
        self.level = level
        message = text[head.end() :]
        self._begin(name, level, message)
        return ScrapyLogLine(f"[{name}] {message}", level, self._moment())

    @property
    def ended(self) -> bool:
        """Whether the log says how the crawl ended."""
        return self.closed is not None and "finish_reason" in self.stats

    def _begin(self, name: str, level: str, message: str) -> None:
        self.dumping = name == "scrapy.statscollectors" and message.startswith("Dumping Scrapy stats")
        if self.dumping:
            self.stats = {}
        self.troubled = False
        if level in ("error", "critical"):
            self.errors += 1
            self.troubled = self.trouble is None
            self.trouble = self.trouble or message[:_LONGEST_TROUBLE]
        if name in _AT_WORK:
            self._work(name, message)

    def _work(self, name: str, message: str) -> None:
        """A spider that continues has not closed, whatever earlier lines say: text of a page may look like Scrapy's."""
        ended = _CLOSED.match(message) if name == _ENGINE else None
        self.closed = ended[1] if ended else None
        if ended is None:
            self.stats = {}
        if name == _ENGINE and message.startswith("Crawled ("):
            self.pages += 1
        elif name == "scrapy.core.scraper" and message.startswith("Scraped from"):
            self.items += 1
        elif name == "scrapy.extensions.logstats" and (found := _SO_FAR.match(message)):
            self.pages, self.items = max(self.pages, int(found[1])), max(self.items, int(found[2]))
        elif name == _ENGINE and message.startswith("Spider opened"):
            self.opened = True

    def _continue(self, text: str) -> None:
        if self.dumping:
            entry = _ENTRY.match(text)
            if entry is not None:
                self._count(entry[1], _number(entry[2]) if entry[2] else entry[3])
        elif self.troubled and _RAISED.fullmatch(text):
            self.trouble = text[:_LONGEST_TROUBLE]

    def _count(self, name: str, value: float | str | None) -> None:
        """Keeps one closing stat; those that say how it ended, however many the spider adds of its own."""
        most = 2 * MOST_STATS if name.startswith(_TELLING) else MOST_STATS
        if value is not None and (name in _ALWAYS or len(self.stats) < most):
            self.stats[name] = value

    def _moment(self) -> datetime | None:
        written = _naive(self.at)
        if written is None or self.zone is None:
            return None
        return written - timedelta(minutes=self.zone)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> ScrapyLogState:
        return cls(**{name: raw[name] for name in cls.__slots__ if name in raw})

    def as_dict(self) -> dict[str, Any]:
        """As JSON, without defaults."""
        fresh = ScrapyLogState()
        said = {name: getattr(self, name) for name in type(self).__slots__}
        return {name: value for name, value in said.items() if value != getattr(fresh, name)}


def clean(line: str) -> str:
    """Removes terminal sequences; other control characters become U+FFFD."""
    return _CONTROL.sub("\ufffd", _TERMINAL.sub("", line))


def zone_of(end: bytes, modified: datetime | None) -> int | None:
    """A node's UTC offset in minutes, from the last line of a file and its modification time.

    A file was modified when its last line was written. None when they do not match any offset.
    """
    for line in reversed(end.decode("utf-8", "replace").split("\n")):
        head = _HEAD.match(line)
        written = _naive(head[1]) if head else None
        if written is not None and modified is not None:
            minutes = round((written - modified).total_seconds() / _QUARTER) * (_QUARTER // 60)
            return minutes if abs(minutes) <= _FARTHEST else None
    return None


def _naive(text: str | None) -> datetime | None:
    """A local time of the node, as if it were UTC."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        return None


def _number(text: str) -> int | float | None:
    """A number within the range of JSON; None otherwise."""
    number = float(text)
    if not math.isfinite(number):
        return None
    return int(text) if abs(number) < _LARGEST and text.lstrip("-").isdecimal() else number
