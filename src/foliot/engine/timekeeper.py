"""Keeps this process's clock in step with the database's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from foliot.ports import Clock, Store


class SettableClock(Clock, Protocol):
    """A clock that can be told what time it was at a monotonic moment."""

    def adjust(self, moment: datetime, monotonic: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Adjusted:
    """By how much the clock was moved."""

    seconds: float
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timekeeper:
    """Asks now and then; in between, the monotonic clock counts, which no one can step."""

    clock: SettableClock
    store: Store
    period: float = 10.0
    name: str = "timekeeper"
    topics: Sequence[str] = ()

    async def run_once(self) -> Adjusted:
        async with self.store.read() as tx:
            asked = self.clock.monotonic()
            moment = await tx.upkeep.time()
            answered = self.clock.monotonic()
        before = self.clock.now()
        # The answer was made somewhere between the question and its arrival: take the middle.
        self.clock.adjust(moment, (asked + answered) / 2)
        return Adjusted((self.clock.now() - before).total_seconds(), self.period)
