"""The life of runs under random commands, crashes and steps of time, against a small model.

Whatever happens, in whatever order: runs move only as the table allows, what ended stays ended, one attempt at a time
holds a run, events have no gap, and every instant is a run or a count in the ledger. A parked run is in nobody's hands,
and each line that a look brought is there once. In the end every run ends, and every effect elsewhere is let go.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import func, select

from foliot.core.ids import new_id
from foliot.core.time.trigger import FixedInterval
from foliot.db.database import Database
from foliot.db.metadata import metadata
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.janitor import goes_on, lost
from foliot.engine.model.outcome import BackoffStrategy, RetryPolicy
from foliot.engine.model.run import (
    CLAIMABLE,
    TRANSITIONS,
    AttemptError,
    Cancelled,
    Ended,
    EventLine,
    EventType,
    Failed,
    Fence,
    HandedBack,
    ParkedUpdate,
    RunState,
    Succeeded,
)
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.parked import SqlParked
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import ledger, runs, schedules
from foliot.testing import MEMORY
from tests.givens import LEASE, NOON, ask, claim, events_of, keep, ready, request, schedule, spec, stopped, tick

LOOKED = "what a look brought"
T = TypeVar("T")
Row = Mapping[str, Any]

RETRY = RetryPolicy(BackoffStrategy.FIXED, max_retries=2, delay_seconds=20, jitter=0)
CATCHUPS = [
    Catchup(CatchupMode.ALL, max_runs=4),
    Catchup(CatchupMode.LATEST),
    Catchup(CatchupMode.NONE, grace_seconds=30),
]
SPECS = [
    spec(FixedInterval(40 + at, NOON), overlap=overlap, catchup=CATCHUPS[at % 3], retry=RETRY)
    for at, overlap in enumerate(Overlap)
]
OUTCOMES: list[Ended] = [
    Succeeded({"n": 1}),
    Succeeded(partial=True),
    Failed(AttemptError("http_500", "no")),
    Failed(AttemptError("http_410", "gone"), permanent=True),
    HandedBack(),
    Cancelled(),
]
FOREVER = NOON + timedelta(days=3650)
WHICH = st.integers(0, 1_000_000)


class RunLife(RuleBasedStateMachine):
    """Workers that claim, end, crash and come back late; a clock that jumps; people who cancel; a sweep, a pruner."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = stopped()
        self.store = Database(MEMORY, bind_clock=True)
        self.hands: list[ClaimedRun] = []
        """Every attempt that some worker still believes in."""
        self.written: list[AttemptEnding] = []
        self.before: dict[str, Row] = {}
        self.begun = False
        self.pruned: set[str] = set()
        self.parkings: list[ParkedUpdate] = []
        """Those that were accepted."""
        self.spoken: Counter[str] = Counter()
        """How many lines of looks each run has."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        self.run(self._begin())
        self.begun = True

    async def _begin(self) -> None:
        async with self.store.engines.write.begin() as conn:
            await conn.run_sync(metadata.create_all)
        made = [schedule(one) for one in SPECS]
        self.specs = {one.id: one.spec for one in made}
        await keep(self.store, *made)

    # --- what may happen ----------------------------------------------------------------------------------------------

    @rule(seconds=st.integers(1, 70))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def nobody_is_there_for_an_hour(self) -> None:
        self.clock.advance(3600)

    @rule()
    def the_ticker_ticks(self) -> None:
        self.run(tick(self.store, self.clock.now()))

    @rule()
    def somebody_asks_for_a_run(self) -> None:
        self.run(ask(self.store, self.clock.now(), request()))

    @rule(limit=st.integers(1, 8), worker=st.sampled_from(["w1", "w2"]))
    def a_worker_claims(self, limit: int, worker: str) -> None:
        async def work() -> list[ClaimedRun]:
            found = await ready(self.store, self.clock.now(), limit)
            return await claim(self.store, self.clock.now(), *found, worker=worker)

        for claimed in self.run(work()):
            before = self.before.get(claimed.fence.run_id)
            assert before is None or claimed.fence.epoch == before["epoch"] + 1
            assert claimed.fence.token not in {
                held.fence.token for held in self.hands if held.fence.run_id == claimed.fence.run_id
            }
            self.hands.append(claimed)

    @rule(which=WHICH)
    def a_worker_claims_whatever_it_remembers(self, which: int) -> None:
        """A message that came late or twice: the row decides."""
        if not self.before:
            return
        run_id = sorted(self.before)[which % len(self.before)]
        row = self.before[run_id]
        open_to_all = row["lane"] is not None and row["ready_at"] <= self.clock.now()
        taken = self.run(claim(self.store, self.clock.now(), run_id, worker="w3"))
        assert len(taken) == open_to_all
        self.hands += taken

    @precondition(lambda self: self.hands)
    @rule(which=WHICH, outcome=st.sampled_from(OUTCOMES))
    def an_attempt_ends(self, which: int, outcome: Ended) -> None:
        held = self.hands.pop(which % len(self.hands))
        ending = conclude(held, outcome, self.clock.now())
        ours = self.holds(held.fence)
        assert self.finish(ending) == ours
        if ours:
            self.written.append(ending)

    @precondition(lambda self: self.written)
    @rule(which=WHICH)
    def an_ending_is_written_again_because_its_acknowledgement_was_lost(self, which: int) -> None:
        ending = self.written[which % len(self.written)]
        row = self.before.get(ending.fence.run_id)
        ours = row is not None and (row["epoch"], row["token"]) == (ending.fence.epoch, ending.fence.token)
        assert self.finish(ending) == ours

    @precondition(lambda self: self.hands)
    @rule(which=WHICH)
    def a_lease_is_renewed(self, which: int) -> None:
        fence = self.hands[which % len(self.hands)].fence

        async def work() -> set[str]:
            async with self.store.begin() as tx:
                return await SqlClaims(tx).extend([fence], LEASE, self.clock.now())

        assert bool(self.run(work())) == self.holds(fence)

    @precondition(lambda self: self.hands)
    @rule(which=WHICH, count=st.integers(1, 3))
    def an_attempt_writes_lines(self, which: int, count: int) -> None:
        fence = self.hands[which % len(self.hands)].fence
        lines = [EventLine(self.clock.now(), EventType.LOG, message=f"line {at}") for at in range(count)]

        async def work() -> set[str]:
            async with self.store.begin() as tx:
                return await SqlRuns(tx).append([(fence, lines)])

        assert bool(self.run(work())) == self.holds(fence)

    @precondition(lambda self: self.hands)
    @rule(which=WHICH)
    def an_attempt_notes_what_it_starts(self, which: int) -> None:
        fence = self.hands[which % len(self.hands)].fence

        async def work() -> bool:
            async with self.store.begin() as tx:
                return await SqlParked(tx).note(fence, {"noted": True})

        assert self.run(work()) == self.holds(fence)

    @precondition(lambda self: self.hands)
    @rule(which=WHICH, seconds=st.integers(0, 90))
    def an_attempt_is_parked(self, which: int, seconds: int) -> None:
        held, now = self.hands.pop(which % len(self.hands)), self.clock.now()
        parking = ParkedUpdate(
            fence=held.fence,
            handle={"at": str(now)},
            poll_at=now + timedelta(seconds=seconds),
            at=now,
            lines=[EventLine(now, EventType.LOG, message=LOOKED)],
            cancelling=held.cancel_requested,
        )
        ours = self.holds(held.fence)
        assert self.park(parking) == ours
        if ours:
            self.parkings.append(parking)
            self.spoken[held.fence.run_id] += 1

    @precondition(lambda self: self.parkings)
    @rule(which=WHICH)
    def a_parking_is_written_again_because_its_acknowledgement_was_lost(self, which: int) -> None:
        parking = self.parkings[which % len(self.parkings)]
        row = self.before.get(parking.fence.run_id)
        ours = row is not None and (row["epoch"], row["token"]) == (parking.fence.epoch, parking.fence.token)
        assert self.park(parking) == ours

    def park(self, parking: ParkedUpdate) -> bool:
        async def work() -> set[str]:
            async with self.store.begin() as tx:
                return await SqlParked(tx).park([parking], self.clock.now())

        return bool(self.run(work()))

    @rule(limit=st.integers(1, 8))
    def a_watcher_looks(self, limit: int) -> None:
        for claimed in self.run(self._look_at(limit)):
            before = self.before[claimed.fence.run_id]
            assert (before["lease_until"], claimed.fence.epoch) == (None, before["epoch"] + 1)
            assert claimed.attempt == before["attempt"]
            self.hands.append(claimed)

    async def _look_at(self, limit: int) -> list[ClaimedRun]:
        """Those that go on; what was ended from outside is let go."""
        now = self.clock.now()
        async with self.store.begin() as tx:
            due = (await SqlParked(tx).coming("probe", None, now, limit)).due
            claimed = await SqlParked(tx).claim(due, "watcher", LEASE, now, new_id("tok"))
            if ended := [one.fence for one in claimed if one.ended]:
                assert await SqlParked(tx).let_go(ended) == len(ended)
        return [one for one in claimed if not one.ended]

    @precondition(lambda self: self.hands)
    @rule(which=WHICH)
    def a_worker_crashes_and_forgets(self, which: int) -> None:
        self.hands.pop(which % len(self.hands))

    @rule(taken_over=st.booleans())
    def a_worker_freezes_longer_than_its_lease(self, taken_over: bool) -> None:
        """What it held stays in its hands: it will come back late."""
        self.somebody_asks_for_a_run()
        self.a_worker_claims(limit=50, worker="w3")
        self.run(self._look())
        self.clock.advance(LEASE + timedelta(seconds=1))
        self.run(self._sweep())
        if taken_over:
            self.run(self._look())
            self.a_worker_claims(limit=50, worker="w4")

    @rule()
    def the_janitor_sweeps(self) -> None:
        self.run(self._sweep())

    async def _sweep(self) -> None:
        now = self.clock.now()
        async with self.store.begin() as tx:
            expired = await SqlClaims(tx).lock_expired(now, 100)
            assert all(self.before[one.fence.run_id]["lease_until"] < now for one in expired)
            parked = [one for one in expired if goes_on(one)]
            await SqlClaims(tx).finish([lost(one, now) for one in expired if not goes_on(one)], now)
            assert not parked or await SqlParked(tx).take_back(parked, now) == len(parked)
        async with self.store.begin() as tx:
            await SqlClaims(tx).release(now)

    @rule(which=WHICH)
    def somebody_cancels(self, which: int) -> None:
        if not self.before:
            return
        run_id = sorted(self.before)[which % len(self.before)]

        async def work() -> int:
            async with self.store.begin() as tx:
                return await SqlRuns(tx).cancel([run_id], self.clock.now(), "asked")

        assert self.run(work()) == (not RunState(self.before[run_id]["state"]).final)

    @rule(limit=st.integers(1, 5))
    def old_runs_are_pruned(self, limit: int) -> None:
        async def work() -> int:
            async with self.store.begin() as tx:
                return (await SqlRetention(tx).prune(FOREVER, limit))[0]

        looked = [{**self.before[run_id], "id": run_id} for run_id in sorted(self.before)[:limit]]
        ended = [row for row in looked if RunState(row["state"]).final]
        kept = {
            row["id"]
            for row in ended
            if row["poll_at"] or (row["state"] == RunState.DEAD_LETTER and not row["resolved_by"])
        }
        gone = {row["id"] for row in ended} - kept
        assert self.run(work()) == len(gone)
        self.pruned |= gone

    # --- what must hold -----------------------------------------------------------------------------------------------

    def holds(self, fence: Fence) -> bool:
        row = self.before.get(fence.run_id)
        return (
            row is not None
            and row["lease_until"] is not None
            and (row["epoch"], row["token"]) == (fence.epoch, fence.token)
        )

    def finish(self, ending: AttemptEnding) -> bool:
        async def work() -> bool:
            async with self.store.begin() as tx:
                finished = await SqlClaims(tx).finish([ending], self.clock.now())
            assert finished.accepted | finished.stale == {ending.fence.run_id}
            return bool(finished.accepted)

        return self.run(work())

    @invariant()
    def the_rows_keep_their_promises(self) -> None:
        if self.begun:
            self.run(self._look())

    async def _look(self) -> None:
        now = await self._rows()
        for run_id, row in now.items():
            before = self.before.get(run_id)
            if row != before:
                self.check_run(row, before)
                events = await events_of(self.store, run_id)
                assert [event.seq for event in events] == list(range(1, row["event_seq"] + 1)), run_id
                assert sum(event.message == LOOKED for event in events) == self.spoken[run_id]
        assert set(self.before) - set(now) <= self.pruned
        self.before = now
        await self._account()

    async def _rows(self) -> dict[str, Row]:
        async with self.store.read() as tx:
            return {row.id: dict(row._mapping) for row in await tx.conn.execute(select(runs))}

    def check_run(self, row: Row, before: Row | None) -> None:
        state = RunState(row["state"])
        assert (row["lane"] is not None) == (state in CLAIMABLE and row["buffered_of"] is None)
        held, parked = row["lease_until"] is not None, row["poll_at"] is not None
        assert (held != parked) if state is RunState.RUNNING else not held
        assert not parked or (row["handle"] is not None and state in {RunState.RUNNING, RunState.CANCELLED})
        assert row["handle"] is None or state is RunState.RUNNING or state.final
        assert 0 <= row["attempt"] <= row["max_attempts"]
        if before is None:
            return
        was = RunState(before["state"])
        assert state == was or state in TRANSITIONS[was], f"{was} -> {state}"
        assert row["epoch"] >= before["epoch"]
        assert row["event_seq"] >= before["event_seq"]
        if was.final:
            moved = {"epoch", "token", "poll_at"} if before["poll_at"] is not None else set()
            assert {name for name in row if row[name] != before[name]} <= moved

    async def _account(self) -> None:
        """Every instant before the cursor is a run or a count in the ledger."""
        made: Counter[str] = Counter(row["schedule_id"] for row in self.before.values())
        open_now: Counter[str] = Counter(row["open_of"] for row in self.before.values())
        async with self.store.read() as tx:
            lines = select(ledger.c.schedule_id, func.sum(ledger.c.count)).group_by(ledger.c.schedule_id)
            counted = {schedule_id: int(count) for schedule_id, count in await tx.conn.execute(lines)}
            cursors = (await tx.conn.execute(select(schedules.c.id, schedules.c.next_at))).all()
        for schedule_id, next_at in cursors:
            spec_ = self.specs[schedule_id]
            assert made[schedule_id] + counted.get(schedule_id, 0) == spec_.trigger.count(NOON, next_at)
            assert spec_.overlap is not Overlap.SKIP or open_now[schedule_id] <= 1

    def teardown(self) -> None:
        try:
            if self.begun:
                self.run(self._live_to_the_end())
        finally:
            self.run(self.store.close())
            self.runner.close()

    async def _live_to_the_end(self) -> None:
        """No run is lost: with one worker at work and time enough, every run ends."""
        for _ in range(2000):
            self.clock.advance(60)
            self.before = await self._rows()
            if all(RunState(row["state"]).final and row["poll_at"] is None for row in self.before.values()):
                return
            await self._sweep()
            now = self.clock.now()
            looked_at = await self._look_at(100)
            for held in [*looked_at, *await claim(self.store, now, *await ready(self.store, now, 100))]:
                async with self.store.begin() as tx:
                    await SqlClaims(tx).finish([conclude(held, Succeeded(), now)], now)
        raise AssertionError("some runs never end")


TestRunLife = RunLife.TestCase
TestRunLife.settings = settings(
    max_examples=20,
    stateful_step_count=30,
    deadline=None,
    # Without shrinking: it takes minutes, and the steps of a failure are told all the same.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
