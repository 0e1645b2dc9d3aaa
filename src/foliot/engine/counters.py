"""Counters of the engine, which the node reporter publishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram, MinuteCounter


@dataclass(slots=True)
class EngineCounters:
    """One per process."""

    lateness: Histogram = field(default_factory=lambda: Histogram(LATENESS_BUCKETS))
    start_lateness: Histogram = field(default_factory=lambda: Histogram(LATENESS_BUCKETS))
    duration: Histogram = field(default_factory=lambda: Histogram(DURATION_BUCKETS))
    fired: int = 0
    finished: dict[str, int] = field(default_factory=dict)
    stale_writes: int = 0
    pulse: MinuteCounter = field(default_factory=MinuteCounter)

    def ended(self, state: str, seconds: float) -> None:
        self.finished[state] = self.finished.get(state, 0) + 1
        self.duration.observe(seconds)

    def as_dict(self) -> dict[str, Any]:
        return {
            "lateness": self.lateness.as_dict(),
            "start_lateness": self.start_lateness.as_dict(),
            "duration": self.duration.as_dict(),
            "fired": self.fired,
            "finished": dict(self.finished),
            "stale_writes": self.stale_writes,
        }
