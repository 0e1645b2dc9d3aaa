"""The clock follows the database, and no slow answer leads it astray."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy import ColumnElement, func

from foliot.db.database import Database
from foliot.engine.clock_sync import ASKED, CONFIRMED, LEAST, PROMPT, SOON, STEP, Timekeeper

NOON = datetime(2027, 5, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    """Ahead of the database's by `ahead` seconds; `passed` is how long the test has lasted."""

    ahead: float = 0.0
    passed: float = 0.0
    slept: float = 0.0
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

    def suspended(self) -> float:
        return self.slept

    @property
    def wrong(self) -> float:
        return (self.now() - (NOON + timedelta(seconds=self.passed))).total_seconds()


@dataclass(frozen=True)
class ScalarResult:
    """The answer of one row with one column."""

    moment: datetime

    def scalar_one(self) -> datetime:
        return self.moment


@dataclass
class SlowDatabase:
    """Each answer takes the next of these ways, there and back; the last way again and again."""

    clock: Clock
    ways: list[tuple[float, float]]
    answers: int = 0
    step: float = 0.0
    """By how much its own clock has been stepped."""

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Any]:
        yield self

    @property
    def conn(self) -> SlowDatabase:
        return self

    @property
    def dialect(self) -> SlowDatabase:
        return self

    def now(self) -> ColumnElement[datetime]:
        return func.now()

    async def execute(self, _: Any) -> ScalarResult:
        there, back = self.ways[min(self.answers, len(self.ways) - 1)]
        self.answers += 1
        self.clock.passed += there
        moment = NOON + timedelta(seconds=self.clock.passed + self.step)
        self.clock.passed += back
        return ScalarResult(moment)


async def asked(clock: Clock, there: float, back: float) -> float:
    """How long the timekeeper rests after it has asked."""
    return await asked_of(SlowDatabase(clock, [(there, back)]))


async def asked_of(database: SlowDatabase) -> float:
    return (await Timekeeper(clock=database.clock, store=cast("Database", database)).run_once()).rest


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
    database = SlowDatabase(Clock(ahead=5.0), ways)

    await asked_of(database)

    assert database.answers == ASKED
    assert database.clock.wrong == pytest.approx(-0.0005)


async def test_a_slow_answer_is_not_asked_for_again_at_once() -> None:
    database = SlowDatabase(Clock(), [(4.0, 0.0)])

    await asked_of(database)

    assert database.answers == 1


# --- steps ------------------------------------------------------------------------------------------------------------

DAY = 86_400.0


async def kept(step: float = 0.0) -> tuple[Timekeeper, SlowDatabase]:
    """A timekeeper that has measured once, and a database whose clock has stepped since."""
    database = SlowDatabase(Clock(), [(0.001, 0.001)])
    keeper = Timekeeper(clock=database.clock, store=cast("Database", database))
    await keeper.run_once()
    database.step = step
    return keeper, database


async def measure_for(keeper: Timekeeper, database: SlowDatabase, seconds: float) -> int:
    """Let it measure as often as it wants to; answers how often it did."""
    until, measured = database.clock.passed + seconds, 0
    while database.clock.passed < until:
        database.clock.passed += (await keeper.run_once()).rest
        measured += 1
    return measured


@pytest.mark.parametrize("step", [DAY, -DAY, STEP + 6, -STEP - 6])
async def test_a_clock_that_was_wrong_for_a_while_is_never_followed(step: float) -> None:
    keeper, database = await kept(step)

    await measure_for(keeper, database, 15)

    assert abs(database.clock.wrong) < 0.1
    assert keeper.holds
    assert keeper.doubt is not None
    assert keeper.doubt.seconds == pytest.approx(step, abs=1)
    assert keeper.steady_for() == 0
    database.step = 0.0
    await measure_for(keeper, database, 15)
    assert not keeper.holds
    assert keeper.steady_for() == float("inf")
    assert abs(database.clock.wrong) < 0.1


@pytest.mark.parametrize("step", [DAY, -DAY])
async def test_a_step_that_stands_is_followed_after_enough_measurements_and_time(step: float) -> None:
    keeper, database = await kept(step)

    measured = await measure_for(keeper, database, CONFIRMED - 6)
    assert abs(database.clock.wrong) < 0.1
    assert measured >= LEAST
    await measure_for(keeper, database, 16)

    assert database.clock.wrong == pytest.approx(step, abs=1)
    assert not keeper.holds
    assert 0 < keeper.steady_for() < 20


async def test_measurements_that_disagree_confirm_nothing() -> None:
    keeper, database = await kept()

    for number in range(40):
        database.step = DAY + 100 * number
        await measure_for(keeper, database, 1)

    assert abs(database.clock.wrong) < 0.1
    assert keeper.holds


async def test_a_small_step_is_followed_at_once() -> None:
    keeper, database = await kept(STEP - 1)

    await keeper.run_once()

    assert database.clock.wrong == pytest.approx(STEP - 1, abs=0.1)


async def test_a_machine_that_slept_need_not_be_asked_twice() -> None:
    keeper, database = await kept(8 * 3600)
    database.clock.slept = 8 * 3600

    await keeper.run_once()

    assert database.clock.wrong == pytest.approx(8 * 3600, abs=1)
    assert not keeper.holds
