"""Remembers the moments at which waiting runs become ready, so that nobody has to look for them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

GRAIN = 0.005
"""Moments this close together ring once."""

MOST = 100_000
"""Beyond this many, the regular look at the store finds them."""


@dataclass(slots=True)
class Alarm:
    """A heap of moments, in grains of time."""

    _heap: list[int] = field(default_factory=list)
    _known: set[int] = field(default_factory=set)

    def set(self, moments: Iterable[datetime]) -> None:
        for moment in moments:
            grain = int(moment.timestamp() / GRAIN) + 1
            if grain not in self._known and len(self._heap) < MOST:
                self._known.add(grain)
                heapq.heappush(self._heap, grain)

    def rest(self, now: datetime, most: float) -> float:
        """How long until the next one rings, at most `most`; those that have rung are forgotten."""
        current = now.timestamp()
        while self._heap and self._heap[0] * GRAIN <= current:
            self._known.discard(heapq.heappop(self._heap))
        return max(0.0, min(most, self._heap[0] * GRAIN - current)) if self._heap else most
