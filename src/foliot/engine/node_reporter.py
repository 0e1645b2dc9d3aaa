"""Writes the state of this process into the table `nodes`, and reads an operator's requests to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.node import Wish
from foliot.engine.sql.retention import SqlUpkeep
from foliot.wakeups.feed import REPORT_TOPIC, node_topic


@dataclass(frozen=True, slots=True)
class Told:
    """When to report again."""

    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Herald:
    """Health and metrics of every process are read from these rows."""

    clock: Clock
    store: Database
    node_id: str
    role: str
    started_at: datetime
    report: Callable[[], Mapping[str, Any]]
    period: float
    heard: Callable[[Wish], None] | None = None
    """Called with an operator's request, as long as it stands."""
    name: str = "herald"

    @property
    def topics(self) -> Sequence[str]:
        return (node_topic(self.node_id), REPORT_TOPIC)

    async def run_once(self) -> Told:
        async with self.store.begin() as tx:
            wish = await SqlUpkeep(tx).report(self.node_id, self.role, self.started_at, self.clock.now(), self.report())
        if wish is not None and self.heard is not None:
            self.heard(wish)
        return Told(self.period)
