"""What is asked of a run's log by those who read it page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from foliot.domain.event import Event

LEVELS = ("debug", "info", "warning", "error", "critical")
"""From the least to the most severe; a level of another name counts as `info`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines: those that say this, in any case, and are at least so severe."""

    grep: str = ""
    level: str = LEVELS[0]
    needle: str = field(init=False, repr=False)
    least: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needle", self.grep.casefold())
        object.__setattr__(self, "least", LEVELS.index(self.level))

    @property
    def everything(self) -> bool:
        return not self.needle and self.least == 0

    def takes(self, level: str, message: str) -> bool:
        return _severity(level) >= self.least and (not self.needle or self.needle in message.casefold())


def _severity(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else 1


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a log: so many lines before a number, and so many from it on."""

    at: int
    behind: int
    ahead: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How many lines there are, and the numbers of the first and the last."""

    lines: int = 0
    first: int | None = None
    last: int | None = None
    upto: int = 0
    """The last number that was looked at, line or not."""

    def plus(self, more: Tally) -> Tally:
        first = more.first if self.first is None else self.first
        last = self.last if more.last is None else more.last
        return Tally(self.lines + more.lines, first, last, max(self.upto, more.upto))


class Logs(Protocol):
    """Lines of one run; progress and changes of state are not among them."""

    async def tally(self, run_id: str, after: int = 0) -> Tally:
        """Of every line after this number."""
        ...

    async def cut(self, run_id: str, cut: Cut) -> list[Event]:
        """A part of the log, oldest line first."""
        ...

    async def search(self, run_id: str, wanted: Wanted, cut: Cut) -> tuple[list[Event], Tally]:
        """The same of the wanted lines alone, which are counted over the whole log."""
        ...

    async def starts(self, run_id: str) -> Sequence[tuple[int, int]]:
        """(number of the event, number of the attempt) for each attempt, oldest first."""
        ...

    async def kept(self, run_id: str) -> bool:
        """Whether all that was written is still there."""
        ...
