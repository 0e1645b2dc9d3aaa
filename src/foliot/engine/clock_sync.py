"""Keeps this process's clock in step with the database's, and holds a step until it is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.sql.retention import SqlUpkeep

ASKED = 3
"""How often the time is asked for each time: the quickest answer has the least room to be wrong."""

PROMPT = 0.5
"""Seconds within which an answer tells the time; how long a slower one was under way, and when, nobody knows."""

SOON = 1.0
"""How long to rest before asking again after a slow answer."""

STEP = 60.0
"""A reference that is further from our clock than this, in seconds, has stepped, and is not believed at once."""

CONFIRMED = 60.0
"""For so many seconds of the monotonic clock a step must stand before it is followed."""

LEAST = 5
"""And so many measurements in a row must agree on it."""

AGREE = 5.0
"""Measurements that differ by no more than this tell of the same step."""

IN_DOUBT = 5.0
"""How long to rest between two measurements while a step is held."""

log = structlog.get_logger("foliot.engine")


class SettableClock(Clock, Protocol):
    """A clock that can be told what time it was at a monotonic moment."""

    def adjust(self, moment: datetime, monotonic: float) -> None: ...

    def suspended(self) -> float:
        """For how many seconds this machine has slept, which the monotonic clock does not count."""
        ...


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


@dataclass(frozen=True, slots=True)
class Doubt:
    """A step of the reference clock that is not believed yet."""

    seconds: float
    """How far the reference is ahead of our clock; negative when it is behind."""
    since: float
    """The monotonic moment at which it was first seen."""
    measured: int = 1


@dataclass(slots=True, kw_only=True)
class Timekeeper:
    """Asks now and then; in between, the monotonic clock counts, which no one can step."""

    clock: SettableClock
    store: Database
    period: float = 10.0
    scale: float = 1.0
    """Shortens how long a step is held, for tests that make one."""
    name: str = "timekeeper"
    topics: Sequence[str] = ()
    doubt: Doubt | None = None
    stepped_at: float | None = None
    """The monotonic moment at which a step was last followed."""
    _slept: float | None = None
    """What the machine had slept at the last measurement; None before the first."""

    async def run_once(self) -> Adjusted:
        async with self.store.read() as tx:
            answer = await self._quickest(tx)
        before, at = self.clock.now(), self.clock.monotonic()
        told = _told(answer, before)
        if told is None:
            return Adjusted(0.0, min(SOON, self.period))
        moment, monotonic = told
        shift = (moment - before).total_seconds() + at - monotonic
        if not self._believed(shift):
            return Adjusted(0.0, min(IN_DOUBT, self.period) * self.scale)
        self.clock.adjust(moment, monotonic)
        rest = self.period if answer.took <= PROMPT else min(SOON, self.period)
        return Adjusted((self.clock.now() - before).total_seconds(), rest)

    @property
    def holds(self) -> bool:
        """Whether the reference is not to be believed now."""
        return self.doubt is not None

    def steady_for(self) -> float:
        """Seconds since our clock was last moved by a step; 0 while one is held."""
        if self.doubt is not None:
            return 0.0
        return float("inf") if self.stepped_at is None else self.clock.monotonic() - self.stepped_at

    def _believed(self, shift: float) -> bool:
        """Whether to move the clock by this: a little, the first time, after a sleep, or when a step is confirmed."""
        slept, was = self.clock.suspended(), self._slept
        self._slept = slept
        if was is None:
            return True
        if abs(shift) <= STEP:
            if self.doubt is not None:
                log.warning("the clock is back where it was", action="clock_step_gone", seconds=self.doubt.seconds)
            self.doubt = None
            return True
        if slept - was > AGREE and abs(shift - (slept - was)) <= AGREE:
            log.info("the machine has slept", action="clock_slept", seconds=round(shift, 3))
            self._follow()
            return True
        return self._confirmed(shift)

    def _confirmed(self, shift: float) -> bool:
        now, doubt = self.clock.monotonic(), self.doubt
        if doubt is None or abs(doubt.seconds - shift) > AGREE:
            self.doubt = Doubt(shift, now)
            log.critical(
                "the clock has stepped: it is not followed until it is confirmed",
                action="clock_stepped",
                seconds=round(shift, 3),
            )
            return False
        self.doubt = replace(doubt, measured=doubt.measured + 1)
        if self.doubt.measured < LEAST or now - doubt.since < CONFIRMED * self.scale:
            return False
        log.critical("the step of the clock is confirmed", action="clock_step_followed", seconds=round(shift, 3))
        self._follow()
        return True

    def _follow(self) -> None:
        self.doubt, self.stepped_at = None, self.clock.monotonic()

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
        moment = await SqlUpkeep(tx).time()
        return Answer(moment, asked, self.clock.monotonic())


def _told(answer: Answer, now: datetime) -> tuple[datetime, float] | None:
    """What time it was at which monotonic moment, as far as an answer tells it."""
    if answer.took <= PROMPT:
        # The answer was made somewhere between the question and its arrival: take the middle.
        return answer.moment, (answer.asked + answer.answered) / 2
    # A process that stood still, or a network that did: what we knew is better, unless it cannot be true.
    if now < answer.moment:
        return answer.moment, answer.answered
    if now > answer.moment + timedelta(seconds=answer.took):
        return answer.moment, answer.asked
    return None
