"""Counters in memory: a histogram with fixed buckets, and runs per minute in a ring of time slices."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

LATENESS_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
DURATION_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


@dataclass(slots=True)
class Histogram:
    """Values by upper bound; the last slot is everything above."""

    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = self.counts or [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def observe_all(self, values: Iterable[float]) -> None:
        for value in values:
            self.observe(value)

    @property
    def count(self) -> int:
        return sum(self.counts)

    def as_dict(self) -> dict[str, Any]:
        return {"counts": list(self.counts), "sum": self.total}

    def add(self, raw: Mapping[str, Any]) -> None:
        """Add the counts of another process; a report with other buckets is ignored."""
        counts = raw.get("counts")
        if isinstance(counts, list) and len(counts) == len(self.counts):
            self.counts = [ours + int(theirs) for ours, theirs in zip(self.counts, counts, strict=True)]
            self.total += float(raw.get("sum", 0.0))

    def cumulative(self) -> list[tuple[str, float]]:
        """Cumulative buckets, as Prometheus expects them."""
        running, made = 0.0, []
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            running += count
            made.append((bound, running))
        return made


SLICE = 5
"""Length of a slice, in seconds."""
SLICES = 60 // SLICE
MOST_QUEUES = 100
"""How many queues a slice distinguishes: tenants choose their names, and a report must stay bounded."""


@dataclass(slots=True)
class MinuteCounter:
    """A ring buffer of slices; those older than a minute are dropped."""

    _ring: deque[tuple[int, Counter[str]]] = field(default_factory=lambda: deque(maxlen=SLICES))

    def beat(self, queue: str, at: datetime) -> None:
        number = int(at.timestamp()) // SLICE
        if not self._ring or self._ring[-1][0] < number:
            self._ring.append((number, Counter()))
        counts = self._ring[-1][1]
        if queue in counts or len(counts) < MOST_QUEUES:
            counts[queue] += 1

    def per_minute(self, now: datetime) -> dict[str, int]:
        """The busiest queues, by name."""
        oldest = int(now.timestamp()) // SLICE - SLICES
        total: Counter[str] = Counter()
        for number, counts in self._ring:
            if number > oldest:
                total.update(counts)
        return dict(sorted(total.most_common(MOST_QUEUES)))
