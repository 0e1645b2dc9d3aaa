"""Each guarantee in its smallest form, one interleaving at a time. The mutants must trip over these."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.app.use_cases import use_cases
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL
from foliot.core.time.trigger import Cron, Trigger
from foliot.db.database import Database
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.dispatcher import Dispatcher
from foliot.engine.janitor import Janitor
from foliot.engine.model.outcome import NoRetry, RetryAt, RetryPolicy
from foliot.engine.model.run import AttemptError, EventLine, EventType, HandedBack, Lost, RunState, Succeeded
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.settle import settle
from foliot.engine.model.views import ClaimedRun, EndingsResult, PageRequest, RunView
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.ticker import Ticker
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import StoppedClock, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.engine.racer import KIND, Marks
from tests.givens import sql

LEASE = timedelta(seconds=30)
ALL = {"mode": "all", "max_runs": 100}


@dataclass
class Bench:
    """A store under a stopped clock, and the engine's verbs one by one."""

    store: Database
    clock: StoppedClock
    feed: MemoryFeed = field(default_factory=MemoryFeed)

    @property
    def cases(self) -> UseCases:
        return use_cases(self.store, self.clock, self.feed, Marks())

    async def schedule(self, **changes: Any) -> Schedule:
        """Every minute; never skips an instant unless told to."""
        raw = {
            "name": "Every minute",
            "type": "interval",
            "interval_seconds": 60,
            "action": {"kind": KIND},
            "overlap": "allow_all",
            "catchup": ALL,
            "retry_policy": {"strategy": "fixed", "max_retries": 2, "delay_seconds": 5, "jitter": 0},
            **changes,
        }
        return await self.cases[Schedules].create(LOCAL, raw)

    async def tick(self, seconds: float = 0) -> int:
        self.clock.advance(seconds)
        ticker = Ticker(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            meter=EngineCounters(),
            alarm=ReadyTimes(),
            batch=100,
            longest_rest=1,
        )
        return (await ticker.run_once()).runs

    async def claim(self, *run_ids: str, worker: str = "one") -> list[ClaimedRun]:
        async with self.store.begin() as tx:
            return await SqlClaims(tx).claim(run_ids, worker, LEASE, self.clock.now())

    async def finish(self, claimed: ClaimedRun, outcome: Succeeded | HandedBack | Lost = Succeeded()) -> EndingsResult:  # noqa: B008 -- frozen
        async with self.store.begin() as tx:
            return await SqlClaims(tx).finish([conclude(claimed, outcome, self.clock.now())], self.clock.now())

    async def sweep(self) -> tuple[int, int]:
        janitor = Janitor(
            clock=self.clock,
            store=self.store,
            feed=self.feed,
            alarm=ReadyTimes(),
            period=5,
            retention=timedelta(days=30),
        )
        swept = await janitor.run_once()
        return swept.lost, swept.released

    async def runs(self, schedule: Schedule) -> list[RunView]:
        """Oldest first."""
        async with self.store.read() as tx:
            found = await SqlRuns(tx).find(schedule.tenant_id, PageRequest(500), schedule_id=schedule.id)
        return sorted(found, key=lambda run: run.scheduled_for or run.created_at)

    async def run(self, run_id: str) -> RunView:
        async with self.store.read() as tx:
            found = await SqlRuns(tx).get(LOCAL.tenant_id, run_id)
        assert found is not None
        return found


@pytest.fixture
async def bench(database_url: str) -> AsyncIterator[Bench]:
    async with open_store(database_url) as store:
        yield Bench(store, StoppedClock())


# --- firing (G1, G2, G3, G12, G13) ------------------------------------------------------------------------------------


async def test_a_plan_written_twice_makes_its_runs_once(bench: Bench) -> None:
    schedule = await bench.schedule()
    now = bench.clock.advance(60)
    async with bench.store.begin() as tx:
        (due,), _ = await SqlFiring(tx).lock_due(now, 10)
    plan = settle(due, now)

    async with bench.store.begin() as tx:
        await SqlFiring(tx).record([plan], now)
    with pytest.raises(Exception, match=r"cursors moved|(?i:unique|duplicate)"):
        async with bench.store.begin() as tx:
            await SqlFiring(tx).record([plan], now)

    assert [run.scheduled_for for run in await bench.runs(schedule)] == [now]


async def test_an_outage_owes_the_runs_of_its_window_and_a_line_for_the_others(bench: Bench) -> None:
    schedule = await bench.schedule(catchup={**ALL, "window_seconds": 600, "grace_seconds": 1})

    fired = await bench.tick(3600)

    async with bench.store.read() as tx:
        ledger = await SqlSchedules(tx).ledger(schedule.id, schedule.created_at, bench.clock.now())
    assert fired == 11
    assert [entry.count for _, entry in ledger] == [49]


async def test_an_instant_is_skipped_while_an_earlier_run_is_open(bench: Bench) -> None:
    schedule = await bench.schedule(overlap="skip")

    assert [await bench.tick(60) for _ in range(3)] == [1, 0, 0]

    (run,) = await bench.runs(schedule)
    (claimed,) = await bench.claim(run.id)
    await bench.finish(claimed)
    assert await bench.tick(60) == 1
    assert (await bench.cases[LedgerVerifier].prove(LOCAL)).holes == []


async def test_a_buffered_run_goes_when_its_predecessor_ends(bench: Bench) -> None:
    schedule = await bench.schedule(overlap="buffer_one")
    await bench.tick(60)
    await bench.tick(60)
    first, second = await bench.runs(schedule)
    assert await bench.claim(second.id) == []

    (claimed,) = await bench.claim(first.id)
    finished = await bench.finish(claimed)

    assert finished.released == 1
    assert [one.fence.run_id for one in await bench.claim(second.id)] == [second.id]


async def test_buffered_runs_go_in_the_order_of_their_instants_whatever_their_ids(bench: Bench) -> None:
    schedule = await bench.schedule(overlap="buffer_all")
    for _ in range(3):
        await bench.tick(60)
    first, second, third = await bench.runs(schedule)
    # The process that fired the second instant has a clock that is ahead.
    late = f"run_ffff{second.id[8:]}"
    await sql(bench.store, "UPDATE runs SET id = :late WHERE id = :id", late=late, id=second.id)

    (claimed,) = await bench.claim(first.id)
    await bench.finish(claimed)

    assert await bench.claim(third.id) == []
    assert [one.fence.run_id for one in await bench.claim(late)] == [late]


async def test_a_buffered_run_whose_predecessor_was_cancelled_is_found_by_the_sweep(bench: Bench) -> None:
    schedule = await bench.schedule(overlap="buffer_one")
    await bench.tick(60)
    await bench.tick(60)
    first, second = await bench.runs(schedule)
    async with bench.store.begin() as tx:
        await SqlRuns(tx).cancel([first.id], bench.clock.now(), "by hand")

    await bench.sweep()

    assert [one.fence.run_id for one in await bench.claim(second.id)] == [second.id]


async def test_a_paused_schedule_fires_nothing_and_owes_nothing(bench: Bench) -> None:
    schedule = await bench.schedule()
    await bench.tick(60)
    await bench.cases[Schedules].pause(LOCAL, schedule.id)

    assert await bench.tick(3600) == 0
    resumed = await bench.cases[Schedules].resume(LOCAL, schedule.id)

    assert resumed.status is ScheduleStatus.ACTIVE
    assert await bench.tick(60) == 1
    assert (await bench.cases[LedgerVerifier].prove(LOCAL)).holes == []


def test_a_fixed_time_that_the_clocks_skip_fires_at_the_first_instant_after() -> None:
    trigger = Trigger(Cron("30 2 * * *", "Europe/Stockholm"))

    fires = list(trigger.between(datetime(2027, 3, 27, 12, tzinfo=UTC), datetime(2027, 3, 29, 12, tzinfo=UTC)))

    assert fires == [datetime(2027, 3, 28, 1, 0, tzinfo=UTC), datetime(2027, 3, 29, 0, 30, tzinfo=UTC)]


# --- attempts (G4, G5, G6, G10) ---------------------------------------------------------------------------------------


async def one_run(bench: Bench, **changes: Any) -> str:
    schedule = await bench.schedule(**changes)
    await bench.tick(60)
    (run,) = await bench.runs(schedule)
    return run.id


async def test_a_run_is_claimed_by_one(bench: Bench) -> None:
    run_id = await one_run(bench)

    first, second = await bench.claim(run_id), await bench.claim(run_id, worker="two")

    assert [one.fence.run_id for one in first] == [run_id]
    assert second == []


async def test_an_attempt_that_lost_its_lease_can_change_nothing_any_more(bench: Bench) -> None:
    run_id = await one_run(bench)
    (frozen,) = await bench.claim(run_id)
    bench.clock.advance(LEASE + timedelta(seconds=1))
    assert await bench.sweep() == (1, 0)
    bench.clock.advance(5)
    (current,) = await bench.claim(run_id, worker="two")

    line = EventLine(bench.clock.now(), EventType.LOG, "info", "too late")
    async with bench.store.begin() as tx:
        appended = await SqlRuns(tx).append([(frozen.fence, [line])])
        extended = await SqlClaims(tx).extend([frozen.fence], LEASE, bench.clock.now())
    finished = await bench.finish(frozen)

    assert appended == set()
    assert extended == set()
    assert finished.stale == {run_id}
    assert (await bench.run(run_id)).state is RunState.RUNNING
    assert (await bench.finish(current)).accepted == {run_id}
    async with bench.store.read() as tx:
        assert [
            event.message for event in await SqlRuns(tx).events(run_id, 0, 100) if event.message == "too late"
        ] == []


async def test_an_ending_whose_acknowledgement_was_lost_is_not_stale(bench: Bench) -> None:
    run_id = await one_run(bench)
    (claimed,) = await bench.claim(run_id)

    first, again = await bench.finish(claimed), await bench.finish(claimed)

    assert first.accepted == again.accepted == {run_id}
    async with bench.store.read() as tx:
        assert len((await SqlRuns(tx).attempts([run_id], whole=True))[run_id]) == 1


async def test_the_run_of_a_dead_worker_is_taken_back(bench: Bench) -> None:
    run_id = await one_run(bench)
    await bench.claim(run_id)

    bench.clock.advance(LEASE - timedelta(seconds=1))
    assert await bench.sweep() == (0, 0)
    bench.clock.advance(2)
    assert await bench.sweep() == (1, 0)

    assert (await bench.run(run_id)).state is RunState.RETRYING


async def test_a_run_that_kills_its_workers_is_tried_three_times_and_then_kept_as_a_dead_letter(bench: Bench) -> None:
    run_id = await one_run(bench)
    states = []
    for _ in range(4):
        bench.clock.advance(10)
        claimed = await bench.claim(run_id)
        bench.clock.advance(LEASE + timedelta(seconds=1))
        await bench.sweep()
        states += [(await bench.run(run_id)).state] if claimed else []

    assert states == [RunState.RETRYING, RunState.RETRYING, RunState.DEAD_LETTER]


async def test_a_run_handed_back_keeps_its_attempt(bench: Bench) -> None:
    run_id = await one_run(bench, retry_policy={"max_retries": 0})
    (claimed,) = await bench.claim(run_id)

    await bench.finish(claimed, HandedBack())

    assert (await bench.run(run_id)).attempt == 0
    (again,) = await bench.claim(run_id)
    assert (again.attempt, again.fence.epoch) == (1, 2)


async def test_a_run_that_was_handed_over_and_lost_on_the_way_is_handed_over_again(bench: Bench) -> None:
    run_id = await one_run(bench)
    workers = Forgetful()
    dispatcher = Dispatcher(
        clock=bench.clock, store=bench.store, workers=workers, alarm=ReadyTimes(), batch=10, longest_rest=1
    )

    for _ in range(2):
        await dispatcher.run_once()

    assert workers.heard == [[run_id], [run_id]]


@dataclass
class Forgetful:
    """A broker that loses everything."""

    heard: list[list[str]] = field(default_factory=list)

    slots = 100
    passed_over = 0

    def free(self) -> int:
        return 10

    room = free

    async def submit(self, run_ids: Sequence[str]) -> int:
        self.heard.append(list(run_ids))
        return 0


async def test_a_success_that_came_first_stands(bench: Bench) -> None:
    run_id = await one_run(bench)
    (claimed,) = await bench.claim(run_id)
    await bench.finish(claimed)

    async with bench.store.begin() as tx:
        assert await SqlRuns(tx).cancel([run_id], bench.clock.now(), "too late") == 0
    await bench.finish(claimed, Lost(AttemptError("late", "a second ending")))

    assert (await bench.run(run_id)).state is RunState.SUCCESS


def test_three_attempts_are_three_attempts() -> None:
    policy = RetryPolicy(max_retries=2)
    now = datetime(2027, 1, 4, tzinfo=UTC)

    decisions = [policy.decide("run_1", attempt, policy.max_attempts, Lost(), now) for attempt in (1, 2, 3)]

    assert [type(decision) for decision in decisions] == [RetryAt, RetryAt, NoRetry]
