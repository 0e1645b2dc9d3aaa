"""Writes the state of this process into the table `nodes`, and reads an operator's requests to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.node import NodeRequest
from foliot.engine.sql.retention import SqlRetention
from foliot.wakeups.feed import REPORT_TOPIC, node_topic


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
