"""How many runs would be open at each second of a week, per queue and per host."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate

STEP = 3600
"""Seconds of one bar of a drawn load."""


@dataclass(slots=True)
class LoadProfile:
    """Open runs by second; runs that last beyond the end are cut."""

    seconds: int
    _edges: array[int] = field(init=False)

    def __post_init__(self) -> None:
        self._edges = array("l", bytes(8 * (self.seconds + 1)))

    def add(self, starts: Iterable[int], ends: Iterable[int], times: int = 1) -> None:
        """Runs that start and end at these seconds; so many of each."""
        edges, last = self._edges, self.seconds
        for start in starts:
            edges[start] += times
        for end in ends:
            edges[min(end, last)] -= times

    def counts(self) -> list[int]:
        """Open runs at each second."""
        return list(accumulate(self._edges[: self.seconds]))


@dataclass(frozen=True, slots=True)
class LoadPeak:
    """The most runs that are open at once, and when first."""

    count: int
    at: datetime | None

    @classmethod
    def of(cls, counts: Sequence[int], start: datetime) -> LoadPeak:
        count = max(counts, default=0)
        return cls(count, start + timedelta(seconds=counts.index(count)) if count else None)


def bars(counts: Sequence[int], step: int = STEP) -> list[int]:
    """The peak of every hour."""
    return [max(counts[low : low + step]) for low in range(0, len(counts), step)]


def folded(counts: Sequence[int], unit: int, period: int) -> list[int]:
    """The highest load of each unit of a repeating period, such as each minute of the day."""
    units = counts if unit == 1 else bars(counts, unit)
    return [max(units[place::period], default=0) for place in range(period)]
