"""What is asked of a run's log by those who read it page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from foliot.features.runs.model.log_category import category_of

LEVELS = ("debug", "info", "warning", "error", "critical")
"""From the least to the most severe; a level of another name counts as `info`."""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines: those that say this, in any case, are at least so severe, and of one of these categories."""

    grep: str = ""
    level: str = LEVELS[0]
    categories: frozenset[str] = frozenset()
    """None of them is every line, also one of no category."""
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
        """Whoever asks sees to the attempt, which a line does not tell."""
        return (
            severity(level) >= self.least
            and (not self.needle or self.needle in message.casefold())
            and (not self.categories or category_of(message) in self.categories)
        )


def severity(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else 1


@dataclass(frozen=True, slots=True)
class LogRange:
    """A part of a log: so many lines before a number, and so many from it on."""

    at: int
    behind: int
    ahead: int


@dataclass(frozen=True, slots=True)
class LineTally:
    """How many lines there are, and the numbers of the first and the last."""

    lines: int = 0
    first: int | None = None
    last: int | None = None
    upto: int = 0
    """The last number that was looked at, line or not."""

    def plus(self, more: LineTally) -> LineTally:
        first = more.first if self.first is None else self.first
        last = self.last if more.last is None else more.last
        return LineTally(self.lines + more.lines, first, last, max(self.upto, more.upto))


@dataclass(frozen=True, slots=True)
class LineCategory:
    """What lines are counted by."""

    level: str
    category: str | None
    attempt: int | None


@dataclass(frozen=True, slots=True)
class LineCounts:
    """How many lines there are of each sort."""

    counts: Counter[LineCategory] = field(default_factory=Counter)
    upto: int = 0
    """The last number that was looked at, line or not."""

    def plus(self, more: LineCounts) -> LineCounts:
        return LineCounts(self.counts + more.counts, max(self.upto, more.upto))


Starts = Sequence[tuple[int, int]]
"""(number of the event, number of the attempt) for each attempt, oldest first."""
