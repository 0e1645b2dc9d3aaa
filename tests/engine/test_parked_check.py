"""The watcher: looks at parked runs in groups, and lets no member, no database and no farewell spoil it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from foliot.core.errors import Unavailable
from foliot.db.database import Database, Transaction
from foliot.db.migrate import migrate
from foliot.engine.loop import Loop
from foliot.engine.model.run import AttemptError, EventType, Failed, Outcome, Parked, ParkedUpdate, RunState, Succeeded
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.parked_runs import BATCH, ParkedRunWatcher
from foliot.engine.ports import ParkedRun
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.endings import cancel_runs
from foliot.engine.sql.parked import SqlParked
from foliot.engine.sql.runs import SqlRuns
from foliot.testing import StoppedClock, open_store
from foliot.wakeups.feed import PARKED_TOPIC, RUNS_TOPIC, MemoryFeed, run_topic
from tests.givens import NOON, SECOND, ask, claim, events_of, request, row_of, run_of, sql, statements, stopped
from tests.services import wait_for
from tests.watched import Elsewhere

LEASE = timedelta(seconds=30)
PATIENCE = 20.0


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrated once; a copy costs a hundredth of a migration."""
    path = tmp_path_factory.mktemp("watcher") / "migrated.db"
    wait_for(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
async def store(migrated: Path, tmp_path: Path) -> AsyncIterator[Database]:
    shutil.copy(migrated, tmp_path / "foliot.db")
    async with open_store(f"sqlite+aiosqlite:///{tmp_path / 'foliot.db'}") as opened:
        yield opened


def watcher(store: Database, action: Elsewhere, clock: StoppedClock | None = None, **changes: Any) -> ParkedRunWatcher:
    parts: dict[str, Any] = {
        "clock": clock or stopped(),
        "store": store,
        "feed": MemoryFeed(),
        "alarm": ReadyTimes(),
        "meter": EngineCounters(),
        "action": action,
        "worker": "n1",
        "lease": LEASE,
        "longest_rest": 1.0,
    }
    return ParkedRunWatcher(**{**parts, **changes})


async def parked(store: Database, count: int = 1, **changes: Any) -> list[str]:
    """Runs that are to be looked at now."""
    run_ids = await ask(store, NOON, *(request(**changes) for _ in range(count)))
    claims = await claim(store, NOON, *run_ids)
    async with store.begin() as tx:
        await SqlParked(tx).park(
            [
                ParkedUpdate(fence=one.fence, handle={"job": one.fence.run_id, "looked": 0}, poll_at=NOON, at=NOON)
                for one in claims
            ],
            NOON,
        )
    return run_ids


async def lines_of(store: Database, run_id: str) -> list[str]:
    return [event.message for event in await events_of(store, run_id) if event.type is EventType.LOG]


# --- in groups --------------------------------------------------------------------------------------------------------


async def test_a_thousand_are_looked_at_in_groups_and_each_group_is_written_together(store: Database) -> None:
    run_ids = await parked(store, 1000)
    action = Elsewhere(done={run_ids[0]})
    one = watcher(store, action)

    with statements(store) as seen:
        looked = [(await one.run_once()).looked for _ in range(3)]

    assert looked == [BATCH, BATCH, 0]
    assert [len(group) for group in action.groups] == [BATCH, BATCH]
    assert sorted(run_id for group in action.groups for run_id in group) == sorted(run_ids)
    assert len(seen) <= 30, "\n".join(seen)
    assert (await run_of(store, run_ids[0])).state is RunState.SUCCESS
    row = await row_of(store, run_ids[-1])
    assert (row["handle"], row["poll_at"]) == ({"job": run_ids[-1], "looked": 1}, NOON + action.every)
    assert await lines_of(store, run_ids[-1]) == ["looked at 1 times"]


async def test_it_rests_until_the_next_moment_and_no_longer_than_it_may(store: Database) -> None:
    await parked(store)
    clock, action = stopped(), Elsewhere(every=timedelta(seconds=0.25))
    one = watcher(store, action, clock)

    assert (await one.run_once()).rest == 0.0, "what was parked just now may be due first"
    assert (await one.run_once()).rest == 0.25
    clock.advance(0.25)
    assert (await one.run_once()).looked == 1
    action.every = timedelta(hours=1)
    clock.advance(0.25)
    await one.run_once()
    assert (await one.run_once()).rest == 1.0


async def test_it_looks_at_its_own_kind_and_queues_alone(store: Database) -> None:
    await parked(store, kind="other")
    (mine,) = await parked(store, queue="mine")
    action = Elsewhere()

    await watcher(store, action, queues={"yours"}).run_once()
    assert action.groups == []
    await watcher(store, action, queues={"mine"}).run_once()
    assert action.groups == [[mine]]


async def test_an_action_knows_the_attempt_it_looks_at(store: Database) -> None:
    (run_id,) = await parked(store, timeout_seconds=900, action={"kind": "probe", "what": "this"})
    action, clock = Elsewhere(), stopped(NOON + SECOND)

    await watcher(store, action, clock).run_once()

    (look,) = action.looks
    assert (look.ctx.run_id, look.ctx.attempt, look.ctx.limit) == (run_id, 1, timedelta(seconds=900))
    assert (look.started_at, look.cancel, look.ended) == (NOON, False, False)
    assert (look.handle, look.ctx.config["what"]) == ({"job": run_id, "looked": 0}, "this")
    assert timedelta(seconds=20) < look.ctx.timeout <= timedelta(seconds=27), "within the lease"


# --- what a look finds ------------------------------------------------------------------------------------------------


async def test_an_end_is_counted_and_told(store: Database) -> None:
    (run_id,) = await parked(store)
    feed, meter = MemoryFeed(), EngineCounters()

    async with feed.listen(run_topic(run_id)) as waiter:
        await watcher(store, Elsewhere(done={run_id}), stopped(NOON + SECOND), feed=feed, meter=meter).run_once()
        assert await waiter.wait(0)

    assert meter.finished == {"success": 1}
    assert meter.duration.total == 1.0
    assert (await run_of(store, run_id)).result == {"looked": 1}


async def test_a_failure_is_tried_again_from_the_beginning(store: Database) -> None:
    async def fails(_look: ParkedRun) -> Outcome:
        return Failed(AttemptError("spider_crashed", "no"))

    (run_id,) = await parked(store)
    alarm = ReadyTimes()

    await watcher(store, Elsewhere(looking=fails), alarm=alarm).run_once()

    run = await run_of(store, run_id)
    assert (run.state, run.handle, run.attempt) == (RunState.RETRYING, None, 1)
    assert alarm.rest(NOON, 60.0) < 60.0, "whoever dispatches knows when"


async def test_who_waits_behind_is_set_free(store: Database) -> None:
    feed = MemoryFeed()
    (run_id,) = await parked(store)
    (behind,) = await ask(store, NOON, request())
    await sql(store, "UPDATE runs SET schedule_id = 'sch_1', open_of = 'sch_1' WHERE id = :id", id=run_id)
    await sql(
        store,
        "UPDATE runs SET schedule_id = 'sch_1', open_of = 'sch_1', buffered_of = 'sch_1', lane = NULL WHERE id = :id",
        id=behind,
    )
    await sql(store, "UPDATE runs SET version = 1, action = '{}' WHERE id = :id", id=run_id)
    await sql(
        store,
        "INSERT INTO versions (schedule_id, version, tenant_id, spec, action, anchor, created_at)"
        " VALUES ('sch_1', 1, 'acme', 'no spec', '{}', '2027-01-04 12:00:00.000000', '2027-01-04 12:00:00.000000')",
    )

    async with feed.listen(RUNS_TOPIC) as waiter:
        await watcher(store, Elsewhere(), feed=feed).run_once()
        assert await waiter.wait(0)

    run = await run_of(store, run_id)
    assert (run.state, (run.error or {})["code"]) == (RunState.DEAD_LETTER, "damaged"), "not worth a look"
    assert not (await run_of(store, behind)).buffered


async def test_a_cancel_reaches_the_action_and_is_its_to_answer(store: Database) -> None:
    (run_id,) = await parked(store)
    action = Elsewhere()
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], NOON, "enough")

    await watcher(store, action).run_once()

    assert action.looks[0].cancel
    assert action.stopped == {run_id}
    assert (await run_of(store, run_id)).state is RunState.CANCELLED


async def test_a_terminated_run_is_looked_at_until_its_effect_is_let_go(store: Database) -> None:
    (run_id,) = await parked(store)
    async with store.begin() as tx:
        await cancel_runs(tx.conn, SqlRuns(tx).dialect, [], NOON, "replaced", at_once=[run_id])
    clock = stopped()

    async def stopping(look: ParkedRun) -> Outcome:
        return Parked({**look.handle, "stopping": True}, 2 * SECOND)

    action = Elsewhere(looking=stopping)
    one = watcher(store, action, clock)
    await one.run_once()
    assert action.looks[-1].ended
    action.looking = None
    clock.advance(2)
    await one.run_once()
    clock.advance(3600)
    assert (await one.run_once()).looked == 0

    assert action.stopped == {run_id}
    run = await run_of(store, run_id)
    assert (run.state, run.handle, run.finished_at) == (
        RunState.CANCELLED,
        {"job": run_id, "looked": 0, "stopping": True},
        NOON,
    )


async def test_hidden_values_are_kept_nowhere(store: Database) -> None:
    (run_id,) = await parked(store)

    async def careless(look: ParkedRun) -> Outcome:
        look.ctx.hide("s3cret-value")
        look.ctx.log("the key is s3cret-value", at=NOON - SECOND)
        return Parked({"url": "http://u:s3cret-value@n"}, SECOND, items=[{"key": "s3cret-value"}])

    await watcher(store, Elsewhere(looking=careless)).run_once()

    (line,) = [event for event in await events_of(store, run_id) if event.type is EventType.LOG]
    assert ("s3cret" in line.message, line.at) == (False, NOON - SECOND)
    assert "s3cret" not in str((await run_of(store, run_id)).handle)


# --- looks that fail --------------------------------------------------------------------------------------------------


async def test_one_that_explodes_holds_up_no_other(store: Database) -> None:
    run_ids = await parked(store, 40)
    bad = run_ids[17]

    async def explodes(look: ParkedRun) -> Outcome:
        if look.ctx.run_id == bad:
            raise RuntimeError("boom")
        return await action.answer(look)

    action = Elsewhere(looking=explodes, done=set(run_ids))
    watched = await watcher(store, action).run_once()

    assert (watched.looked, watched.failed) == (40, 1)
    assert len(action.groups) <= 12, "halves, not one by one"
    for run_id in run_ids:
        expected = RunState.RUNNING if run_id == bad else RunState.SUCCESS
        assert (await run_of(store, run_id)).state is expected
        if run_id != bad:
            assert await lines_of(store, run_id) == ["looked at 1 times"], "once, though it was looked at several times"


async def test_looks_that_fail_come_later_and_later(store: Database) -> None:
    (run_id,) = await parked(store)
    clock, broken = stopped(), True

    async def explodes(look: ParkedRun) -> Outcome | None:
        if broken:
            raise RuntimeError("boom")
        return await action.answer(look)

    action = Elsewhere(looking=explodes)
    one = watcher(store, action, clock)
    delays = []
    for _ in range(9):
        await one.run_once()
        delays.append(((await row_of(store, run_id))["poll_at"] - clock.now()).total_seconds())
        clock.advance(delays[-1])

    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert await lines_of(store, run_id) == ["The check failed and will be repeated: RuntimeError: boom"]
    assert (await run_of(store, run_id)).handle == {"job": run_id, "looked": 0}

    broken = False
    await one.run_once()
    broken = True
    clock.advance(5)
    await one.run_once()
    assert (await row_of(store, run_id))["poll_at"] == clock.now() + SECOND, "it begins anew after a look that worked"


@pytest.mark.parametrize("answer", [None, "nonsense", {}], ids=["missing", "text", "mapping"])
async def test_who_is_missing_in_the_answer_is_looked_at_again(store: Database, answer: Any) -> None:
    (run_id,) = await parked(store)

    async def says(_look: ParkedRun) -> Outcome | None:
        return cast("Outcome | None", answer)

    watched = await watcher(store, Elsewhere(looking=says)).run_once()

    assert (watched.looked, watched.failed) == (1, 1)
    row = await row_of(store, run_id)
    assert (row["poll_at"], row["lease_until"], row["attempt"]) == (NOON + SECOND, None, 1)


async def test_what_a_failed_look_noted_stays_noted(store: Database) -> None:
    (run_id, *_) = await parked(store, 2)

    async def notes(look: ParkedRun) -> Outcome:
        await look.ctx.note({"job": "another"})
        raise RuntimeError("boom")

    await watcher(store, Elsewhere(looking=notes)).run_once()

    assert (await run_of(store, run_id)).handle == {"job": "another"}


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_look_that_takes_too_long_is_given_up_and_the_next_group_is_smaller(
    store: Database, stubborn: bool
) -> None:
    run_ids = await parked(store, 8)
    never, slow = asyncio.Event(), True

    async def hangs(look: ParkedRun) -> Outcome:
        while slow:
            try:
                await never.wait()
            except asyncio.CancelledError:
                if not stubborn:
                    raise
                await asyncio.sleep(0)
        return await action.answer(look)

    action, clock = Elsewhere(looking=hangs), stopped()
    one = watcher(store, action, clock, lease=timedelta(seconds=0.2), _batch=8)

    async with asyncio.timeout(PATIENCE):
        watched = await one.run_once()

    assert (watched.looked, watched.failed, one._batch) == (8, 8, 4)
    rows = [await row_of(store, run_id) for run_id in run_ids]
    assert {row["poll_at"] for row in rows} == {NOON + SECOND}
    assert {row["lease_until"] for row in rows} == {None}
    slow = False
    never.set()
    clock.advance(1)
    one.lease = LEASE
    await one.run_once()
    assert [len(group) for group in action.groups][-1] == 4
    assert one._batch == 8


# --- a database that is away ------------------------------------------------------------------------------------------


@dataclass
class Forgetful:
    """A store whose acknowledgements get lost when it is told so."""

    store: Database
    lost: int = 0
    refused: int = 0

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        if self.refused:
            self.refused -= 1
            raise Unavailable("away", told="away")
        async with self.store.begin(tenant_id) as tx:
            yield tx
        if self.lost:
            self.lost -= 1
            raise Unavailable("no acknowledgement", told="away")

    def glance(self) -> Any:
        return self.store.glance()

    def read(self, tenant_id: str | None = None) -> Any:
        return self.store.read(tenant_id)


async def test_a_claim_whose_acknowledgement_got_lost_is_looked_at(store: Database) -> None:
    (run_id,) = await parked(store)
    action = Elsewhere(done={run_id})

    watched = await watcher(cast("Database", Forgetful(store, lost=1)), action).run_once()

    assert watched.looked == 1
    assert (await run_of(store, run_id)).state is RunState.SUCCESS


async def test_what_a_look_brought_is_written_once_whatever_becomes_of_the_acknowledgement(store: Database) -> None:
    parked_one, ended = await parked(store, 2)
    action, away = Elsewhere(done={ended}), Forgetful(store)

    async def then_away(look: ParkedRun) -> Outcome:
        away.lost = 1
        return await action.answer(look)

    action.looking = then_away
    one = watcher(cast("Database", away), action)
    with pytest.raises(Unavailable):
        await one.run_once()
    assert (await one.run_once()).looked == 0

    assert len(action.groups) == 1, "nobody looks again while something is unwritten"
    assert await lines_of(store, parked_one) == ["looked at 1 times"]
    assert (await run_of(store, ended)).state is RunState.SUCCESS
    assert one.meter.finished == {"success": 1}
    assert one.meter.stale_writes == 0


async def test_what_a_look_brought_waits_for_the_database(store: Database) -> None:
    (run_id,) = await parked(store)
    action, away = Elsewhere(done={run_id}), Forgetful(store)

    async def then_away(look: ParkedRun) -> Outcome:
        away.refused = 3
        return await action.answer(look)

    action.looking = then_away
    one = watcher(cast("Database", away), action)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await one.run_once()
    await one.run_once()

    assert (await run_of(store, run_id)).state is RunState.SUCCESS
    assert len(action.groups) == 1


async def test_what_comes_too_late_changes_nothing_and_is_counted(store: Database) -> None:
    (run_id,) = await parked(store)

    async def meanwhile(look: ParkedRun) -> Outcome:
        await sql(store, "UPDATE runs SET epoch = epoch + 1 WHERE id = :id", id=run_id)
        return await action.answer(look)

    action = Elsewhere(looking=meanwhile, done={run_id})
    one = watcher(store, action)
    await one.run_once()

    assert (await run_of(store, run_id)).state is RunState.RUNNING
    assert one.meter.stale_writes == 1
    assert one.meter.finished == {}


async def test_a_result_that_cannot_be_stored_holds_up_no_other(store: Database) -> None:
    run_ids = await parked(store, 5)

    async def odd(look: ParkedRun) -> Outcome:
        if look.ctx.run_id == run_ids[0]:
            look.ctx.log("a line")
            return Parked(look.handle, SECOND, items=[object()])
        if look.ctx.run_id == run_ids[1]:
            return Parked({"not": object()}, SECOND)
        return Succeeded()

    await watcher(store, Elsewhere(looking=odd)).run_once()

    assert [(await run_of(store, run_id)).state for run_id in run_ids[2:]] == [RunState.SUCCESS] * 3
    assert (await run_of(store, run_ids[0])).parked
    lost = await run_of(store, run_ids[1])
    assert (lost.state, (lost.error or {})["code"]) == (RunState.DEAD_LETTER, "unrecordable")


# --- waking and leaving -----------------------------------------------------------------------------------------------


async def test_a_wake_brings_the_look_forward(store: Database) -> None:
    feed, clock, action = MemoryFeed(), stopped(), Elsewhere()
    one = watcher(store, action, clock, feed=feed, longest_rest=3600.0)
    loop = Loop(clock, feed)
    loop.start([one])
    try:
        async with asyncio.timeout(PATIENCE):
            while not loop.progress[one.name].rounds:
                await asyncio.sleep(0.01)
            (run_id,) = await parked(store)
            feed.wake(PARKED_TOPIC)
            await action.inside.wait()
    finally:
        one.close()
        await loop.stop()

    assert action.groups == [[run_id]]


async def test_whoever_leaves_puts_back_what_is_being_looked_at(store: Database) -> None:
    (run_id,) = await parked(store)

    async def hangs(_look: ParkedRun) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    action = Elsewhere(looking=hangs)
    one = watcher(store, action)
    round_ = asyncio.create_task(one.run_once())
    async with asyncio.timeout(PATIENCE):
        await action.inside.wait()
        one.close()
        watched = await round_

    assert (watched.looked, watched.failed) == (1, 0)
    row = await row_of(store, run_id)
    assert (row["poll_at"], row["lease_until"], row["handle"]) == (NOON, None, {"job": run_id, "looked": 0})
    assert await lines_of(store, run_id) == []
    assert (await one.run_once()).looked == 0, "nothing is looked at any more"
    other = Elsewhere(done={run_id})
    await watcher(store, other).run_once()
    assert (await run_of(store, run_id)).state is RunState.SUCCESS


async def test_an_action_that_lets_a_cancellation_slip_out_is_no_end_of_the_watcher(store: Database) -> None:
    (run_id,) = await parked(store)

    async def slips(_look: ParkedRun) -> Outcome:
        raise asyncio.CancelledError

    assert (await watcher(store, Elsewhere(looking=slips)).run_once()).failed == 1
    assert (await run_of(store, run_id)).parked
