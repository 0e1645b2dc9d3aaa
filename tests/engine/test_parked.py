"""Effects that continue elsewhere: started once whatever breaks, and no slot waits for them."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.db.migrate import migrate
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.run import Outcome, Parked, RunState, Succeeded
from foliot.engine.ports import Action, ActionContext, ParkedRun
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.engine import parker
from tests.givens import NOON, ask, events_of, request, row_of, run_of
from tests.watched import Elsewhere

PATIENCE = 60.0
"""Generous: the machine that runs the tests may have other things to do."""
FAST = EnginePace(scale=0.1, tick=0.1, retention=None)
PATIENT = EnginePace(tick=0.1, retention=None)
"""Nobody loses a lease of thirty seconds by being slow."""

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["__main__", "tests.engine.racer", "tests.engine.parker"])


@dataclass
class Quick:
    """An action that is done at once."""

    kind: str = "quick"
    timeout: timedelta = timedelta(seconds=10)
    performed: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        self.performed.set()
        return Succeeded()


@asynccontextmanager
async def living(
    store: Database, *actions: Action, slots: int = 10, grace: float = 0.0, pace: EnginePace = FAST
) -> AsyncIterator[Engine]:
    """A whole engine at work."""
    engine = Engine(
        node_id="n1",
        clock=StoreClock(),
        store=store,
        feed=MemoryFeed(),
        actions=GivenActions.of(*actions),
        pace=pace,
        workers_of=lambda executor: EmbeddedWorkers(executor, slots),
    )
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop(grace)


async def now_ask(store: Database, count: int = 1, **changes: Any) -> list[str]:
    async with store.read() as tx:
        now = await SqlRetention(tx).time()
    return await ask(store, now, *(request(**changes) for _ in range(count)))


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.02)


async def reaches(store: Database, run_id: str, state: RunState) -> None:
    async def there() -> bool:
        return (await run_of(store, run_id)).state is state

    await until(there)


async def are_parked(store: Database, count: int) -> None:
    async def there() -> bool:
        async with store.read() as tx:
            waiting = await tx.conn.exec_driver_sql("SELECT count(*) FROM runs WHERE poll_at IS NOT NULL")
            return bool(waiting.scalar_one() == count)

    await until(there)


async def are_over(store: Database) -> None:
    async def there() -> bool:
        async with store.read() as tx:
            return bool((await SqlRetention(tx).counts())["runs"] == {})

    await until(there)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    """By the clock of the database, as in production."""
    await migrate(database_url)
    opened = Database(database_url)
    yield opened
    await opened.close()


@pytest.fixture
async def lite() -> AsyncIterator[Database]:
    async with open_store() as opened:
        yield opened


# --- killed in the middle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [False, True], ids=["before the start", "after the start"])
async def test_a_process_killed_between_note_and_parked_is_looked_after_and_nothing_starts_twice(
    store: Database, database_url: str, tmp_path: Path, after: bool
) -> None:
    track = tmp_path / "track"
    (run_id,) = await now_ask(store, max_attempts=3)
    doomed = CONTEXT.Process(target=partial(parker.start_and_get_stuck, database_url, track, after=after), daemon=True)
    doomed.start()

    async def stuck() -> bool:
        return track.exists() and f"stuck {run_id}" in track.read_text()

    try:
        await until(stuck)
    finally:
        doomed.kill()
        doomed.join(5)

    action = Elsewhere(done={run_id})
    async with living(store, action):
        await reaches(store, run_id, RunState.SUCCESS)

    assert action.started == [], "nobody starts what may have been started"
    assert track.read_text().count("started") == int(after)
    assert action.groups == [[run_id]]
    run = await run_of(store, run_id)
    assert run.attempt == 1
    states = [event.state for event in await events_of(store, run_id) if event.state]
    assert states == ["queued", "running", "success"]


# --- nobody waits -----------------------------------------------------------------------------------------------------


async def test_one_slot_and_fifty_parked_runs_leave_room_for_another(lite: Database) -> None:
    action, quick = Elsewhere(every=timedelta(hours=1)), Quick()
    run_ids = await now_ask(lite, 50)
    async with living(lite, action, quick, slots=1, pace=PATIENT) as engine:
        await are_parked(lite, 50)
        (other,) = await now_ask(lite, kind="quick")
        engine.feed.wake("runs")
        await reaches(lite, other, RunState.SUCCESS)
        action.done.update(run_ids)
        async with lite.begin() as tx:
            # All at once, however long it took to start one after the other.
            await tx.conn.exec_driver_sql("UPDATE runs SET poll_at = created_at WHERE poll_at IS NOT NULL")
        engine.feed.wake("runs")
        await are_over(lite)

    assert sorted(action.started) == sorted(run_ids)
    assert max(len(group) for group in action.groups) > 1


async def test_two_engines_look_at_each_run_one_at_a_time(store: Database) -> None:
    inside: dict[str, int] = {}
    together: list[str] = []
    action = Elsewhere(every=timedelta())

    async def looking(look: ParkedRun) -> Outcome:
        run_id = look.ctx.run_id
        inside[run_id] = inside.get(run_id, 0) + 1
        if inside[run_id] > 1:
            together.append(run_id)
        await asyncio.sleep(0)
        inside[run_id] -= 1
        return await action.answer(look) if look.handle["looked"] < 5 else Succeeded(look.handle["looked"])

    action.looking = looking
    run_ids = await now_ask(store, 20)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(living(store, action, pace=PATIENT))
        await are_over(store)

    assert together == []
    for run_id in run_ids:
        assert (await run_of(store, run_id)).result == 5
        said = [event.message for event in await events_of(store, run_id) if event.message]
        assert said == [f"looked at {times} times" for times in range(1, 6)], "every look once, none lost"


# --- leaving, stopping, failing in the middle of a start --------------------------------------------------------------


def hangs() -> Elsewhere:
    async def forever(_ctx: ActionContext) -> None:
        await asyncio.Event().wait()

    return Elsewhere(starting=forever)


async def test_whoever_leaves_after_the_note_parks_the_run(lite: Database) -> None:
    action = hangs()
    (run_id,) = await now_ask(lite, max_attempts=1)
    async with living(lite, action), asyncio.timeout(PATIENCE):
        await action.inside.wait()

    row = await row_of(lite, run_id)
    assert (row["state"], row["attempt"], row["lane"], row["lease_until"]) == ("running", 1, None, None)
    assert row["handle"] == {"job": run_id, "looked": 0}
    assert row["poll_at"] is not None
    after = Elsewhere(done={run_id})
    async with living(lite, after):
        await reaches(lite, run_id, RunState.SUCCESS)
    assert (after.started, after.groups) == ([], [[run_id]])


async def test_a_cancel_in_the_middle_of_the_start_stops_what_may_have_started(lite: Database) -> None:
    action = hangs()
    (run_id,) = await now_ask(lite)
    async with living(lite, action):
        async with asyncio.timeout(PATIENCE):
            await action.inside.wait()
        async with lite.begin() as tx:
            await SqlRuns(tx).cancel([run_id], await SqlRetention(tx).time(), "enough")
        await reaches(lite, run_id, RunState.CANCELLED)

    assert action.stopped == {run_id}


@pytest.mark.parametrize("how", ["raises", "takes too long", "does not even stop"])
async def test_a_start_without_an_answer_is_looked_at(lite: Database, how: str) -> None:
    let_go = asyncio.Event()

    async def breaks(_ctx: ActionContext) -> None:
        if how == "raises":
            raise RuntimeError("the answer got lost")
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                if how == "takes too long":
                    raise
        raise RuntimeError("far too late")

    action = Elsewhere(starting=breaks, timeout=timedelta(seconds=0.3))
    (run_id,) = await now_ask(lite, max_attempts=1)
    action.done.add(run_id)
    async with living(lite, action):
        await reaches(lite, run_id, RunState.SUCCESS)
        let_go.set()

    assert action.started == []
    said = [event.message for event in await events_of(lite, run_id) if event.message]
    assert said[0].startswith("It is not yet known what was started: ")


async def test_the_time_limit_of_a_schedule_is_not_the_limit_of_a_start(lite: Database) -> None:
    seen: list[ActionContext] = []

    async def notes(ctx: ActionContext) -> None:
        seen.append(ctx)
        await asyncio.sleep(1.2)

    action = Elsewhere(starting=notes)
    (run_id,) = await now_ask(lite, timeout_seconds=1)
    async with living(lite, action):
        await are_parked(lite, 1)

    assert (seen[0].limit, seen[0].timeout) == (timedelta(seconds=1), timedelta(seconds=54))
    assert action.started == [run_id]


async def test_nothing_is_started_for_a_run_that_was_taken_away(lite: Database) -> None:
    async def perform(ctx: ActionContext) -> Outcome:
        async with lite.begin() as tx:
            await tx.conn.exec_driver_sql("UPDATE runs SET epoch = epoch + 1")
        return await Elsewhere.perform(action, ctx)

    action = Elsewhere()
    action.perform = perform  # type: ignore[method-assign]
    await now_ask(lite)
    async with living(lite, action) as engine:

        async def gone() -> bool:
            return engine.meter.stale_writes == 1

        await until(gone)

    assert action.started == []


async def test_an_action_that_nobody_can_look_for_may_not_park(lite: Database) -> None:
    class Blind(Quick):
        async def perform(self, ctx: ActionContext) -> Outcome:
            return Parked({}, timedelta())

    (run_id,) = await now_ask(lite, kind="quick")
    async with living(lite, Blind()):
        await reaches(lite, run_id, RunState.DEAD_LETTER)

    assert "has no look" in ((await run_of(lite, run_id)).error or {})["message"]


async def test_what_shipped_for_tests_looks_too(lite: Database) -> None:
    clock, action = StoppedClock(NOON), Elsewhere()
    (run_id,) = await ask(lite, NOON)

    await drain(lite, clock, action)
    assert (await run_of(lite, run_id)).parked
    action.done.add(run_id)
    clock.advance(5)
    drained = await drain(lite, clock, action)

    assert drained.ended == {"success": 1}
    assert action.started == [run_id]
