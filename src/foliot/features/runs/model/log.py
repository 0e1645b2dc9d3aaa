"""Values for reading a run's log: filter, range and counts of lines, their categories, and its form as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LEVELS = ("debug", "info", "warning", "error", "critical")
"""From the least to the most severe; an unknown level counts as `info`."""

_BEGINNINGS = {
    "crawled": "Crawled (",
    "scraped": "Scraped from ",
    "retry": "Retrying ",
    "giveup": "Gave up retrying ",
    "redirect": "Redirecting ",
    "robots": "Forbidden by robots.txt",
    "duplicate": "Filtered duplicate request",
    "offsite": "Filtered offsite request",
    "ignored": "Ignoring response ",
    "dropped": "Dropped: ",
}
"""How lines of each category begin, as Scrapy words them."""

CATEGORIES = tuple(_BEGINNINGS)

# The logger's name may precede it: `[scrapy.downloadermiddlewares.retry] Retrying <GET …`.
_LINE = re.compile(
    r"(?:\[[^\]]{1,200}\] )?(?:"
    + "|".join(f"(?P<{name}>{re.escape(text)})" for name, text in _BEGINNINGS.items())
    + ")",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Selects log lines by text (ignoring case), least severity, category and attempt."""

    grep: str = ""
    level: str = LEVELS[0]
    categories: frozenset[str] = frozenset()
    """Empty selects every line, also those without a category."""
    attempt: int | None = None
    needle: str = field(init=False, repr=False)
    least: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needle", self.grep.casefold())
        object.__setattr__(self, "least", LEVELS.index(self.level))

    @property
    def everything(self) -> bool:
        return not self.needle and self.least == 0 and not self.categories and self.attempt is None

    def takes(self, level: str, message: str) -> bool:
        """Whether it selects a line; the caller compares the attempt, which a line does not carry."""
        return (
            severity(level) >= self.least
            and (not self.needle or self.needle in message.casefold())
            and (not self.categories or category_of(message) in self.categories)
        )


def severity(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else 1


@dataclass(frozen=True, slots=True)
class LogRange:
    """A range of a log: a number of lines before a sequence number, and a number of lines from it on."""

    at: int
    behind: int
    ahead: int


@dataclass(frozen=True, slots=True)
class LineTally:
    """The number of lines, and the sequence numbers of the first and the last."""

    lines: int = 0
    first: int | None = None
    last: int | None = None
    upto: int = 0
    """The last sequence number that was read, line or not."""

    def plus(self, more: LineTally) -> LineTally:
        first = more.first if self.first is None else self.first
        last = self.last if more.last is None else more.last
        return LineTally(self.lines + more.lines, first, last, max(self.upto, more.upto))


@dataclass(frozen=True, slots=True)
class LineCategory:
    """The key by which lines are counted."""

    level: str
    category: str | None
    attempt: int | None


@dataclass(frozen=True, slots=True)
class LineCounts:
    """The number of lines per key."""

    counts: Counter[LineCategory] = field(default_factory=Counter)
    upto: int = 0
    """The last sequence number that was read, line or not."""

    def plus(self, more: LineCounts) -> LineCounts:
        return LineCounts(self.counts + more.counts, max(self.upto, more.upto))


Starts = Sequence[tuple[int, int]]
"""(sequence number of the event, number of the attempt) for each attempt, oldest first."""


def category_of(message: str) -> str | None:
    """One of `CATEGORIES`; None for most lines."""
    match = _LINE.match(message)
    return None if match is None else match.lastgroup


def beginning(category: str) -> str:
    """A text that every line of the category contains, in lower case."""
    return _BEGINNINGS[category].lower()


def transcript_line(at: str, event: Mapping[str, Any]) -> str:
    """One event as text, in a download and at the terminal alike. `event` is in the form of the HTTP answer."""
    what = event.get("message") or event.get("data") or ""
    label = event.get("state") if event.get("type") == "state" else event.get("level") or event.get("type")
    return printable(f"{at}  {label or '':<8}  {what}").rstrip()


def printable(text: str) -> str:
    """Escapes control characters: text from outside must not move the cursor or change colours of a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
