"""The engine's actors over the real store, driven round by round with a stopped clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest

from foliot.app.upkeep import UPKEEP
from foliot.commands.audit import Change, record
from foliot.commands.audit_sql import SqlTrail
from foliot.core.access import LOCAL, Thing
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.log_writer import Logbook
from foliot.engine.loop import Actor
from foliot.engine.model.retry import RetryPolicy, Strategy
from foliot.engine.model.run import Failed, Origin, Outcome, Problem, RunState, Succeeded
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap
from foliot.engine.pace import Pace
from foliot.engine.ports import Context
from foliot.engine.sql.runs import SqlRuns
from foliot.features.audit_log.actor import audit_chaining
from foliot.testing import Drained, GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.memory import MemoryFeed
from tests.givens import (
    HOUR,
    MINUTE,
    NO_SPREAD,
    NOON,
    SECOND,
    ask,
    claim,
    events_of,
    finish,
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

REFUSED = Failed(Problem("http_500", "no"))
Performing = Callable[[Context], Awaitable[Outcome]]


@dataclass
class Probe:
    """An action that does what a test says, and counts."""

    does: Performing
    kind: str = "probe"
    timeout: timedelta = timedelta(seconds=60)
    seen: list[Context] = field(default_factory=list)
    inside: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: Context) -> Outcome:
        self.seen.append(ctx)
        self.inside.set()
        return await self.does(ctx)


def answers(*outcomes: Outcome) -> Probe:
    """Gives these outcomes one after the other, and the last one for ever."""
    left = list(outcomes)

    async def does(_ctx: Context) -> Outcome:
        return left.pop(0) if len(left) > 1 else left[0]

    return Probe(does)


def hangs() -> Probe:
    async def does(_ctx: Context) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    return Probe(does)


class Bench:
    """An engine taken apart: each actor is driven by hand."""

    def __init__(self, store: Database, action: Probe, clock: StoppedClock | None = None, **pace: Any) -> None:
        self.store, self.action, self.clock = store, action, clock or stopped()
        self.feed = MemoryFeed()
        self.engine = Engine(
            node_id="n1",
            clock=self.clock,
            store=store,
            feed=self.feed,
            actions=GivenActions.of(action),
            pace=Pace(**{"retention": None, "gather": 0.0, **pace}),
            workers_of=lambda executor: EmbeddedWorkers(executor, 10),
            extensions=[audit_chaining],
            upkeep=UPKEEP,
        )
        self.actors: dict[str, Actor] = {
            actor.name: actor for actor in [*self.engine._firing(), *self.engine._finishing()]
        }

    async def do(self, *names: str) -> list[Any]:
        return [await self.actors[name].run_once() for name in names]

    async def land(self) -> None:
        """Let everything in flight end, and write it down."""
        tasks = [flight.task for flight in self.engine.executor.flights.values() if flight.task]
        waiting = asyncio.gather(*tasks)
        while not waiting.done():
            await self.do("recorder")
            await asyncio.sleep(0)
        await waiting

    async def fly(self) -> None:
        """Fire, hand over, perform, record."""
        await self.do("ticker", "dispatcher")
        await self.land()

    async def take_off(self) -> str:
        """Start the only run there is, and wait until its effect has begun."""
        self.action.inside.clear()
        await self.do("ticker", "dispatcher")
        async with asyncio.timeout(10):
            await self.action.inside.wait()
        return next(iter(self.engine.executor.flights))


@asynccontextmanager
async def recording(bench: Bench) -> Any:
    """The recorder at work in the background, as in production."""
    bench.engine.loop.start([bench.actors["recorder"]])
    try:
        yield
    finally:
        await bench.engine.loop.stop()


# --- the walk ---------------------------------------------------------------------------------------------------------


async def test_an_instant_is_fired_handed_over_performed_and_recorded(store: Database) -> None:
    async def does(ctx: Context) -> Outcome:
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
        assert await SqlRuns(tx).dead_ids(one.tenant_id, 10) == [run["id"]]


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


async def raises(_ctx: Context) -> Outcome:
    raise ValueError("surprise")


async def lets_a_cancellation_slip_out(_ctx: Context) -> Outcome:
    task = asyncio.create_task(asyncio.Event().wait())
    task.cancel()
    await task
    raise AssertionError


async def times_out_inside(_ctx: Context) -> Outcome:
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
    async def does(ctx: Context) -> Outcome:
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


async def test_an_attempt_that_ignores_being_stopped_is_abandoned_at_its_hard_limit(store: Database) -> None:
    release = asyncio.Event()

    async def stubborn(_ctx: Context) -> Outcome:
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


async def test_a_success_that_comes_after_the_run_was_taken_back_is_counted_as_stale(store: Database) -> None:
    go = asyncio.Event()

    async def waits(_ctx: Context) -> Outcome:
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
    one = schedule(spec(retry=RetryPolicy(Strategy.FIXED, max_retries=2, delay_seconds=1, jitter=0), max_runs=1))
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


# --- leaving ----------------------------------------------------------------------------------------------------------


async def test_what_can_finish_finishes_when_the_worker_leaves(store: Database) -> None:
    go = asyncio.Event()

    async def waits(_ctx: Context) -> Outcome:
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

    async def does(_ctx: Context) -> Outcome:
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
        await record(tx, LOCAL, NOON, Change("pause", Thing.QUEUE, "default"))
    await bench.engine.stop(grace=5)

    async with store.read() as tx:
        assert not await SqlTrail(tx).waits()
        assert await SqlTrail(tx).length() == 1


# --- lines ------------------------------------------------------------------------------------------------------------


async def test_lines_are_written_while_the_attempt_runs(store: Database) -> None:
    go = asyncio.Event()

    async def talks(ctx: Context) -> Outcome:
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

    async def talks(ctx: Context) -> Outcome:
        ctx.log("one")
        await go.wait()
        return Succeeded()

    (run_id,) = await ask(store, NOON)
    bench = Bench(store, Probe(talks))
    await bench.take_off()
    slow = Gated(store)
    logbook = Logbook(store=cast("Database", slow), feed=bench.feed, executor=bench.engine.executor)
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
