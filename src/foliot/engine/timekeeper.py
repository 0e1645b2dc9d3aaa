"""Keeps this process's clock in step with the database's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from foliot.ports import Clock, Store, Transaction

ASKED = 3
"""How often the time is asked for each time: the quickest answer has the least room to be wrong."""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """A moment of the database's, given somewhere between a question and its arrival."""

    moment: datetime
    asked: float
    answered: float

    @property
    def took(self) -> float:
        return self.answered - self.asked


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
            answer = await self._quickest(tx)
        before = self.clock.now()
        if answer.took <= PROMPT:
            # The answer was made somewhere between the question and its arrival: take the middle.
            self.clock.adjust(answer.moment, (answer.asked + answer.answered) / 2)
            return Adjusted((self.clock.now() - before).total_seconds(), self.period)
        # A process that stood still, or a network that did: what we knew is better, unless it cannot be true.
        if before < answer.moment:
            self.clock.adjust(answer.moment, answer.answered)
        elif before > answer.moment + timedelta(seconds=answer.took):
            self.clock.adjust(answer.moment, answer.asked)
        return Adjusted((self.clock.now() - before).total_seconds(), min(SOON, self.period))

    async def _quickest(self, tx: Transaction) -> Answer:
        """The first carries what a transaction costs to begin; where answers are slow, one is enough to know it."""
        best = await self._ask(tx)
        for _ in range(ASKED - 1):
            if best.took > PROMPT:
                break
            best = min(best, await self._ask(tx), key=lambda answer: answer.took)
        return best

    async def _ask(self, tx: Transaction) -> Answer:
        asked = self.clock.monotonic()
        moment = await tx.upkeep.time()
        return Answer(moment, asked, self.clock.monotonic())
