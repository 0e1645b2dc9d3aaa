"""The engine's actors over the real store, driven round by round with a stopped clock."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest

from foliot.db.database import Database, Transaction
from foliot.engine.log_writer import LogWriter
from foliot.engine.model.outcome import BackoffStrategy, RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Origin, Outcome, RunState, Succeeded
from foliot.engine.ports import ActionContext
from foliot.engine.sql.runs import SqlRuns
from foliot.net.deadlines import Deadlines, TaskDeadline
from tests.engine.engine_bench import Bench, Performing, Probe, answers, hangs, recording
from tests.givens import (
    HOUR,
    NOON,
    SECOND,
    ask,
    claim,
    events_of,
    finish,
    keep,
    replayable,
    request,
    row_of,
    run_of,
    runs_of,
    schedule,
    spec,
    states,
)

REFUSED = Failed(AttemptError("http_500", "no"))


# --- the walk ---------------------------------------------------------------------------------------------------------


async def test_an_instant_is_fired_handed_over_performed_and_recorded(store: Database) -> None:
    async def does(ctx: ActionContext) -> Outcome:
        ctx.log("hello")
        ctx.progress(done=1, of=1)
        return Succeeded({"ok": True}, response={"status": 200})

    one = schedule()
    await keep(store, one)
    bench = Bench(store, Probe(does))

    await bench.fly()

    (run,) = await runs_of(store, one.id)
    assert (run["state"], run["result"], run["worker"], run["attempt"]) == ("success", {"ok": True}, "n1", 1)
    (ctx,) = bench.action.seen
    assert (ctx.run_id, ctx.schedule_id, ctx.scheduled_for, ctx.attempt) == (run["id"], one.id, NOON, 1)
    assert (ctx.config, ctx.timeout) == (one.action, timedelta(seconds=54))
    told = [event.state or event.type for event in await events_of(store, run["id"])]
    assert told == ["queued", "running", "log", "progress", "success"]
    assert bench.engine.meter.finished == {"success": 1}
    assert bench.engine.report()["in_flight"] == 0


async def test_nothing_is_handed_over_beyond_the_free_places(store: Database) -> None:
    bench = Bench(store, hangs())
    await ask(store, NOON, *(request() for _ in range(15)))

    (first,), (second,) = await bench.do("dispatcher"), await bench.do("dispatcher")

    assert (first.taken, second.taken, bench.engine.workers.free()) == (10, 0, 0)
    async with recording(bench):
        assert await bench.engine.executor.drain(0) == 10


# --- failing ----------------------------------------------------------------------------------------------------------


async def test_a_failing_run_backs_off_and_ends_as_a_dead_letter(store: Database) -> None:
    one = schedule(spec(retry=RetryPolicy(max_retries=2, delay_seconds=10, jitter=0), max_runs=1))
    await keep(store, one)
    bench = Bench(store, answers(REFUSED))
    waits = []
    for _ in range(3):
        await bench.fly()
        (run,) = await runs_of(store, one.id)
        waits.append((run["state"], (run["ready_at"] - bench.clock.now()).total_seconds()))
        await bench.fly()
        bench.clock.set(max(run["ready_at"], bench.clock.now()))

    assert waits[:2] == [("retrying", 10.0), ("retrying", 20.0)]
    assert waits[2][0] == "dead_letter"
    assert [ctx.attempt for ctx in bench.action.seen] == [1, 2, 3]
    (run,) = await runs_of(store, one.id)
    async with store.read() as tx:
        assert [attempt.number for attempt in (await SqlRuns(tx).attempts([run["id"]], whole=True))[run["id"]]] == [
            1,
            2,
            3,
        ]
        assert await replayable(tx, one.tenant_id, 10) == [run["id"]]


async def test_a_run_that_is_given_up_is_told_in_one_line_of_the_log(
    store: Database, logged: list[MutableMapping[str, Any]]
) -> None:
    one = schedule(spec(retry=RetryPolicy(max_retries=0), max_runs=1))
    await keep(store, one)

    await Bench(store, answers(REFUSED)).fly()

    (run,) = await runs_of(store, one.id)
    (line,) = [entry for entry in logged if entry["log_level"] == "warning"]
    assert (line["action"], line["run_id"], line["schedule_id"]) == ("run_given_up", run["id"], one.id)
    assert (line["code"], line["error"]) == ("http_500", "no")


async def test_a_replay_that_fails_for_good_is_logged_and_counted_as_it_is_stored(
    store: Database, logged: list[MutableMapping[str, Any]]
) -> None:
    (letter,) = await ask(store, NOON, request(max_attempts=1))
    bench = Bench(store, answers(REFUSED))
    await bench.fly()
    logged.clear()
    (replay,) = await ask(store, NOON, request(origin=Origin.REPLAY, parent_id=letter, max_attempts=1))
    await bench.fly()

    assert await states(store, letter, replay) == [RunState.DEAD_LETTER, RunState.FAILED]
    assert bench.engine.meter.finished == {"dead_letter": 1, "failed": 1}
    assert [entry for entry in logged if entry.get("action") == "run_given_up"] == []


async def test_a_cancel_known_only_under_the_lock_is_counted_as_it_is_stored(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    bench = Bench(store, answers(REFUSED))
    await bench.take_off()
    async with store.begin() as tx:
        # The worker has not heard of it when its attempt fails.
        await SqlRuns(tx).cancel([run_id], NOON, "asked")
    await bench.land()

    assert await states(store, run_id) == [RunState.CANCELLED]
    assert bench.engine.meter.finished == {"cancelled": 1}


async def test_a_run_that_fails_once_succeeds_on_its_next_attempt(store: Database) -> None:
    await keep(store, schedule(spec(max_runs=1)))
    bench = Bench(store, answers(REFUSED, Succeeded()))

    await bench.fly()
    bench.clock.advance(10)
    await bench.fly()

    assert bench.engine.meter.finished == {"retrying": 1, "success": 1}


async def raises(_ctx: ActionContext) -> Outcome:
    raise ValueError("surprise")


async def lets_a_cancellation_slip_out(_ctx: ActionContext) -> Outcome:
    task = asyncio.create_task(asyncio.Event().wait())
    task.cancel()
    await task
    raise AssertionError


async def times_out_inside(_ctx: ActionContext) -> Outcome:
    async with asyncio.timeout(0):
        await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("does", "word"),
    [(raises, "surprise"), (lets_a_cancellation_slip_out, "CancelledError"), (times_out_inside, "TimeoutError")],
)
async def test_an_actions_surprise_becomes_a_failure_like_any_other(
    store: Database, does: Performing, word: str
) -> None:
    (run_id,) = await ask(store, NOON)
    bench = Bench(store, Probe(does))

    await bench.fly()

    run = await run_of(store, run_id)
    assert run.state is RunState.RETRYING
    assert run.error is not None
    assert run.error["code"] == "action_crashed"
    assert word in run.error["message"]


async def test_a_run_of_an_action_nobody_knows_is_given_up_at_once(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(kind="unheard_of"))

    await Bench(store, answers(Succeeded())).fly()

    run = await run_of(store, run_id)
    assert (run.state, (run.error or {})["code"]) == (RunState.DEAD_LETTER, "unknown_action")


async def test_a_result_that_cannot_be_stored_does_not_hold_up_its_neighbour(store: Database) -> None:
    async def does(ctx: ActionContext) -> Outcome:
        return Succeeded(object() if ctx.run_id == bad else "fine")

    bad, good = await ask(store, NOON, request(), request())

    await Bench(store, Probe(does)).fly()

    assert await states(store, bad, good) == [RunState.DEAD_LETTER, RunState.SUCCESS]
    assert ((await run_of(store, bad)).error or {})["code"] == "unrecordable"


# --- time limits ------------------------------------------------------------------------------------------------------


async def test_an_attempt_is_stopped_at_its_soft_limit(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    action = hangs()
    action.timeout = timedelta(seconds=0.02)
    bench = Bench(store, action)

    await bench.fly()

    run = await run_of(store, run_id)
    assert run.state is RunState.RETRYING
    assert run.error == {"code": "timeout", "message": "did not finish within 0.018 s"}


async def test_an_action_whose_own_deadline_was_shorter_says_why_it_failed_even_when_the_loop_is_late(
    store: Database,
) -> None:
    deadlines = Deadlines()

    async def does(ctx: ActionContext) -> Outcome:
        asyncio.get_running_loop().call_soon(threading.Event().wait, 0.95)
        try:
            async with TaskDeadline(deadlines, 0.8):
                await asyncio.Event().wait()
        except TimeoutError:
            return Failed(AttemptError("target_timeout", "no answer", "first_byte_timeout"))
        raise AssertionError

    (run_id,) = await ask(store, NOON)
    action = Probe(does, timeout=timedelta(seconds=1))

    await Bench(store, action).fly()

    assert (await run_of(store, run_id)).error == {
        "code": "target_timeout",
        "message": "no answer",
        "cause": "first_byte_timeout",
    }


async def test_an_attempt_that_ignores_being_stopped_is_abandoned_at_its_hard_limit(store: Database) -> None:
    release = asyncio.Event()

    async def stubborn(_ctx: ActionContext) -> Outcome:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return Succeeded("too late")

    (run_id,) = await ask(store, NOON)
    action = Probe(stubborn, timeout=timedelta(seconds=0.01))
    bench = Bench(store, action)
    await bench.take_off()
    (flight,) = bench.engine.executor.flights.values()
    async with recording(bench):
        async with asyncio.timeout(10):
            while bench.engine.executor.flights:
                await bench.do("keeper")
        run = await run_of(store, run_id)
        assert run.state is RunState.RETRYING
        assert "abandoned" in (run.error or {})["message"]
        release.set()
        assert flight.task is not None
        await flight.task

    assert await run_of(store, run_id) == run
    assert bench.engine.workers.free() == 10


# --- cancel and lease -------------------------------------------------------------------------------------------------


async def test_a_running_run_that_is_cancelled_stops_and_ends(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    bench = Bench(store, hangs())
    await bench.take_off()
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], NOON, "asked")

    (kept,) = await bench.do("keeper")
    await bench.land()

    assert kept.cancelled == 1
    assert await states(store, run_id) == [RunState.CANCELLED]


async def test_the_lease_of_what_runs_is_renewed(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    bench = Bench(store, hangs(), heartbeat=0.0)
    await bench.take_off()
    bench.clock.advance(20)

    (kept,) = await bench.do("keeper")

    assert (kept.renewed, kept.lost) == (1, 0)
    assert (await row_of(store, run_id))["lease_until"] == NOON + 50 * SECOND
    async with recording(bench):
        await bench.engine.executor.drain(0)


async def test_a_lease_lost_in_mid_flight_stops_the_effect_and_refuses_its_end(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    bench = Bench(store, hangs(), heartbeat=0.0)
    await bench.take_off()
    (flight,) = bench.engine.executor.flights.values()
    bench.clock.advance(31)
    (swept,) = await bench.do("janitor")
    assert swept.lost == 1
    bench.clock.advance(HOUR)
    (other,) = await claim(store, bench.clock.now(), run_id, worker="n2")

    (kept,) = await bench.do("keeper")
    await bench.land()

    assert kept.lost == 1
    assert flight.stop == "lease"
    assert bench.engine.meter.stale_writes == 1
    assert await states(store, run_id) == [RunState.RUNNING]
    assert (await finish(store, flight.claimed, Succeeded("late"), NOON)).stale == {run_id}
    assert (await finish(store, other, Succeeded("theirs"), NOON)).accepted == {run_id}
    async with store.read() as tx:
        assert [attempt.outcome for attempt in (await SqlRuns(tx).attempts([run_id], whole=True))[run_id]] == [
            "lost",
            "success",
        ]


async def test_a_worker_that_cannot_renew_stops_by_its_own_clock(store: Database) -> None:
    await ask(store, NOON)
    bench = Bench(store, hangs(), lease=0.02)
    await bench.take_off()
    (flight,) = bench.engine.executor.flights.values()

    await bench.land()

    assert flight.stop == "lease"
    assert bench.engine.meter.stale_writes == 1


async def test_each_attempt_stops_when_its_own_lease_is_over(store: Database) -> None:
    await ask(store, NOON, request(), request())
    bench = Bench(store, hangs(), lease=0.2)
    await bench.take_off()
    executor = bench.engine.executor
    first, second = executor.flights.values()
    executor.renew(second, first.leased_at + 60)

    assert first.task is not None
    await first.task

    assert asyncio.get_running_loop().time() >= first.leased_at + 0.18
    assert (first.stop, second.stop) == ("lease", None)
    # Its turn comes when it is renewed no more.
    executor.renew(second, first.leased_at)
    assert second.task is not None
    await second.task
    assert second.stop == "lease"


async def test_an_attempt_whose_run_is_claimed_again_has_lost_its_lease(store: Database) -> None:
    await ask(store, NOON)
    bench = Bench(store, hangs())
    await bench.take_off()
    (before,) = bench.engine.executor.flights.values()
    bench.clock.advance(31)
    await bench.do("janitor")
    bench.clock.advance(HOUR)
    await bench.take_off()
    (after,) = bench.engine.executor.flights.values()

    assert after is not before
    assert before.task is not None
    await before.task

    assert (before.stop, after.stop) == ("lease", None)
    async with recording(bench):
        await bench.engine.executor.drain(0)


async def test_a_success_that_comes_after_the_run_was_taken_back_is_counted_as_stale(store: Database) -> None:
    go = asyncio.Event()

    async def waits(_ctx: ActionContext) -> Outcome:
        await go.wait()
        return Succeeded("late")

    (run_id,) = await ask(store, NOON)
    bench = Bench(store, Probe(waits))
    await bench.take_off()
    bench.clock.advance(31)
    await bench.do("janitor")
    go.set()

    await bench.land()

    assert await states(store, run_id) == [RunState.RETRYING]
    assert bench.engine.meter.stale_writes == 1
    assert bench.engine.meter.finished == {}


async def test_a_run_that_kills_its_worker_is_tried_so_often_and_no_more(store: Database) -> None:
    one = schedule(spec(retry=RetryPolicy(BackoffStrategy.FIXED, max_retries=2, delay_seconds=1, jitter=0), max_runs=1))
    await keep(store, one)
    bench = Bench(store, hangs())
    await bench.do("ticker")
    (run,) = await runs_of(store, one.id)
    for _ in range(3):
        assert len(await claim(store, bench.clock.now(), run["id"])) == 1
        bench.clock.advance(31)
        await bench.do("janitor")
        bench.clock.advance(1)

    dead = await run_of(store, run["id"])
    assert (dead.state, dead.attempt, (dead.error or {})["code"]) == (RunState.DEAD_LETTER, 3, "worker_lost")
    assert await claim(store, bench.clock.now() + HOUR, run["id"]) == []


# --- lines ------------------------------------------------------------------------------------------------------------


async def test_lines_are_written_while_the_attempt_runs(store: Database) -> None:
    go = asyncio.Event()

    async def talks(ctx: ActionContext) -> Outcome:
        ctx.log("one")
        await go.wait()
        ctx.log("two")
        return Succeeded()

    (run_id,) = await ask(store, NOON)
    bench = Bench(store, Probe(talks))
    await bench.take_off()

    (logged,) = await bench.do("logbook")

    assert (logged.lines, logged.runs) == (1, 1)
    assert [event.message for event in await events_of(store, run_id) if event.type == "log"] == ["one"]
    go.set()
    await bench.land()
    events = await events_of(store, run_id)
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert [event.message for event in events if event.type == "log"] == ["one", "two"]


@dataclass
class Gated:
    """A store that keeps its writers waiting at the gate."""

    store: Database
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        self.reached.set()
        await self.gate.wait()
        async with self.store.begin() as tx:
            yield tx

    def read(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Transaction]:
        return self.store.read()

    def glance(self) -> AbstractAsyncContextManager[Transaction]:
        return self.store.glance()


async def test_an_ending_waits_for_the_lines_that_are_being_written(store: Database) -> None:
    go = asyncio.Event()

    async def talks(ctx: ActionContext) -> Outcome:
        ctx.log("one")
        await go.wait()
        return Succeeded()

    (run_id,) = await ask(store, NOON)
    bench = Bench(store, Probe(talks))
    await bench.take_off()
    slow = Gated(store)
    logbook = LogWriter(store=cast("Database", slow), feed=bench.feed, executor=bench.engine.executor)
    writing = asyncio.create_task(logbook.run_once())
    await slow.reached.wait()
    go.set()
    for _ in range(20):
        await bench.do("recorder")
        await asyncio.sleep(0)
    slow.gate.set()
    await writing
    await bench.land()

    assert [event.message for event in await events_of(store, run_id) if event.type == "log"] == ["one"]
    assert await states(store, run_id) == [RunState.SUCCESS]
