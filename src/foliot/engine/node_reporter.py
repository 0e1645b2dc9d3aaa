"""Writes the state of this process into the table `nodes`, and reads an operator's requests to it.

Counters of the engine, which the node reporter publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from foliot.core.histogram import DURATION_BUCKETS, LATENESS_BUCKETS, Histogram, MinuteCounter
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.node import NodeRequest
from foliot.engine.sql.retention import SqlRetention
from foliot.wakeups.feed import REPORT_TOPIC, node_topic


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


@dataclass(frozen=True, slots=True)
class NodeReported:
    """When to report again."""

    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReporter:
    """Health and metrics of every process are read from these rows."""

    clock: Clock
    store: Database
    node_id: str
    role: str
    started_at: datetime
    report: Callable[[], Mapping[str, Any]]
    period: float
    heard: Callable[[NodeRequest], None] | None = None
    """Called with an operator's request, as long as it stands."""
    name: str = "herald"

    @property
    def topics(self) -> Sequence[str]:
        return (node_topic(self.node_id), REPORT_TOPIC)

    async def run_once(self) -> NodeReported:
        async with self.store.begin() as tx:
            wish = await SqlRetention(tx).report(
                self.node_id, self.role, self.started_at, self.clock.now(), self.report()
            )
        if wish is not None and self.heard is not None:
            self.heard(wish)
        return NodeReported(self.period)
