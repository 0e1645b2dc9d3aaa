"""After an outage, what is owed is released at the tenant's rate, behind what is on time, on every database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select

from foliot.core.time.trigger import Cron
from foliot.db.database import Database
from foliot.engine.model.run import AttemptError, Failed, Succeeded
from foliot.engine.model.schedule import Catchup, CatchupMode, Overlap, Schedule
from foliot.engine.model.settle import settle
from foliot.engine.model.views import PostponedRun
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.due_schedules import CatchupRates, SqlFiring
from foliot.engine.sql.tables import runs, tenants
from tests.engine.sql.test_firing import ticker
from tests.givens import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    TENANT,
    catch_up,
    claim,
    finish,
    keep,
    ready,
    schedule,
    spec,
    statements,
)

LATE = NOON + 3 * HOUR + 30 * MINUTE
BEHIND = timedelta(seconds=270)
AN_HOUR_AGO = Catchup(CatchupMode.LATEST, window_seconds=7200)


def hourly(number: int, tenant_id: str = TENANT, **changes: Any) -> list[Schedule]:
    one = spec(Cron("0 * * * *", "UTC"), catchup=AN_HOUR_AGO, **changes)
    return [schedule(one, tenant_id=tenant_id) for _ in range(number)]


async def owed(store: Database, tenant_id: str = TENANT) -> list[Any]:
    async with store.read() as tx:
        columns = (runs.c.ready_at, runs.c.order_key, runs.c.catchup, runs.c.priority, runs.c.queue)
        query = select(*columns).where(runs.c.tenant_id == tenant_id).order_by(runs.c.ready_at, runs.c.id)
        return list((await tx.conn.execute(query)).all())


async def test_what_is_owed_begins_at_the_rate_of_its_tenant_and_queue(store: Database) -> None:
    store.caches[CatchupRates] = CatchupRates(default=60)
    await keep(store, *hourly(5), *hourly(2, queue="mail"), *hourly(3, "globex"))

    await ticker(store, LATE).run_once()

    found = await owed(store)
    assert all(one.catchup for one in found)
    assert [one.ready_at for one in found if one.queue == "default"] == [LATE + place * SECOND for place in range(5)]
    assert [one.ready_at for one in found if one.queue == "mail"] == [LATE, LATE + SECOND]
    assert [one.ready_at for one in await owed(store, "globex")] == [LATE + place * SECOND for place in range(3)]


async def test_later_batches_go_on_behind_those_that_wait(store: Database) -> None:
    store.caches[CatchupRates] = CatchupRates(default=60)
    await keep(store, *hourly(6))

    await ticker(store, LATE, batch=2).run_once()
    await ticker(store, LATE, batch=2).run_once()
    await ticker(store, LATE, batch=2).run_once()

    assert [one.ready_at for one in await owed(store)] == [LATE + place * SECOND for place in range(6)]


async def test_a_tenant_has_a_rate_of_its_own_or_none(store: Database) -> None:
    store.caches[CatchupRates] = CatchupRates(default=60)
    own = {
        "tenant_id": "globex",
        "limits": {"catchup_rate": None},
        "egress_allow": [],
        "updated_by": "ops",
        "updated_at": NOON,
    }
    async with store.begin() as tx:
        await tx.conn.execute(insert(tenants).values(**own))
        await tx.conn.execute(insert(tenants).values({**own, "tenant_id": TENANT, "limits": {"catchup_rate": 6}}))
    await keep(store, *hourly(2), *hourly(2, "globex"))

    await ticker(store, LATE).run_once()

    assert [one.ready_at for one in await owed(store)] == [LATE, LATE + 10 * SECOND]
    assert [one.ready_at for one in await owed(store, "globex")] == [NOON + 3 * HOUR] * 2


async def test_what_is_on_time_begins_at_once_and_before_what_is_owed(store: Database) -> None:
    await keep(store, *hourly(1), schedule(spec(Cron("30 15 * * *", "UTC")), next_at=LATE))

    await ticker(store, LATE).run_once()

    late, on_time = sorted(await owed(store), key=lambda one: not bool(one.catchup))
    assert (bool(late.catchup), bool(on_time.catchup)) == (True, False)
    assert on_time.order_key < late.order_key
    assert late.order_key - LATE == BEHIND
    assert late.priority == on_time.priority


async def test_a_tick_that_catches_up_is_still_a_handful_of_statements(store: Database) -> None:
    """The first one of a tenant also makes the row that is locked, and reads the tenants' rates."""
    store.caches[CatchupRates] = CatchupRates(default=600)
    await keep(store, *hourly(1))
    await ticker(store, LATE).run_once()
    await keep(store, *hourly(1000))

    with statements(store) as seen:
        ticked = await ticker(store, LATE).run_once()

    assert ticked.runs == 1000
    assert len(seen) <= 8, seen


async def test_neither_a_retry_nor_a_postponement_moves_the_pace_or_lifts_the_priority(store: Database) -> None:
    store.caches[CatchupRates] = CatchupRates(default=60)
    await keep(store, *hourly(2))
    await ticker(store, LATE).run_once()
    tried, put_off = await ready(store, LATE + SECOND)
    until = LATE + HOUR
    full = PostponedRun(until, "waiting_target", "It is full.")

    (claimed,) = await claim(store, LATE + SECOND, tried)
    await finish(store, claimed, Failed(AttemptError("late", "It failed."), retry_after=HOUR), LATE + SECOND)
    async with store.begin() as tx:
        await SqlClaims(tx).claim([put_off], "w1", MINUTE, LATE + SECOND, None, lambda _: {put_off: full})
    await keep(store, *hourly(1))
    await ticker(store, LATE + SECOND).run_once()

    new, *moved = await owed(store)
    assert new.ready_at == LATE + 2 * SECOND
    assert {one.ready_at for one in moved} == {until, until + SECOND}
    assert [one.order_key - one.ready_at for one in moved] == [BEHIND, BEHIND]


async def test_a_buffered_run_counts_for_the_pace_and_stays_behind_when_it_is_released(store: Database) -> None:
    store.caches[CatchupRates] = CatchupRates(default=60)
    both = spec(Cron("0 * * * *", "UTC"), catchup=catch_up(max_runs=2), overlap=Overlap.BUFFER_ALL)
    await keep(store, schedule(both))
    await ticker(store, LATE).run_once()
    await keep(store, *hourly(1))
    await ticker(store, LATE).run_once()
    assert [one.ready_at for one in await owed(store)] == [LATE, LATE + SECOND, LATE + 2 * SECOND]

    (first,) = await ready(store, LATE)
    (claimed,) = await claim(store, LATE, first)
    await finish(store, claimed, Succeeded(), LATE + MINUTE)

    released = (await owed(store))[-1]
    assert (released.ready_at, released.order_key) == (LATE + MINUTE, LATE + MINUTE + BEHIND)


async def test_rates_that_are_read_for_one_tenant_are_not_kept_for_all(store: Database) -> None:
    rates = store.caches[CatchupRates] = CatchupRates(default=60)
    (one,) = hourly(1)
    await keep(store, one)

    async with store.begin(TENANT) as tx:
        due = await SqlFiring(tx).lock_one(one.id)
        assert due is not None
        assert (await SqlFiring(tx).record([settle(due, LATE)], LATE)).runs == 1

    assert rates.read_at is None
    await keep(store, *hourly(1))
    await ticker(store, LATE).run_once()
    assert rates.read_at == LATE
