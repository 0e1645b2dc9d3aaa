"""A heap of the times at which waiting runs become ready, which spares polling for them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

GRAIN = 0.005
"""Times this close together count as one."""

MOST = 100_000
"""Beyond this many, the regular poll finds them."""


@dataclass(slots=True)
class ReadyTimes:
    """A heap of times, rounded to a grain."""

    _heap: list[int] = field(default_factory=list)
    _known: set[int] = field(default_factory=set)

    def set(self, moments: Iterable[datetime]) -> None:
        for moment in moments:
            grain = int(moment.timestamp() / GRAIN) + 1
            if grain not in self._known and len(self._heap) < MOST:
                self._known.add(grain)
                heapq.heappush(self._heap, grain)

    def rest(self, now: datetime, most: float) -> float:
        """Seconds until the next one, at most `most`; past ones are removed."""
        current = now.timestamp()
        while self._heap and self._heap[0] * GRAIN <= current:
            self._known.discard(heapq.heappop(self._heap))
        return max(0.0, min(most, self._heap[0] * GRAIN - current)) if self._heap else most
