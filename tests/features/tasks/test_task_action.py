"""The action `task` on the real engine: on the loop, in a thread, in a process; tried again, stopped, kept."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from foliot import TaskContext, task
from foliot.app.use_cases import use_cases
from foliot.cluster.page_reader import AttemptInfo
from foliot.cluster.process_pool import ProcessPool
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL, Caller, Role
from foliot.db.database import Database
from foliot.engine.attempts.attempt import StopReason
from foliot.engine.model.run import Event, EventType, RunState
from foliot.engine.model.views import RunView
from foliot.engine.ports import ActionContext
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tasks.action import WAITING, RunProgress
from foliot.features.tasks.usecases import Tasks
from foliot.tasks import Partial
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests import heavy_tasks
from tests.taskbook import catalogue, greet, run_task


@dataclass
class Place:
    """A store, a clock, and the use cases of a server that knows some tasks."""

    store: Database
    clock: StoppedClock
    cases: UseCases
    action: Any

    @classmethod
    def of(cls, store: Database, *functions: Any, pool: ProcessPool | None = None) -> Place:
        clock = StoppedClock()
        known = catalogue(store, clock, *functions)
        action = run_task(known, pool)
        return cls(store, clock, use_cases(store, clock, MemoryFeed(), GivenActions.of(action), tasks=known), action)

    async def run(self, name: str, /, **parameters: Any) -> RunView:
        """Ask for a run and let it happen."""
        made = await self.cases[Tasks].run(LOCAL, name, {"parameters": parameters})
        await drain(self.store, self.clock, self.action, patience=50)
        return await self.cases[Runs].get(LOCAL, made.id)

    async def events(self, run: RunView) -> Sequence[Event]:
        return (await self.cases[Runs].events(LOCAL, run.id, 0, 500))[1]


@pytest.fixture
async def store() -> AsyncIterator[Database]:
    async with open_store() as opened:
        yield opened


async def test_an_async_task_says_how_far_it_is_and_its_result_is_kept(store: Database) -> None:
    place = Place.of(store, greet)

    run = await place.run("greet", name="you", times=2)

    assert (run.state, run.result) == (RunState.SUCCESS, {"success": True, "data": "hello you"})
    assert (run.queue, run.max_attempts, run.kind) == ("manual", 3, "task")
    steps = [event.data for event in await place.events(run) if event.type is EventType.PROGRESS]
    assert steps == [{"done": 1, "total": 2}, {"done": 2, "total": 2}]


async def test_a_plain_function_has_a_thread_of_its_own_and_its_lines_are_kept_in_order(store: Database) -> None:
    @task
    def plain(ctx: TaskContext) -> str:
        for number in range(50):
            ctx.logger.info("line %d", number)
        return threading.current_thread().name

    place = Place.of(store, plain)
    run = await place.run("plain")

    assert run.result == "foliot-task-plain"
    lines = [event.message for event in await place.events(run) if event.type is EventType.LOG]
    assert lines == [f"line {number}" for number in range(50)]


async def test_a_thread_that_hangs_takes_nobody_elses_place(store: Database) -> None:
    met = threading.Barrier(20, timeout=50)

    @task
    def meet() -> None:
        met.wait()

    place = Place.of(store, meet)
    for _ in range(20):
        await place.cases[Tasks].run(LOCAL, "meet")

    assert (await drain(store, place.clock, place.action, patience=50)).ended == {"success": 20}


async def test_a_task_is_tried_again_when_it_asked_to_be(store: Database) -> None:
    @task(retries=2)
    async def flaky(ctx: TaskContext) -> int:
        if ctx.attempt < 3:
            ctx.retry(after=60, reason=f"not yet, in attempt {ctx.attempt}")
        return ctx.attempt

    place = Place.of(store, flaky)
    run = await place.run("flaky")
    assert (run.state, run.error) == (RunState.RETRYING, {"code": "task_failed", "message": "not yet, in attempt 1"})
    assert run.ready_at == place.clock.now() + timedelta(seconds=60)

    place.clock.advance(59)
    assert (await drain(store, place.clock, place.action)).ended == {}
    place.clock.advance(1)
    await drain(store, place.clock, place.action)
    place.clock.advance(60)
    await drain(store, place.clock, place.action)

    ended = await place.cases[Runs].get(LOCAL, run.id)
    assert (ended.state, ended.result, ended.attempt) == (RunState.SUCCESS, 3, 3)


async def test_giving_up_ends_a_run_whatever_attempts_are_left(store: Database) -> None:
    @task(retries=5)
    def never(ctx: TaskContext) -> None:
        ctx.give_up("there is no such folder")

    run = await Place.of(store, never).run("never")

    assert (run.state, run.attempt) == (RunState.DEAD_LETTER, 1)
    assert run.error == {"code": "task_failed", "message": "there is no such folder"}


async def test_a_surprise_is_a_failed_attempt_with_its_trace_in_the_log(store: Database) -> None:
    @task(retries=0)
    def wrong() -> None:
        raise ValueError("the third column is empty")

    place = Place.of(store, wrong)
    run = await place.run("wrong")

    assert run.error == {"code": "task_failed", "message": "ValueError: the third column is empty"}
    (line,) = [event for event in await place.events(run) if event.type is EventType.LOG]
    assert line.level == "error"
    assert "test_task_action.py" in line.message


async def test_leaving_by_sys_exit_is_a_failed_attempt_and_ends_neither_loop_nor_slot(store: Database) -> None:
    @task(retries=0)
    async def leaves() -> None:
        sys.exit(3)

    @task(retries=0)
    def leaves_thread() -> None:
        sys.exit(4)

    @task(retries=0)
    def interrupts() -> None:
        raise KeyboardInterrupt

    place = Place.of(store, leaves, leaves_thread, interrupts)
    said = {
        name: (await asyncio.wait_for(place.action.perform(attempt(place, name)), 50)).problem.message
        for name in ("leaves", "leaves_thread", "interrupts")
    }

    assert said == {
        "leaves": "RuntimeError: the task called sys.exit(3)",
        "leaves_thread": "RuntimeError: the task called sys.exit(4)",
        "interrupts": "KeyboardInterrupt: ",
    }


async def test_what_json_cannot_hold_spoils_neither_the_run_nor_its_log(store: Database) -> None:
    @task(retries=0)
    def odd(ctx: TaskContext) -> str:
        ctx.logger.info("half: \ud83d")
        ctx.progress(price=Decimal("1.50"), half="\ud83d", much=10**30)
        return "done"

    @task(retries=0)
    def wrong() -> None:
        raise ValueError("half: \ud83d")

    place = Place.of(store, odd, wrong)
    run, failed = await place.run("odd"), await place.run("wrong")

    assert (run.state, run.result) == (RunState.SUCCESS, "done")
    kept = [(event.message, event.data) for event in await place.events(run) if event.type in {"log", "progress"}]
    assert kept == [("half: ?", None), ("", {"price": "1.50", "half": "?", "much": 1e30})]
    assert failed.error == {"code": "task_failed", "message": "ValueError: half: ?"}


async def test_the_delay_that_a_task_declares_counts_for_a_run_without_a_schedule(store: Database) -> None:
    @task(retries=2, retry_delay=300)
    def down() -> None:
        raise ValueError("not there")

    place = Place.of(store, down)
    run = await place.run("down")
    first = run.ready_at - place.clock.now()
    place.clock.advance(first)
    await drain(store, place.clock, place.action)
    second = (await place.cases[Runs].get(LOCAL, run.id)).ready_at - place.clock.now()

    assert run.state is RunState.RETRYING
    assert timedelta(seconds=270) <= first <= timedelta(seconds=330)
    assert timedelta(seconds=540) <= second <= timedelta(seconds=600)


@pytest.mark.parametrize("delay", [-1, 8 * 24 * 3600])
def test_a_delay_that_no_schedule_could_have_is_refused_where_it_is_declared(delay: float) -> None:
    with pytest.raises(ValueError, match="retry_delay: must be from 0 to 604800 seconds"):
        task("odd", retry_delay=delay)


async def test_a_part_that_failed_makes_the_run_partial(store: Database) -> None:
    @task
    async def some() -> Partial:
        return Partial({"failed": ["x"]})

    run = await Place.of(store, some).run("some")

    assert (run.state, run.result) == (RunState.PARTIAL, {"failed": ["x"]})


async def test_a_heavy_task_runs_in_a_process(store: Database) -> None:
    pool = ProcessPool(size=1)
    place = Place.of(store, heavy_tasks.add, heavy_tasks.killed, pool=pool)
    try:
        run = await place.run("add", a=2, b=3)
        died = await place.run("killed")
    finally:
        await pool.close()

    assert run.result["sum"] == 5
    assert [event.message for event in await place.events(run) if event.type is EventType.LOG] == ["adding 2 and 3"]
    assert died.state is RunState.RETRYING
    assert died.error is not None
    assert died.error["code"] == "process_died"
    assert "SIGKILL" in died.error["message"]


# --- being stopped ----------------------------------------------------------------------------------------------------


ATTEMPT = AttemptInfo(run_id="run_1", tenant_id="acme", schedule_id=None, attempt=1, max_attempts=1, scheduled_for=None)


def attempt(place: Place, name: str, timeout: timedelta = timedelta(seconds=60)) -> ActionContext:
    return ActionContext(
        run_id="run_1",
        tenant_id="default",
        schedule_id=None,
        kind="task",
        attempt=1,
        max_attempts=1,
        scheduled_for=None,
        config={"task": name, "parameters": {}},
        timeout=timeout,
        now=place.clock.now(),
        log=lambda message, **_: None,
        progress=lambda **data: None,
    )


async def test_a_thread_is_told_that_its_run_was_cancelled(store: Database) -> None:
    began, left = threading.Event(), threading.Event()

    @task
    def loops(ctx: TaskContext) -> None:
        began.set()
        ctx.stop.wait(50)
        assert ctx.cancelled
        left.set()

    place = Place.of(store, loops)
    performing = asyncio.create_task(place.action.perform(attempt(place, "loops")))
    await asyncio.to_thread(began.wait, 50)

    performing.cancel(StopReason.CANCEL)
    with pytest.raises(asyncio.CancelledError):
        await performing
    assert await asyncio.to_thread(left.wait, 50)


async def test_a_thread_that_floods_waits_for_its_lines_and_loses_none(store: Database) -> None:
    said: list[str] = []
    opened = asyncio.Event()
    many = 20 * WAITING

    @task
    def floods(ctx: TaskContext) -> None:
        for number in range(many):
            ctx.logger.info("line %d", number)

    place = Place.of(store, floods)
    ctx = replace(attempt(place, "floods"), log=lambda message, **_: said.append(message), room=lambda: _waited(opened))
    tell = RunProgress(ctx)
    flood = threading.Thread(target=floods, args=(TaskContext.of("floods", ATTEMPT, tell),))
    flood.start()
    # Nothing is taken: the thread stands.
    await asyncio.to_thread(flood.join, 0.3)
    assert (flood.is_alive(), said) == (True, [])
    opened.set()
    await asyncio.to_thread(flood.join, 50)
    tell.close()

    assert said == [f"line {number}" for number in range(many)]


async def test_a_thread_whose_attempt_is_over_waits_no_longer(store: Database) -> None:
    @task
    def floods(ctx: TaskContext) -> None:
        for number in range(10 * WAITING):
            ctx.logger.info("line %d", number)

    place = Place.of(store, floods)
    tell = RunProgress(
        replace(attempt(place, "floods"), log=lambda *_, **__: None, room=lambda: _waited(asyncio.Event()))
    )
    flood = threading.Thread(target=floods, args=(TaskContext.of("floods", ATTEMPT, tell),))
    flood.start()
    await asyncio.to_thread(flood.join, 0.2)

    tell.close()
    await asyncio.to_thread(flood.join, 50)

    assert not flood.is_alive()


async def _waited(opened: asyncio.Event) -> None:
    await opened.wait()


async def test_a_task_that_takes_too_long_has_failed_by_timeout(store: Database) -> None:
    @task
    async def slow() -> None:
        await asyncio.Event().wait()

    @task
    def deaf(ctx: TaskContext) -> None:
        ctx.stop.wait(50)

    place = Place.of(store, slow, deaf)
    for name in ("slow", "deaf"):
        outcome = await place.action.perform(attempt(place, name, timedelta(milliseconds=200)))
        assert outcome.problem.code == "timeout"


async def test_the_usual_time_limit_is_25_minutes_of_30(store: Database) -> None:
    place = Place.of(store)

    assert place.action.timeout == timedelta(minutes=30)
    # The engine leaves an action nine tenths of its limit; of those the task is asked to stop after 25 minutes.
    from foliot.engine.attempts import attempt
    from foliot.features.tasks.action import SOFT

    assert place.action.timeout * attempt.SOFT * SOFT == timedelta(minutes=25)


# --- who may ----------------------------------------------------------------------------------------------------------


async def test_a_schedule_of_a_task_that_is_no_longer_the_tenants_fails_for_good(store: Database) -> None:
    @task("lent", tenants=["acme"], retries=3)
    async def lent() -> str:
        return "done"

    @task("lent")
    async def kept() -> str:
        raise AssertionError("not for this tenant")

    acme = Caller("acme", "anna", Role.ADMIN)
    before, after = Place.of(store, lent), Place.of(store, kept)
    draft = {"name": "x", "type": "cron", "cron_expr": "0 * * * *", "action": {"kind": "task", "task": "lent"}}
    schedule = await before.cases[Schedules].create(acme, draft)
    good = await before.cases[Schedules].run_now(acme, schedule.id)
    await drain(store, before.clock, before.action)
    bad = await after.cases[Schedules].run_now(acme, schedule.id)
    await drain(store, after.clock, after.action)

    assert (await before.cases[Runs].get(acme, good.id)).state is RunState.SUCCESS
    ended = await after.cases[Runs].get(acme, bad.id)
    assert (ended.state, ended.attempt) == (RunState.DEAD_LETTER, 1)
    assert ended.error is not None
    assert ended.error["code"] == "unknown_task"
    assert "this worker has no task 'lent'" in ended.error["message"]


async def test_a_schedule_has_what_its_task_says_unless_it_says_otherwise(store: Database) -> None:
    place = Place.of(store, greet)
    draft = {
        "name": "Greet",
        "type": "cron",
        "cron_expr": "0 * * * *",
        "action": {"kind": "task", "task": "greet", "parameters": {"name": "you"}},
    }

    made = await place.cases[Schedules].create(LOCAL, draft)
    own = await place.cases[Schedules].create(
        LOCAL, {**draft, "queue": "mine", "retry_policy": {"delay_seconds": 1, "max_retries": 0}}
    )
    half = await place.cases[Schedules].create(LOCAL, {**draft, "retry_policy": {"delay_seconds": 1}})

    assert (made.spec.queue, made.spec.retry.max_retries) == ("custom", 2)
    assert (own.spec.queue, own.spec.retry.max_retries, own.spec.retry.delay_seconds) == ("mine", 0, 1)
    assert (half.spec.retry.max_retries, half.spec.retry.delay_seconds) == (2, 1)
