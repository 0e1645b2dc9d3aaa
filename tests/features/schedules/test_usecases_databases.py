"""The use cases on every database: the same rules as in memory, and what only several connections can show."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import pytest

from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.core.access import LOCAL
from foliot.core.errors import Conflict, Unavailable
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules

# Collected here once more, with the `world` of this module.
from tests.features.ledger.test_verify import *  # noqa: F403
from tests.features.schedules.test_usecases import *  # noqa: F403
from tests.world import EVERY_MINUTE, HOURLY, World


@pytest.fixture  # type: ignore[no-redef]
def world(store: Database) -> World:
    return World.on(store)


async def test_one_key_sent_many_times_at_once_has_one_effect(world: World) -> None:
    once = IdempotentRequest("k", "body", 201, lambda schedule: f"{schedule.id}")

    answers = await asyncio.gather(
        *(world.cases[Schedules].create(LOCAL, HOURLY, once) for _ in range(8)), return_exceptions=True
    )

    made = await world.cases[Schedules].list(LOCAL, PageRequest())
    assert len(made) == 1
    again = [answer for answer in answers if isinstance(answer, AnsweredBefore)]
    assert {answer.body for answer in again} == {made[0].id}
    assert len(again) == 7


async def test_a_storm_of_changes_and_ticks_leaves_no_hole(world: World) -> None:
    schedules = [await world.schedule(overlap="skip", interval_seconds=7) for _ in range(3)]
    dice = random.Random(7)
    done = False

    async def tick() -> None:
        while not done:
            with suppress(Unavailable):  # a deadlock on MariaDB: the loop ticks again, and so do we
                await world.tick()
            await asyncio.sleep(0)

    async def change() -> None:
        for _ in range(12):
            one = dice.choice(schedules).id
            ask = dice.randrange(4)
            try:
                if ask == 0:
                    await world.cases[Schedules].pause(LOCAL, one)
                elif ask == 1:
                    await world.cases[Schedules].resume(LOCAL, one)
                elif ask == 2:
                    await world.cases[Schedules].patch(LOCAL, one, {"interval_seconds": dice.randrange(1, 20)})
                else:
                    await world.cases[Schedules].run_now(LOCAL, one)
            except Conflict:
                continue
            world.clock.advance(dice.choice([0.5, 3, 9, 40]))

    tickers = [asyncio.create_task(tick()) for _ in range(2)]
    await asyncio.gather(*(change() for _ in range(4)))
    done = True
    await asyncio.gather(*tickers)
    await world.tick()

    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert (proof.schedules, list(proof.holes)) == (3, [])
    assert proof.instants > 20


async def test_run_now_beside_delete_leaves_no_run_that_waits(world: World) -> None:
    schedule = await world.schedule(EVERY_MINUTE)

    asks = [world.cases[Schedules].run_now(LOCAL, schedule.id) for _ in range(6)]
    await asyncio.gather(
        *asks[:3], world.cases[Schedules].delete(LOCAL, schedule.id), *asks[3:], return_exceptions=True
    )

    runs = await world.cases[Runs].list(LOCAL, PageRequest())
    assert {run.state for run in runs} <= {RunState.CANCELLED}
