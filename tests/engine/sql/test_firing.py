"""Due schedules become runs, once, on every database."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from foliot.core.time.trigger import Cron, FixedInterval, OneOff
from foliot.db.database import Database
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap, Schedule, ScheduleStatus
from foliot.engine.model.settle import settle
from foliot.engine.node_reporter import EngineCounters
from foliot.engine.ready_times import ReadyTimes
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import CatchupRates, SqlFiring
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.ticker import Ticked, Ticker
from foliot.wakeups.feed import RUNS_TOPIC, MemoryFeed
from tests.givens import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    TENANT,
    ask,
    claim,
    due,
    keep,
    ledger_of,
    request,
    runs_of,
    schedule,
    schedule_row,
    spec,
    sql,
    statements,
    stopped,
    tick,
)


def ticker(store: Database, now: datetime = NOON, batch: int = 1000, feed: MemoryFeed | None = None) -> Ticker:
    return Ticker(
        clock=stopped(now),
        store=store,
        feed=feed or MemoryFeed(),
        meter=EngineCounters(),
        alarm=ReadyTimes(),
        batch=batch,
        longest_rest=1.0,
    )


# --- what is due ------------------------------------------------------------------------------------------------------


async def test_what_is_due_is_locked_oldest_first_and_nothing_else(store: Database) -> None:
    late, now, soon, paused = (
        schedule(next_at=NOON - HOUR),
        schedule(),
        schedule(next_at=NOON + SECOND),
        schedule(next_at=None, status=ScheduleStatus.PAUSED),
    )
    await keep(store, now, late, soon, paused)

    async with store.begin() as tx:
        found, _ = await SqlFiring(tx).lock_due(NOON, 10)
        assert [one.id for one in found] == [late.id, now.id]
        assert [one.id for one in (await SqlFiring(tx).lock_due(NOON, 1))[0]] == [late.id]
        assert await SqlFiring(tx).next_due() == NOON - HOUR
    assert found[1] == replace(due(now.spec), id=now.id)


async def test_nothing_is_due_where_nothing_is(store: Database) -> None:
    async with store.begin() as tx:
        assert await SqlFiring(tx).lock_due(NOON, 10) == ([], None)
        assert await SqlFiring(tx).open_runs([]) == {}
        assert await SqlFiring(tx).next_due() is None
        assert (await SqlFiring(tx).record([], NOON)).runs == 0


async def test_one_schedule_is_locked_by_name_due_or_not(store: Database) -> None:
    soon, ended = schedule(next_at=NOON + HOUR), schedule(next_at=None, status=ScheduleStatus.COMPLETED)
    await keep(store, soon, ended)

    async with store.begin() as tx:
        one = await SqlFiring(tx).lock_one(soon.id)
        assert one is not None
        assert one.next_at == NOON + HOUR
        assert await SqlFiring(tx).lock_one(ended.id) is None
        assert await SqlFiring(tx).lock_one("sch_unheard_of") is None


async def test_what_another_scheduler_holds_is_skipped_not_waited_for(server_database_url: str) -> None:
    from foliot.testing import open_store

    async with open_store(server_database_url) as store:
        await keep(store, *(schedule() for _ in range(3)))
        async with store.begin() as first, store.begin() as second:
            mine, _ = await SqlFiring(first).lock_due(NOON, 2)
            others, _ = await SqlFiring(second).lock_due(NOON, 10)

    assert len(mine) == 2
    assert len(others) == 1
    assert not {one.id for one in mine} & {one.id for one in others}


# --- what is written --------------------------------------------------------------------------------------------------


async def test_a_run_carries_what_its_schedule_said(store: Database) -> None:
    one = schedule(spec(queue="scraping", priority=3, timeout_seconds=7, jitter_seconds=30))
    await keep(store, one)

    await tick(store, NOON)

    (run,) = await runs_of(store, one.id)
    wanted = {
        "tenant_id": TENANT,
        "user_id": "ada",
        "version": 1,
        "kind": "probe",
        "origin": "instant",
        "state": "queued",
        "scheduled_for": NOON,
        "ready_at": one.spec.ready_at(one.id, NOON),
        "queue": "scraping",
        "lane": "scraping",
        "open_of": one.id,
        "buffered_of": None,
        "priority": 3,
        "order_key": one.spec.ready_at(one.id, NOON) + 2 * timedelta(seconds=30),
        "attempt": 0,
        "max_attempts": 4,
        "timeout_seconds": 7,
        "epoch": 0,
        "event_seq": 1,
        "created_at": NOON,
    }
    assert {name: run[name] for name in wanted} == wanted


async def test_moments_are_kept_to_the_microsecond(store: Database) -> None:
    at = NOON.replace(microsecond=123_457)
    one = schedule(spec(OneOff(at)), next_at=at)
    await keep(store, one)

    await tick(store, at)

    assert [run["scheduled_for"] for run in await runs_of(store, one.id)] == [at]


async def test_the_cursor_moves_on_and_remembers(store: Database) -> None:
    one = schedule()
    await keep(store, one)

    await tick(store, NOON)

    row = await schedule_row(store, one.id)
    assert (row["next_at"], row["fired"], row["last_run_at"]) == (NOON + MINUTE, 1, NOON)
    assert await tick(store, NOON) == []


async def test_equal_gaps_grow_into_one_line_over_many_ticks(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.SKIP))
    await keep(store, one)

    for at in range(6):
        await tick(store, NOON + at * MINUTE)

    assert len(await runs_of(store, one.id)) == 1
    assert await ledger_of(store, one.id) == [
        LedgerEntry(NOON + MINUTE, NOON + 5 * MINUTE, 5, LedgerKind.SKIPPED, LedgerReason.OVERLAP),
    ]


async def test_a_completed_schedule_closes_its_span_where_it_ended(store: Database) -> None:
    limited, once = schedule(spec(max_runs=1)), schedule(spec(OneOff(NOON)))
    await keep(store, limited, once)

    await tick(store, NOON + 5 * SECOND)

    async with store.read() as tx:
        (of_limited,), (of_once,) = await SqlSchedules(tx).spans(limited.id), await SqlSchedules(tx).spans(once.id)
        assert (of_limited.end, of_once.end) == (NOON, NOON + 5 * SECOND)
        for one in (limited, once):
            found = await SqlSchedules(tx).get(TENANT, one.id)
            assert found is not None
            assert (found.status, found.next_at, found.fired) == (ScheduleStatus.COMPLETED, None, 1)


async def test_a_buffered_run_waits_outside_every_lane(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.BUFFER_ALL))
    await keep(store, one)

    await tick(store, NOON)
    await tick(store, NOON + MINUTE)

    first, second = await runs_of(store, one.id)
    assert (first["lane"], first["buffered_of"]) == ("default", None)
    assert (second["lane"], second["buffered_of"], second["open_of"]) == (None, one.id, one.id)


async def test_runs_that_people_asked_for_count_as_open(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.SKIP))
    await keep(store, one)
    await ask(store, NOON, request(schedule_id=one.id, version=1))

    (plan,) = await tick(store, NOON)

    assert plan.runs == []
    assert [entry.reason for entry in plan.ledger] == [LedgerReason.OVERLAP]


async def test_cancel_other_asks_the_running_one_and_ends_the_waiting_one(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.CANCEL_OTHER))
    await keep(store, one)
    running, waiting = await ask(store, NOON, *(request(schedule_id=one.id, version=1) for _ in range(2)))
    await claim(store, NOON, running)

    await tick(store, NOON)

    runs = {run["id"]: run for run in await runs_of(store, one.id)}
    assert (runs[running]["state"], runs[running]["cancel_requested"]) == ("running", True)
    assert runs[waiting]["state"] == "cancelled"
    (new,) = (run for run in runs.values() if run["scheduled_for"] == NOON)
    assert new["buffered_of"] == one.id


async def test_terminate_other_cuts_the_running_one_off_at_once(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.TERMINATE_OTHER))
    await keep(store, one)
    (running,) = await ask(store, NOON, request(schedule_id=one.id, version=1))
    (claimed,) = await claim(store, NOON, running)

    await tick(store, NOON)

    runs = {run["id"]: run for run in await runs_of(store, one.id)}
    assert (runs[running]["state"], runs[running]["lease_until"]) == ("cancelled", None)
    assert runs[running]["epoch"] == claimed.fence.epoch + 1
    (new,) = (run for run in runs.values() if run["scheduled_for"] == NOON)
    assert (new["state"], new["lane"]) == ("queued", "default")


# --- once -------------------------------------------------------------------------------------------------------------


async def test_a_plan_made_twice_is_written_once(store: Database) -> None:
    one = schedule()
    await keep(store, one)
    async with store.read() as tx:
        (locked,), _ = await SqlFiring(tx).lock_due(NOON, 1)
    plan = settle(locked, NOON)
    async with store.begin() as tx:
        await SqlFiring(tx).record([plan], NOON)

    with pytest.raises(RuntimeError, match="cursors moved"):
        async with store.begin() as tx:
            await SqlFiring(tx).record([plan], NOON)

    assert len(await runs_of(store, one.id)) == 1
    assert (await schedule_row(store, one.id))["fired"] == 1


async def test_the_database_refuses_a_second_run_for_an_instant_even_when_the_cursor_was_moved_back(
    store: Database,
) -> None:
    one = schedule()
    await keep(store, one)
    await tick(store, NOON)
    await sql(store, "UPDATE schedules SET next_at = last_run_at")

    with pytest.raises(IntegrityError):
        await tick(store, NOON)

    assert len(await runs_of(store, one.id)) == 1


async def test_many_schedulers_at_once_make_each_run_once(server_database_url: str) -> None:
    from foliot.testing import open_store

    async with open_store(server_database_url) as store:
        made = [schedule(spec(FixedInterval(10, NOON))) for _ in range(60)]
        await keep(store, *made)
        now = NOON + 25 * SECOND

        async def goes_on() -> int:
            total = 0
            tick_ = ticker(store, now, batch=7)
            while (ticked := await tick_.run_once()).settled:
                total += ticked.runs
            return total

        totals = await asyncio.gather(*(goes_on() for _ in range(5)))

        assert sum(totals) == 180
        for one in made[:5]:
            assert [run["scheduled_for"] for run in await runs_of(store, one.id)] == [
                NOON,
                NOON + 10 * SECOND,
                NOON + 20 * SECOND,
            ]


# --- a handful of statements ------------------------------------------------------------------------------------------

AHEAD = NOON + 3 * MINUTE


def many(count: int) -> list[Schedule]:
    """All that can happen in one tick, side by side."""
    kinds = [
        spec(),
        spec(Cron("* * * * *", "Europe/Berlin")),
        spec(overlap=Overlap.SKIP),
        spec(overlap=Overlap.BUFFER_ALL),
        spec(overlap=Overlap.CANCEL_OTHER),
        spec(overlap=Overlap.TERMINATE_OTHER),
        spec(catchup=Catchup(CatchupMode.NONE)),
        spec(max_runs=1),
        spec(OneOff(NOON)),
        spec(jitter_seconds=60),
    ]
    return [schedule(kinds[at % len(kinds)], tenant_id=f"tenant_{at % 7}") for at in range(count)]


async def test_a_tick_of_a_thousand_plain_schedules_is_a_handful_of_statements(store: Database) -> None:
    await keep(store, *(schedule() for _ in range(1000)))

    with statements(store) as seen:
        ticked = await ticker(store).run_once()

    assert (ticked.settled, ticked.runs) == (1000, 1000)
    assert len(seen) <= 8, "\n".join(seen)


async def test_a_tick_of_a_thousand_in_which_everything_happens_is_a_handful_of_statements(store: Database) -> None:
    made = many(1000)
    await keep(store, *made)
    replacing = [one for one in made if one.spec.overlap in {Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER}]
    running = await ask(
        store, NOON, *(request(schedule_id=one.id, version=1, tenant_id=one.tenant_id) for one in replacing)
    )
    await claim(store, NOON, *running)
    await sql(store, "UPDATE schedules SET spec = '{' WHERE id = :id", id=made[0].id)

    one = ticker(store, AHEAD)
    # The rates of tenants are read once in five seconds.
    store.caches[CatchupRates] = CatchupRates(read_at=AHEAD)

    with statements(store) as seen:
        ticked = await one.run_once()

    assert ticked.settled == 1000
    # The runs that are replaced are locked and counted; PostgreSQL writes all counts with one statement.
    assert len(seen) <= (10 if store.dialect.name == "postgresql" else 14), "\n".join(seen)
    async with store.read() as tx:
        counts = await SqlRetention(tx).counts()
        assert counts["schedules"] == {"active": 800, "completed": 200}
        assert await tx.conn.scalar(text("SELECT count(*) FROM runs WHERE state = 'cancelled'")) == 100
        assert len(await SqlSchedules(tx).faults(10)) == 1
        assert len(await SqlClaims(tx).cancels(running)) == 200  # asked to stop, and cut off
    assert sum(entry.count for entry in await ledger_of(store, made[6].id)) == 3


# --- the ticker -------------------------------------------------------------------------------------------------------


async def test_the_ticker_sleeps_until_the_nearest_instant(store: Database) -> None:
    await keep(store, schedule(next_at=NOON + 0.25 * SECOND), schedule(next_at=NOON + HOUR))

    assert (await ticker(store).run_once()) == Ticked(0, 0, 0.25)
    assert (await ticker(store, NOON + 0.25 * SECOND).run_once()).rest == 1.0


async def test_a_full_batch_means_there_may_be_more(store: Database) -> None:
    await keep(store, *(schedule() for _ in range(5)))
    one = ticker(store, batch=3)

    assert [(await one.run_once()).settled for _ in range(3)] == [3, 2, 0]


async def test_the_ticker_wakes_the_dispatcher_only_when_it_made_runs(store: Database) -> None:
    feed = MemoryFeed()
    await keep(store, schedule())
    one = ticker(store, feed=feed)
    async with feed.listen(RUNS_TOPIC) as dispatcher:
        await one.run_once()
        assert await dispatcher.wait(0)
        await one.run_once()
        assert not await dispatcher.wait(0)
    assert one.meter.fired == 1


async def test_the_ticker_sets_the_alarm_for_runs_that_jitter_moved(store: Database) -> None:
    one = schedule(spec(jitter_seconds=3600))
    await keep(store, one)
    ticks = ticker(store)

    await ticks.run_once()

    wait = (one.spec.ready_at(one.id, NOON) - NOON).total_seconds()
    assert wait <= ticks.alarm.rest(NOON, 9999.0) < wait + 0.02


@pytest.mark.parametrize(
    ("catchup", "runs", "missed"),
    [
        (Catchup(CatchupMode.NONE), 1, 120),
        (Catchup(CatchupMode.LATEST), 2, 119),
        (Catchup(CatchupMode.ALL), 11, 110),
        (Catchup(CatchupMode.ALL, max_runs=1000), 61, 60),
        (Catchup(CatchupMode.ALL, max_runs=1000, window_seconds=86_400), 121, 0),
    ],
)
async def test_each_catch_up_gives_its_declared_number_of_runs(
    store: Database, catchup: Catchup, runs: int, missed: int
) -> None:
    one = schedule(spec(catchup=catchup))
    await keep(store, one)

    await ticker(store, NOON + 2 * HOUR).run_once()

    made = [run["scheduled_for"] for run in await runs_of(store, one.id)]
    assert made == [NOON + 2 * HOUR - at * MINUTE for at in reversed(range(runs))]
    assert sum(entry.count for entry in await ledger_of(store, one.id)) == missed


# --- damage -----------------------------------------------------------------------------------------------------------

RAW = json.loads(spec().dump())
DAMAGES = {
    "not JSON": "\x01 rubbish",
    "cut off": spec().dump()[:40],
    "another type": "[1, 2, 3]",
    "bottomless": "[" * 100_000,
    "an unknown zone": json.dumps({**RAW, "trigger": {**RAW["trigger"], "timezone": "Mars/Olympus"}}),
    "words for numbers": json.dumps({**RAW, "priority": "high"}),
    "an unknown policy": json.dumps({**RAW, "overlap": "perhaps"}),
    "a bad expression": json.dumps({**RAW, "trigger": {"type": "cron", "cron_expr": "99 * * * *", "timezone": "UTC"}}),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_row_silences_only_itself(store: Database, damage: str) -> None:
    bad, good = schedule(next_at=NOON - MINUTE), schedule()
    await keep(store, bad, good)
    await sql(store, "UPDATE schedules SET spec = :spec WHERE id = :id", spec=DAMAGES[damage], id=bad.id)

    ticked = await ticker(store).run_once()

    assert (ticked.settled, ticked.runs) == (2, 1)
    assert len(await runs_of(store, good.id)) == 1
    row = await schedule_row(store, bad.id)
    assert (row["status"], row["next_at"], row["fault_next_at"]) == ("active", None, NOON - MINUTE)
    assert row["fault"]
    async with store.read() as tx:
        assert await SqlSchedules(tx).faults(10) == [(bad.id, row["fault"])]
        shown = await SqlSchedules(tx).get(TENANT, bad.id)
        assert shown is not None
        assert shown.fault == row["fault"]
    assert (await ticker(store, NOON + MINUTE).run_once()).settled == 1


@pytest.mark.parametrize("damage", ["soon", "", "2027-01-04", "2027-01-04 12:00:00", "2027-13-04 12:00:00.000000"])
async def test_no_database_takes_a_moment_that_cannot_be_read(store: Database, damage: str) -> None:
    one = schedule()
    await keep(store, one)
    # Written out: some drivers would refuse any text for a moment, and the database would not be asked.
    write = "UPDATE schedules SET next_at = '{}' WHERE id = :id"
    with suppress(Exception):  # each database says no in its own words
        await sql(store, write.format(damage), id=one.id)
    assert (await schedule_row(store, one.id))["next_at"] in {NOON, NOON.replace(hour=0)}
    assert (await ticker(store).run_once()).runs >= 1
    assert await sql(store, write.format("2027-01-04 12:34:56.000000"), id=one.id) == 1, "what can be read is taken"


async def test_a_cursor_that_was_moved_back_silences_only_its_own_schedule(store: Database) -> None:
    bad, good = schedule(), schedule()
    await keep(store, bad, good)
    await tick(store, NOON)
    await sql(store, "UPDATE schedules SET next_at = last_run_at WHERE id = :id", id=bad.id)

    ticked = await ticker(store, NOON + MINUTE).run_once()

    assert ticked.runs == 1
    assert len(await runs_of(store, bad.id)) == 1
    assert len(await runs_of(store, good.id)) == 2
    row = await schedule_row(store, bad.id)
    assert (row["next_at"], row["fault_next_at"]) == (None, NOON)
    assert "could not be settled" in row["fault"]
    assert [run["state"] for run in await runs_of(store, bad.id)] == [RunState.QUEUED]
