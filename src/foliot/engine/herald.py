"""Tells the store that this process lives, and how it is doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.ports import Clock, Store


@dataclass(frozen=True, slots=True)
class Told:
    """Nothing but when to speak again."""

    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Herald:
    """Health and metrics read what it writes, on whatever process they are asked."""

    clock: Clock
    store: Store
    node_id: str
    role: str
    started_at: datetime
    report: Callable[[], Mapping[str, Any]]
    period: float
    name: str = "herald"
    topics: Sequence[str] = ()

    async def run_once(self) -> Told:
        async with self.store.begin() as tx:
            await tx.upkeep.report(self.node_id, self.role, self.started_at, self.clock.now(), self.report())
        return Told(self.period)
