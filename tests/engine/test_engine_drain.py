"""The engine leaves, drains and catches up."""

from __future__ import annotations

import asyncio

import pytest

from foliot.commands.audit import AuditedChange, record
from foliot.commands.audit_sql import SqlAuditLog
from foliot.core.access import LOCAL, Thing
from foliot.db.database import Database
from foliot.engine.model.run import AttemptError, Failed, Outcome, RunState, Succeeded
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap
from foliot.engine.ports import ActionContext
from foliot.testing import Drained, drain, open_store
from tests.engine.engine_bench import Bench, Probe, answers, hangs, recording
from tests.givens import (
    MINUTE,
    NO_SPREAD,
    NOON,
    ask,
    keep,
    ledger_of,
    request,
    row_of,
    run_of,
    runs_of,
    schedule,
    spec,
    states,
    stopped,
)

REFUSED = Failed(AttemptError("http_500", "no"))


# --- leaving ----------------------------------------------------------------------------------------------------------


async def test_what_can_finish_finishes_when_the_worker_leaves(store: Database) -> None:
    go = asyncio.Event()

    async def waits(_ctx: ActionContext) -> Outcome:
        await go.wait()
        return Succeeded()

    (run_id,) = await ask(store, NOON)
    bench = Bench(store, Probe(waits))
    await bench.take_off()
    async with recording(bench):
        draining = asyncio.create_task(bench.engine.executor.drain(30))
        await asyncio.sleep(0)
        go.set()
        assert await draining == 0

    assert await states(store, run_id) == [RunState.SUCCESS]


async def test_what_cannot_finish_is_handed_back_without_costing_an_attempt(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(max_attempts=1))
    bench = Bench(store, hangs())
    await bench.take_off()
    async with recording(bench):
        assert await bench.engine.executor.drain(0) == 1

    run = await run_of(store, run_id)
    assert (run.state, run.attempt) == (RunState.QUEUED, 0)
    after = Bench(store, answers(Succeeded()))
    await after.fly()
    assert await states(store, run_id) == [RunState.SUCCESS]
    assert (await row_of(store, run_id))["epoch"] == 2


async def test_a_whole_engine_starts_fires_and_stops(store: Database) -> None:
    done = asyncio.Event()

    async def does(_ctx: ActionContext) -> Outcome:
        done.set()
        return Succeeded()

    one = schedule(spec(max_runs=1))
    await keep(store, one)
    bench = Bench(store, Probe(does), tick=0.05, sweep=0.05)
    await bench.engine.start()
    async with asyncio.timeout(20):
        await done.wait()
    await bench.engine.stop(grace=5)

    assert [run["state"] for run in await runs_of(store, one.id)] == ["success"]
    assert {name for name, loop in bench.engine.loop.report().items() if loop["failures"]} == set()


async def test_a_clean_stop_chains_what_was_logged_last(store: Database) -> None:
    bench = Bench(store, answers(Succeeded()))
    await bench.engine.start()
    await bench.engine.loop.stop(["chainer"])
    async with store.begin() as tx:
        await record(tx, LOCAL, NOON, AuditedChange("pause", Thing.QUEUE, "default"))
    await bench.engine.stop(grace=5)

    async with store.read() as tx:
        assert not await SqlAuditLog(tx).waits()
        assert await SqlAuditLog(tx).length() == 1


# --- overlap and catch-up, all the way --------------------------------------------------------------------------------


async def test_a_buffered_run_goes_when_its_predecessor_has_ended(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.BUFFER_ONE))
    await keep(store, one)
    bench = Bench(store, answers(Succeeded()))
    await bench.do("ticker")
    bench.clock.advance(MINUTE)
    await bench.do("ticker")

    await bench.fly()
    assert [run["state"] for run in await runs_of(store, one.id)] == ["success", "queued"]
    await bench.fly()

    assert [run["state"] for run in await runs_of(store, one.id)] == ["success", "success"]


async def test_cancel_other_ends_the_old_run_and_then_performs_the_new(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.CANCEL_OTHER))
    await keep(store, one)
    bench = Bench(store, hangs())
    await bench.take_off()
    bench.clock.advance(MINUTE)
    await bench.do("ticker", "keeper")
    await bench.land()

    assert [run["state"] for run in await runs_of(store, one.id)] == ["cancelled", "queued"]
    bench.action.does = answers(Succeeded()).does
    await bench.fly()
    assert [run["state"] for run in await runs_of(store, one.id)] == ["cancelled", "success"]


async def test_terminate_other_performs_the_new_run_while_the_old_one_is_cut_off(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.TERMINATE_OTHER))
    await keep(store, one)
    bench = Bench(store, hangs(), heartbeat=0.0)
    await bench.take_off()
    bench.clock.advance(MINUTE)
    bench.action.does = answers(Succeeded()).does
    await bench.do("ticker", "keeper")
    await bench.fly()

    assert [run["state"] for run in await runs_of(store, one.id)] == ["cancelled", "success"]
    assert bench.engine.meter.stale_writes == 1


# --- draining, as users do it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("catchup", "fired"),
    [
        (Catchup(CatchupMode.NONE), 1),
        (Catchup(CatchupMode.LATEST), 2),
        (Catchup(CatchupMode.ALL), 11),
        (Catchup(CatchupMode.ALL, window_seconds=86_400, max_runs=1000), 151),
    ],
)
async def test_draining_performs_all_that_is_owed(catchup: Catchup, fired: int) -> None:
    clock = stopped()
    async with open_store() as store:
        one = schedule(spec(catchup=catchup))
        await keep(store, one)
        clock.advance(150 * MINUTE)

        assert await drain(store, clock, answers(Succeeded())) == Drained(fired, {"success": fired})
        assert sum(entry.count for entry in await ledger_of(store, one.id)) == 151 - fired
        assert await drain(store, clock, answers(Succeeded())) == Drained(0, {})


async def test_draining_leaves_a_retry_until_its_time_has_come() -> None:
    clock = stopped()
    async with open_store() as store:
        await keep(store, schedule(spec(max_runs=1, retry=NO_SPREAD)))
        action = answers(REFUSED, Succeeded())

        assert await drain(store, clock, action) == Drained(1, {"retrying": 1})
        assert await drain(store, clock, action) == Drained(0, {})
        clock.advance(10)
        assert await drain(store, clock, action) == Drained(0, {"success": 1})


async def test_draining_follows_buffered_runs_to_the_end() -> None:
    clock = stopped()
    async with open_store() as store:
        one = schedule(spec(overlap=Overlap.BUFFER_ALL, catchup=Catchup(CatchupMode.ALL)))
        await keep(store, one)
        clock.advance(5 * MINUTE)

        assert await drain(store, clock, answers(Succeeded())) == Drained(6, {"success": 6})


async def test_draining_has_an_end_even_when_an_action_has_none() -> None:
    clock = stopped()
    async with open_store() as store:
        (run_id,) = await ask(store, NOON)

        with pytest.raises(TimeoutError):
            await drain(store, clock, hangs(), patience=0.05)

        assert await states(store, run_id) == [RunState.QUEUED]
