"""Tells the store that this process lives and how it is doing, and hears what is asked of it."""

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
    """Nothing but when to speak again."""

    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Herald:
    """Health and metrics read what it writes, on whatever process they are asked."""

    clock: Clock
    store: Database
    node_id: str
    role: str
    started_at: datetime
    report: Callable[[], Mapping[str, Any]]
    period: float
    heard: Callable[[Wish], None] | None = None
    """Told what an operator asked of this process, as long as the wish stands."""
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
