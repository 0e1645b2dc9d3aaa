"""Damage by hand and faults in between: one row silences itself, and nothing is sent or counted twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import cast

import pytest

from foliot.db.database import Database
from foliot.engine.model.outcome import RetryAt, RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Origin, RunState
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from tests.givens import (
    NOON,
    SECOND,
    ask,
    claim,
    finish,
    keep,
    replayable,
    request,
    row_of,
    run_of,
    schedule,
    sql,
    states,
    tick,
)

GONE = Failed(AttemptError("http_410", "gone"), permanent=True)


@pytest.mark.parametrize("damage", ["{oops", "", "\x01"])
async def test_a_damaged_action_silences_only_its_own_runs(store: Database, damage: str) -> None:
    bad, good = schedule(), schedule()
    await keep(store, bad, good)
    await sql(store, "UPDATE versions SET action = :damage WHERE schedule_id = :id", damage=damage, id=bad.id)
    await tick(store, NOON)

    async with store.read() as tx:
        ready = await SqlClaims(tx).ready(NOON, None, 10)
    claimed = {one.schedule_id: one for one in await claim(store, NOON, *ready)}

    assert claimed[good.id].fault is None
    assert "not JSON" in (claimed[bad.id].fault or "")


async def test_a_damaged_action_of_a_schedule_is_shown_with_its_neighbours(store: Database) -> None:
    from foliot.engine.model.views import PageRequest

    bad, good = schedule(), schedule()
    await keep(store, bad, good)
    await sql(store, "UPDATE schedules SET action = '{oops' WHERE id = :id", id=bad.id)

    async with store.read() as tx:
        shown = {one.id: one.action for one in await SqlSchedules(tx).find(bad.tenant_id, PageRequest())}

    assert shown == {bad.id: {"damaged": "{oops"}, good.id: dict(good.action)}


async def test_a_run_put_back_without_a_try_left_stops_no_other(store: Database) -> None:
    spent, fresh = await ask(store, NOON, request(), request())
    await sql(store, "UPDATE runs SET attempt = max_attempts WHERE id = :id", id=spent)

    assert [one.fence.run_id for one in await claim(store, NOON, spent, fresh)] == [fresh]


async def test_a_replay_that_fails_for_good_is_no_second_letter(store: Database) -> None:
    (letter,) = await ask(store, NOON)
    await finish(store, (await claim(store, NOON, letter))[0], GONE, NOON)
    (replay,) = await ask(store, NOON, request(origin=Origin.REPLAY, parent_id=letter))
    await finish(store, (await claim(store, NOON, replay))[0], GONE, NOON)

    assert await states(store, letter, replay) == [RunState.DEAD_LETTER, RunState.FAILED]
    assert (await run_of(store, letter)).resolved_by is None


async def test_a_letter_whose_replay_is_on_its_way_is_not_sent_again(store: Database) -> None:
    first, second = await ask(store, NOON, request(), request())
    for one in await claim(store, NOON, first, second):
        await finish(store, one, GONE, NOON)
    (replay,) = await ask(store, NOON, request(origin=Origin.REPLAY, parent_id=first))

    async with store.read() as tx:
        assert await replayable(tx, "acme", 10) == [second]
    await finish(store, (await claim(store, NOON, replay))[0], GONE, NOON)
    async with store.read() as tx:
        assert await replayable(tx, "acme", 10) == [first, second]


async def test_whoever_performs_a_run_that_was_cut_off_is_told(store: Database) -> None:
    from foliot.engine.sql.endings import cancel_runs

    (run_id,) = await ask(store, NOON)
    await claim(store, NOON, run_id)
    async with store.begin() as tx:
        await cancel_runs(tx.conn, store.dialect, [], NOON + SECOND, "replaced", at_once=[run_id])

    async with store.read() as tx:
        assert await SqlClaims(tx).cancels([run_id]) == {run_id}
        (attempt,) = (await SqlRuns(tx).attempts([run_id], whole=True))[run_id]
    assert (attempt.epoch, attempt.outcome, (await row_of(store, run_id))["epoch"]) == (1, "cancelled", 2)


def test_a_target_that_asks_for_no_patience_gets_the_policys() -> None:
    policy = RetryPolicy(delay_seconds=10, jitter=0)
    at_once = Failed(AttemptError("http_503", "busy"), retry_after=timedelta(0))

    assert policy.decide("run_1", 1, 4, at_once, NOON) == RetryAt(NOON + 10 * SECOND)


async def test_an_attempt_stopped_before_its_first_step_gives_its_slot_back() -> None:
    from foliot.engine.attempts.attempt import StopReason
    from foliot.engine.executor import Executor
    from foliot.engine.node_reporter import EngineCounters
    from foliot.engine.ready_times import ReadyTimes
    from foliot.engine.recorder import Recorder
    from foliot.testing import GivenActions, StoppedClock, open_store
    from foliot.wakeups.feed import MemoryFeed

    async with open_store() as store:
        clock, feed = StoppedClock(NOON), MemoryFeed()
        recorder = Recorder(clock=clock, store=store, feed=feed, alarm=ReadyTimes(), longest_rest=1.0)
        executor = Executor(
            clock=clock,
            store=store,
            feed=feed,
            actions=GivenActions({}),
            recorder=recorder,
            meter=EngineCounters(),
            worker="w1",
            lease=timedelta(seconds=30),
        )
        (run_id,) = await ask(store, NOON)
        assert await executor.take([run_id]) == 1
        executor.flights[run_id].halt(StopReason.LEASE)
        for _ in range(3):
            await asyncio.sleep(0)
        assert (executor.flights, executor.slots.performing) == ({}, {})


async def test_a_claim_whose_acknowledgement_is_lost_is_performed_all_the_same() -> None:
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    from foliot.core.errors import Unavailable
    from foliot.db.database import Transaction
    from foliot.engine.executor import Executor
    from foliot.engine.node_reporter import EngineCounters
    from foliot.engine.ready_times import ReadyTimes
    from foliot.engine.recorder import Recorder
    from foliot.testing import GivenActions, StoppedClock, open_store
    from foliot.wakeups.feed import MemoryFeed

    class Deaf:
        """Commits, and then says that the database is gone; once."""

        def __init__(self, store: Database) -> None:
            self.store, self.deaf = store, True
            self.read, self.glance = store.read, store.glance

        @asynccontextmanager
        async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
            async with self.store.begin() as tx:
                yield tx
            if self.deaf:
                self.deaf = False
                raise Unavailable("the acknowledgement was lost")

    async with open_store() as store:
        clock, feed = StoppedClock(NOON), MemoryFeed()
        recorder = Recorder(clock=clock, store=store, feed=feed, alarm=ReadyTimes(), longest_rest=1.0)
        executor = Executor(
            clock=clock,
            store=cast("Database", Deaf(store)),
            feed=feed,
            actions=GivenActions({}),
            recorder=recorder,
            meter=EngineCounters(),
            worker="w1",
            lease=timedelta(seconds=30),
        )
        (run_id,) = await ask(store, NOON)

        assert await executor.take([run_id]) == 1
        for _ in range(5):
            await recorder.run_once()
            await asyncio.sleep(0)
        assert (await run_of(store, run_id)).attempt == 1
        assert executor.flights == {}
