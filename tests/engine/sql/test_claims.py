"""Runs pass from hand to hand, one attempt at a time, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from foliot.db.database import Database
from foliot.engine.attempts.conclusion import conclude
from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Fence, Lost, RunState, Succeeded
from foliot.engine.model.schedule import Overlap
from foliot.engine.model.views import ClaimedRun, PostponedRun
from foliot.engine.sql.claims import SHARES, SqlClaims
from foliot.engine.sql.due_schedules import SqlFiring
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import runs
from foliot.testing import open_store
from tests.givens import (
    HOUR,
    LEASE,
    MINUTE,
    NO_SPREAD,
    NOON,
    SECOND,
    ask,
    claim,
    finish,
    keep,
    new_version,
    ready,
    request,
    row_of,
    run_of,
    runs_of,
    schedule,
    spec,
    sql,
    statements,
    stopped,
    tick,
)

FAILED = Failed(AttemptError("http_500", "no"))


# --- the claim --------------------------------------------------------------------------------------------------------


async def test_a_claim_takes_the_run_and_counts_the_attempt(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(timeout_seconds=9, action={"kind": "probe", "url": "x"}))

    (claimed,) = await claim(store, NOON + SECOND, run_id)

    assert (claimed.fence.run_id, claimed.fence.epoch, claimed.attempt) == (run_id, 1, 1)
    assert (claimed.timeout_seconds, claimed.config, claimed.fault) == (9, {"kind": "probe", "url": "x"}, None)
    row = await row_of(store, run_id)
    wanted = {
        "state": "running",
        "lane": None,
        "epoch": 1,
        "attempt": 1,
        "token": claimed.fence.token,
        "worker": "w1",
        "lease_until": NOON + SECOND + LEASE,
        "started_at": NOON + SECOND,
        "attempt_at": NOON + SECOND,
        "event_seq": 2,
        "started_seq": 2,
    }
    assert {name: row[name] for name in wanted} == wanted


async def test_a_second_claim_gets_nothing_and_changes_nothing(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    await claim(store, NOON, run_id)
    before = await row_of(store, run_id)

    assert await claim(store, NOON + SECOND, run_id, worker="w2") == []
    assert await row_of(store, run_id) == before


async def test_many_workers_at_once_claim_each_run_once(server_database_url: str) -> None:
    async with open_store(server_database_url) as store:
        ids = await ask(store, NOON, *(request() for _ in range(40)))
        taken = await asyncio.gather(*(claim(store, NOON, *ids, worker=f"w{at}") for at in range(6)))

    claimed = [one.fence.run_id for some in taken for one in some]
    assert sorted(claimed) == sorted(ids)


async def test_what_cannot_be_claimed_is_not_claimed(store: Database) -> None:
    one = schedule(spec(overlap=Overlap.BUFFER_ONE))
    await keep(store, one)
    await tick(store, NOON)
    await tick(store, NOON + MINUTE)
    buffered = (await runs_of(store, one.id))[1]["id"]
    cancelled, retrying, future, ended = await ask(store, NOON, *(request() for _ in range(4)))
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([cancelled], NOON, "no longer wanted")
    (first,) = await claim(store, NOON, retrying)
    await finish(store, first, FAILED, NOON)
    (second,) = await claim(store, NOON, ended)
    await finish(store, second, Succeeded(), NOON)
    async with store.begin() as tx:
        await tx.conn.execute(update(runs).where(runs.c.id == future).values(ready_at=NOON + HOUR))

    waiting = (buffered, cancelled, retrying, future, ended)
    assert await claim(store, NOON + SECOND, *waiting, "run_unheard_of") == []
    assert not set(waiting) & set(await ready(store, NOON + SECOND))
    assert [one.fence.run_id for one in await claim(store, NOON + 12 * SECOND, *waiting)] == [retrying]
    assert [one.fence.run_id for one in await claim(store, NOON + HOUR, *waiting)] == [future]


async def test_a_claim_brings_the_version_the_run_was_made_by(store: Database) -> None:
    one = schedule(spec(retry=RetryPolicy(max_retries=7)))
    await keep(store, one)
    await tick(store, NOON)
    changed = replace(one, version=2, spec=spec(kind="other"), action={"kind": "other"})
    async with store.begin() as tx:
        await new_version(tx, changed)

    (claimed,) = await claim(store, NOON, *await ready(store, NOON))

    assert claimed.spec is not None
    assert replace(claimed.spec, trigger=one.spec.trigger) == one.spec
    assert (claimed.kind, claimed.config) == ("probe", one.action)
    assert claimed.max_attempts == 8


async def test_a_run_whose_version_is_damaged_is_claimed_with_its_fault(store: Database) -> None:
    one, gone = schedule(), schedule()
    await keep(store, one, gone)
    await tick(store, NOON)
    await sql(store, "UPDATE versions SET spec = 'rubbish' WHERE schedule_id = :id", id=one.id)
    await sql(store, "DELETE FROM versions WHERE schedule_id = :id", id=gone.id)

    claimed = {each.schedule_id: each for each in await claim(store, NOON, *await ready(store, NOON))}

    assert "is not JSON" in (claimed[one.id].fault or "")
    assert "no longer exists" in (claimed[gone.id].fault or "")
    assert claimed[one.id].spec is None


# --- order and fairness -----------------------------------------------------------------------------------------------


async def test_one_tenant_cannot_crowd_another_out(store: Database) -> None:
    await ask(store, NOON, *(request(tenant_id="crowd", priority=1) for _ in range(490)))
    few = await ask(store, NOON + MINUTE, *(request(tenant_id="few", priority=10) for _ in range(10)))

    picked = await ready(store, NOON + HOUR)

    assert len(picked) >= 60
    assert set(few) <= set(picked)


async def test_with_one_free_place_tenants_take_turns(store: Database) -> None:
    await ask(store, NOON, *(request(tenant_id="crowd") for _ in range(200)))
    await ask(store, NOON + MINUTE, *(request(tenant_id="few") for _ in range(200)))

    picked = [(await ready(store, NOON + HOUR, limit=1))[0] for _ in range(40)]

    async with store.read() as tx:
        served = {tenant for tenant in ("crowd", "few") for one in picked if await SqlRuns(tx).get(tenant, one)}
    assert served == {"crowd", "few"}


async def test_tenants_who_only_wait_do_not_hide_those_who_are_ready(store: Database) -> None:
    later = await ask(store, NOON + HOUR, *(request(tenant_id=f"a{at:03}") for at in range(SHARES + 20)))
    (now,) = await ask(store, NOON, request(tenant_id="zoe"))

    assert await ready(store, NOON, limit=10) == [now]
    assert set(await ready(store, NOON + HOUR, limit=500)) == {*later, now}


async def test_the_urgent_go_first_until_waiting_has_weighed_it_up(store: Database) -> None:
    (low,) = await ask(store, NOON, request(priority=10))
    (high,) = await ask(store, NOON + 4 * MINUTE, request(priority=1))
    (late,) = await ask(store, NOON + 5 * MINUTE, request(priority=1))
    (middle,) = await ask(store, NOON + 3 * MINUTE + SECOND, request(priority=5))

    # Each step of priority is worth 30 s: they stand at 12:04:00, 12:04:30, 12:05:00 and 12:05:01.
    assert await ready(store, NOON + HOUR) == [high, low, late, middle]


async def test_a_pick_keeps_to_its_queues_and_its_limit(store: Database) -> None:
    scraping = await ask(store, NOON, *(request(queue="scraping") for _ in range(3)))
    manual = await ask(store, NOON, *(request(queue="manual") for _ in range(3)))

    assert set(await ready(store, NOON, queues={"scraping"})) == set(scraping)
    assert set(await ready(store, NOON, queues={"scraping", "manual"})) == {*scraping, *manual}
    assert await ready(store, NOON, queues={"unheard_of"}) == []
    assert len(await ready(store, NOON, limit=4)) == 4


async def test_nothing_is_ready_before_its_time(store: Database) -> None:
    one = schedule(spec(jitter_seconds=3600))
    await keep(store, one)
    await tick(store, NOON)
    (run,) = await runs_of(store, one.id)

    assert await ready(store, run["ready_at"] - timedelta(microseconds=1)) == []
    assert await ready(store, run["ready_at"]) == [run["id"]]


# --- leases -----------------------------------------------------------------------------------------------------------


async def test_a_lease_is_renewed_by_its_holder_only(store: Database) -> None:
    mine, other, ended = await ask(store, NOON, *(request() for _ in range(3)))
    (held,) = await claim(store, NOON, mine)
    (theirs,) = await claim(store, NOON, other)
    (done,) = await claim(store, NOON, ended)
    await finish(store, done, Succeeded(), NOON)
    stale = replace(theirs.fence, token="tok_of_somebody_else")
    old = replace(held.fence, epoch=held.fence.epoch - 1)

    async with store.begin() as tx:
        assert await SqlClaims(tx).extend([held.fence, stale, done.fence], LEASE, NOON + 10 * SECOND) == {mine}
    async with store.begin() as tx:
        assert await SqlClaims(tx).extend([old], LEASE, NOON + 10 * SECOND) == set()

    assert (await row_of(store, mine))["lease_until"] == NOON + 10 * SECOND + LEASE
    assert (await row_of(store, other))["lease_until"] == NOON + LEASE


async def test_a_run_is_taken_back_when_its_lease_ran_out_and_not_before(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    (held,) = await claim(store, NOON, run_id)

    async with store.begin() as tx:
        assert await SqlClaims(tx).lock_expired(NOON + LEASE, 10) == []
        (expired,) = await SqlClaims(tx).lock_expired(NOON + LEASE + SECOND, 10)

    assert expired == held


async def test_a_lost_attempt_cannot_be_extended_or_finished_any_more(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    (held,) = await claim(store, NOON, run_id)
    later = NOON + LEASE + SECOND
    async with store.begin() as tx:
        (expired,) = await SqlClaims(tx).lock_expired(later, 10)
        await SqlClaims(tx).finish([conclude(expired, Lost(), later)], later)
    before = await row_of(store, run_id)

    async with store.begin() as tx:
        assert await SqlClaims(tx).extend([held.fence], LEASE, later) == set()
    finished = await finish(store, held, Succeeded({"late": True}), later)

    assert not finished.accepted
    assert finished.stale == {run_id}
    assert await row_of(store, run_id) == before
    assert before["state"] == "retrying"


async def test_a_cancelled_run_whose_worker_was_lost_does_not_take_its_late_success(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    (held,) = await claim(store, NOON, run_id)
    later = NOON + LEASE + SECOND
    async with store.begin() as tx:
        await SqlRuns(tx).cancel([run_id], NOON, "asked")
        (expired,) = await SqlClaims(tx).lock_expired(later, 10)
        await SqlClaims(tx).finish([conclude(expired, Lost(), later)], later)

    assert (await run_of(store, run_id)).state is RunState.CANCELLED
    assert (await finish(store, held, Succeeded(), later)).stale == {run_id}


async def test_the_epoch_rises_with_every_claim_and_never_falls(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(max_attempts=4))
    now, epochs, tokens = NOON, [], set()
    for _ in range(3):
        (held,) = await claim(store, now, run_id)
        epochs.append(held.fence.epoch)
        tokens.add(held.fence.token)
        await finish(store, replace(held, spec=spec(retry=NO_SPREAD)), FAILED, now)
        now += HOUR

    assert epochs == [1, 2, 3]
    assert len(tokens) == 3


async def test_asking_for_nothing_is_answered_with_nothing(store: Database) -> None:
    async with store.begin() as tx:
        assert await SqlClaims(tx).claim([], "w1", LEASE, NOON) == []
        assert await SqlClaims(tx).extend([], LEASE, NOON) == set()
        assert await SqlClaims(tx).cancels([]) == set()
        assert (await SqlClaims(tx).finish([], NOON)).accepted == frozenset()
        assert await SqlClaims(tx).release(NOON) == 0
        assert await SqlClaims(tx).ready(NOON, None, 10) == []


# --- the database's own clock -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
async def test_only_the_databases_clock_decides_about_leases_and_instants(
    server_database_url: str, ahead: timedelta
) -> None:
    async with open_store(server_database_url):
        store = Database(server_database_url)
    try:
        async with store.read() as tx:
            true = await SqlRetention(tx).time()
        wrong = true + ahead
        await keep(store, schedule(next_at=true + MINUTE))
        (run_id,) = await ask(store, true - 2 * HOUR)
        (held,) = await claim(store, wrong, run_id)

        async with store.begin() as tx:
            assert await SqlFiring(tx).lock_due(wrong, 10) == ([], None)
            assert await SqlClaims(tx).lock_expired(wrong, 10) == []
        until = (await row_of(store, run_id))["lease_until"]
        assert abs(until - true - LEASE) < 20 * SECOND
        assert isinstance(held.fence, Fence)
    finally:
        await store.close()


async def test_a_server_whose_clock_jumps_ahead_takes_no_run_from_its_worker(server_database_url: str) -> None:
    """Our clock holds the time from before the step: by that, the lease stands."""
    async with open_store(server_database_url):
        store = Database(server_database_url)
    try:
        async with store.read() as tx:
            stepped = await SqlRetention(tx).time()
        held = stepped - HOUR
        (run_id,) = await ask(store, held - HOUR)
        async with store.begin() as tx:
            assert await SqlClaims(tx).claim([run_id], "worker-1", -SECOND, held)

        async with store.begin() as tx:
            assert await SqlClaims(tx).lock_expired(held, 10) == []
            # Once the step is followed, only those that nobody renewed are taken back.
            assert len(await SqlClaims(tx).lock_expired(stepped + SECOND, 10)) == 1
    finally:
        await store.close()


async def test_while_a_step_of_the_server_is_held_our_own_clock_fires(server_database_url: str) -> None:
    async with open_store(server_database_url):
        store = Database(server_database_url)
    try:
        async with store.read() as tx:
            stepped_back = await SqlRetention(tx).time()
        held = stepped_back + HOUR
        await keep(store, schedule(next_at=held))

        async with store.begin() as tx:
            assert await SqlFiring(tx).lock_due(held, 10) == ([], None)
            ((due,), _) = await SqlFiring(tx).lock_due(held, 10, own_clock=True)
            assert due.next_at == held
    finally:
        await store.close()


async def test_a_lease_from_a_clock_that_was_ahead_does_not_outlive_the_clock(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    await claim(store, NOON + 24 * HOUR, run_id)

    async with store.begin() as tx:
        assert await SqlClaims(tx).lock_expired(NOON, 10) == []
        assert await SqlClaims(tx).lock_expired(NOON, 10, 25 * HOUR) == []
        (expired,) = await SqlClaims(tx).lock_expired(NOON, 10, HOUR)
    assert expired.fence.run_id == run_id


def test_a_stopped_clock_heeds_no_database() -> None:
    clock = stopped()
    clock.adjust(NOON + HOUR, 5.0)

    assert (clock.now(), clock.monotonic()) == (NOON, 1000.0)


# --- runs that are turned away ----------------------------------------------------------------------------------------


async def test_what_is_turned_away_waits_and_says_why_and_has_lost_no_attempt(store: Database) -> None:
    taken, off, left = await ask(store, NOON, request(), request(priority=3), request())
    until = NOON + 30 * SECOND
    before = {run_id: await row_of(store, run_id) for run_id in (off, left)}
    asked: list[str] = []

    def admit(claimed: Sequence[ClaimedRun]) -> dict[str, PostponedRun | None]:
        asked.extend(one.fence.run_id for one in claimed)
        return {off: PostponedRun(until, "waiting_target", "It is full."), left: None}

    async with store.begin() as tx:
        claimed = await SqlClaims(tx).claim([left, taken, off], "w1", LEASE, NOON + SECOND, None, admit)

    assert asked == [left, taken, off]
    assert [one.fence.run_id for one in claimed] == [taken]
    assert await row_of(store, left) == before[left]
    moved = {
        "ready_at": until,
        "order_key": until + 60 * SECOND,
        "due_at": NOON,
        "waiting": {"code": "waiting_target", "message": "It is full."},
    }
    assert await row_of(store, off) == {**before[off], **moved}
    assert (await run_of(store, off)).waiting == moved["waiting"]
    assert await ready(store, NOON + 2 * SECOND) == [left]

    (again,) = await claim(store, until, off)
    assert (again.attempt, again.fence.epoch) == (1, 1)
    view = await run_of(store, off)
    assert (view.waiting, view.due_at, view.started_at) == (None, NOON, until)


async def test_turning_many_away_is_one_statement_and_turning_none_away_is_none(store: Database) -> None:
    run_ids = await ask(store, NOON, *(request() for _ in range(40)))

    def some(claimed: Sequence[ClaimedRun]) -> dict[str, PostponedRun | None]:
        return {one.fence.run_id: PostponedRun(NOON + MINUTE, "waiting_target", "full") for one in claimed[10:]}

    async with store.begin() as tx:
        # The caps of tenants are read once in a while.
        await SqlClaims(tx).claim(run_ids[:1], "w1", LEASE, NOON, "tok_0")
        with statements(store) as plain:
            await SqlClaims(tx).claim(run_ids[1:5], "w1", LEASE, NOON, "tok_1")
        with statements(store) as none:
            await SqlClaims(tx).claim(run_ids[5:10], "w1", LEASE, NOON, "tok_2", lambda _: {})
        with statements(store) as many:
            await SqlClaims(tx).claim(run_ids[10:], "w1", LEASE, NOON, "tok_3", some)

    assert len(none) == len(plain)
    assert len(many) == len(plain) + 1
