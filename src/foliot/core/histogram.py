"""A histogram with fixed buckets, so that those of many processes can be added up."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
