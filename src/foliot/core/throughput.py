"""Counts the runs that ended within the last minute, per queue, in a ring of time slices."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime

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
