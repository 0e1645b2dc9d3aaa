"""Synchronises this process's clock with the database's, and delays a step until it is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.sql.retention import SqlRetention

ASKED = 3
"""Queries per measurement: the quickest answer has the smallest error."""

PROMPT = 0.5
"""Slower answers, in seconds, are not used: it is unknown when on their way the time was read."""

SOON = 1.0
"""Pause before the next try after a slow answer."""

STEP = 60.0
"""A larger offset, in seconds, is a step of the database's clock, and is not followed at once."""

CONFIRMED = 60.0
"""Seconds of the monotonic clock for which a step must persist before it is followed."""

LEAST = 5
"""And the number of consecutive measurements that must agree on it."""

AGREE = 5.0
"""Measurements within this tolerance belong to the same step."""

IN_DOUBT = 5.0
"""Pause between two measurements while a step is unconfirmed."""

log = structlog.get_logger("foliot.engine")


class SettableClock(Clock, Protocol):
    """A clock that can be adjusted: it was this time at that monotonic moment."""

    def adjust(self, moment: datetime, monotonic: float) -> None: ...

    def suspended(self) -> float:
        """Seconds for which this machine was suspended, which the monotonic clock does not count."""
        ...


@dataclass(frozen=True, slots=True)
class ClockAdjusted:
    """By how much the clock was moved."""

    seconds: float
    rest: float


@dataclass(frozen=True, slots=True)
class ClockSample:
    """A reading of the database's clock, taken somewhere between the query and its answer."""

    moment: datetime
    asked: float
    answered: float

    @property
    def took(self) -> float:
        return self.answered - self.asked


@dataclass(frozen=True, slots=True)
class UnconfirmedStep:
    """A step of the database's clock that is not confirmed yet."""

    seconds: float
    """Offset of the database's clock to ours; negative when it is behind."""
    since: float
    """The monotonic moment at which it was first seen."""
    measured: int = 1


@dataclass(slots=True, kw_only=True)
class Timekeeper:
    """Measures the offset periodically; in between the monotonic clock counts, which cannot be stepped."""

    clock: SettableClock
    store: Database
    period: float = 10.0
    scale: float = 1.0
    """Shortens the confirmation, for tests."""
    name: str = "timekeeper"
    topics: Sequence[str] = ()
    doubt: UnconfirmedStep | None = None
    stepped_at: float | None = None
    """The monotonic moment at which a step was last followed."""
    _slept: float | None = None
    """The suspended time at the last measurement; None before the first."""

    async def run_once(self) -> ClockAdjusted:
        async with self.store.read() as tx:
            answer = await self._quickest(tx)
        before, at = self.clock.now(), self.clock.monotonic()
        reading = _told(answer, before)
        if reading is None:
            return ClockAdjusted(0.0, min(SOON, self.period))
        moment, monotonic = reading
        shift = (moment - before).total_seconds() + at - monotonic
        if not self._believed(shift):
            return ClockAdjusted(0.0, min(IN_DOUBT, self.period) * self.scale)
        self.clock.adjust(moment, monotonic)
        rest = self.period if answer.took <= PROMPT else min(SOON, self.period)
        return ClockAdjusted((self.clock.now() - before).total_seconds(), rest)

    @property
    def holds(self) -> bool:
        """Whether a step is unconfirmed now."""
        return self.doubt is not None

    def steady_for(self) -> float:
        """Seconds since our clock was last moved by a step; 0 while one is unconfirmed."""
        if self.doubt is not None:
            return 0.0
        return float("inf") if self.stepped_at is None else self.clock.monotonic() - self.stepped_at

    def _believed(self, shift: float) -> bool:
        """Whether to adjust the clock: for small offsets, the first time, after a suspend, or by a confirmed step."""
        slept, was = self.clock.suspended(), self._slept
        self._slept = slept
        if was is None:
            return True
        if abs(shift) <= STEP:
            if self.doubt is not None:
                log.warning("the clock is correct again", action="clock_step_gone", seconds=self.doubt.seconds)
            self.doubt = None
            return True
        if slept - was > AGREE and abs(shift - (slept - was)) <= AGREE:
            log.info("the machine was suspended", action="clock_slept", seconds=round(shift, 3))
            self._follow()
            return True
        return self._confirmed(shift)

    def _confirmed(self, shift: float) -> bool:
        now, doubt = self.clock.monotonic(), self.doubt
        if doubt is None or abs(doubt.seconds - shift) > AGREE:
            self.doubt = UnconfirmedStep(shift, now)
            log.critical(
                "the clock has jumped: the jump is ignored until it is confirmed",
                action="clock_stepped",
                seconds=round(shift, 3),
            )
            return False
        self.doubt = replace(doubt, measured=doubt.measured + 1)
        if self.doubt.measured < LEAST or now - doubt.since < CONFIRMED * self.scale:
            return False
        log.critical("the jump of the clock is confirmed", action="clock_step_followed", seconds=round(shift, 3))
        self._follow()
        return True

    def _follow(self) -> None:
        self.doubt, self.stepped_at = None, self.clock.monotonic()

    async def _quickest(self, tx: Transaction) -> ClockSample:
        """The first query includes the cost of starting a transaction; where answers are slow, one is enough."""
        best = await self._ask(tx)
        for _ in range(ASKED - 1):
            if best.took > PROMPT:
                break
            best = min(best, await self._ask(tx), key=lambda answer: answer.took)
        return best

    async def _ask(self, tx: Transaction) -> ClockSample:
        asked = self.clock.monotonic()
        moment = await SqlRetention(tx).time()
        return ClockSample(moment, asked, self.clock.monotonic())


def _told(answer: ClockSample, now: datetime) -> tuple[datetime, float] | None:
    """The time at a monotonic moment, if the answer was quick enough to tell."""
    if answer.took <= PROMPT:
        # The answer was made somewhere between the question and its arrival: take the middle.
        return answer.moment, (answer.asked + answer.answered) / 2
    # The process or the network stalled: the known offset is better, unless it is impossible.
    if now < answer.moment:
        return answer.moment, answer.answered
    if now > answer.moment + timedelta(seconds=answer.took):
        return answer.moment, answer.asked
    return None
