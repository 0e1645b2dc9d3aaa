"""Keeps this process's clock in step with the database's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from foliot.ports import Clock, Store

PROMPT = 0.5
"""Seconds within which an answer tells the time; how long a slower one was under way, and when, nobody knows."""

SOON = 1.0
"""How long to rest before asking again after a slow answer."""


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
        if answered - asked <= PROMPT:
            # The answer was made somewhere between the question and its arrival: take the middle.
            self.clock.adjust(moment, (asked + answered) / 2)
            return Adjusted((self.clock.now() - before).total_seconds(), self.period)
        # A process that stood still, or a network that did: what we knew is better, unless it cannot be true.
        if before < moment:
            self.clock.adjust(moment, answered)
        elif before > moment + timedelta(seconds=answered - asked):
            self.clock.adjust(moment, asked)
        return Adjusted((self.clock.now() - before).total_seconds(), min(SOON, self.period))
