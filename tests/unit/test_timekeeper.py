"""The clock follows the database, and no slow answer leads it astray."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from foliot.engine.timekeeper import ASKED, PROMPT, SOON, Timekeeper
from foliot.ports import Store

NOON = datetime(2027, 5, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    """Ahead of the database's by `ahead` seconds; `passed` is how long the test has lasted."""

    ahead: float = 0.0
    passed: float = 0.0
    set_to: datetime = field(init=False)
    set_at: float = 0.0

    def __post_init__(self) -> None:
        self.set_to = NOON + timedelta(seconds=self.ahead)

    def now(self) -> datetime:
        return self.set_to + timedelta(seconds=self.passed - self.set_at)

    def monotonic(self) -> float:
        return self.passed

    def adjust(self, moment: datetime, monotonic: float) -> None:
        self.set_to, self.set_at = moment, monotonic

    @property
    def wrong(self) -> float:
        return (self.now() - (NOON + timedelta(seconds=self.passed))).total_seconds()


@dataclass
class Database:
    """Each answer takes the next of these ways, there and back; the last way again and again."""

    clock: Clock
    ways: list[tuple[float, float]]
    answers: int = 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        yield self

    @property
    def upkeep(self) -> Database:
        return self

    async def time(self) -> datetime:
        there, back = self.ways[min(self.answers, len(self.ways) - 1)]
        self.answers += 1
        self.clock.passed += there
        moment = NOON + timedelta(seconds=self.clock.passed)
        self.clock.passed += back
        return moment


async def asked(clock: Clock, there: float, back: float) -> float:
    """How long the timekeeper rests after it has asked."""
    return await asked_of(Database(clock, [(there, back)]))


async def asked_of(database: Database) -> float:
    return (await Timekeeper(clock=database.clock, store=cast("Store", database)).run_once()).rest


async def test_a_prompt_answer_sets_the_clock_to_the_middle_of_its_way() -> None:
    clock = Clock(ahead=5.0)

    rest = await asked(clock, 0.01, 0.03)

    assert clock.wrong == pytest.approx(-0.01)
    assert rest == 10.0


@pytest.mark.parametrize(("there", "back"), [(0.0, 4.0), (4.0, 0.0)])
async def test_an_answer_that_was_held_up_on_its_way_does_not_move_a_good_clock(there: float, back: float) -> None:
    clock = Clock(ahead=0.002)

    rest = await asked(clock, there, back)

    assert 0 <= clock.wrong <= 0.0021
    assert rest == SOON


@pytest.mark.parametrize(("ahead", "wrong"), [(60.0, 4.0), (-60.0, -4.0)])
async def test_a_slow_answer_still_mends_what_cannot_be_true(ahead: float, wrong: float) -> None:
    clock = Clock(ahead=ahead)

    await asked(clock, 4.0 if ahead > 0 else 0.0, 0.0 if ahead > 0 else 4.0)

    assert abs(clock.wrong) <= abs(wrong)
    await asked(clock, 0.001, 0.001)
    assert clock.wrong == pytest.approx(0.0)


async def test_what_counts_as_prompt_bounds_the_error() -> None:
    clock = Clock()

    await asked(clock, PROMPT, 0.0)

    assert abs(clock.wrong) <= PROMPT / 2


@pytest.mark.parametrize("quickest", range(ASKED))
async def test_the_quickest_of_several_answers_counts(quickest: int) -> None:
    ways = [(0.08, 0.0)] * ASKED
    ways[quickest] = (0.001, 0.002)
    database = Database(Clock(ahead=5.0), ways)

    await asked_of(database)

    assert database.answers == ASKED
    assert database.clock.wrong == pytest.approx(-0.0005)


async def test_a_slow_answer_is_not_asked_for_again_at_once() -> None:
    database = Database(Clock(), [(4.0, 0.0)])

    await asked_of(database)

    assert database.answers == 1
