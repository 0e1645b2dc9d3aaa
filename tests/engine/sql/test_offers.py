"""Which runs lie with a broker, on every database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from foliot.commands.tenants_sql import SqlTenants, Tenant
from foliot.db.database import Database
from foliot.engine.model.queue import OfferedBatch, OfferedRun, PublishWindow
from foliot.engine.model.run import HandedBack
from foliot.engine.sql.offers import SqlOffers
from foliot.engine.sql.runs import SqlRuns
from tests.givens import MINUTE, NOON, SECOND, ask, claim, finish, request, row_of, sql

WIDE = PublishWindow(100)
OLD = 15 * SECOND


async def offer(
    store: Database,
    window: PublishWindow = WIDE,
    *,
    now: datetime = NOON,
    most: int = 1000,
    of: Callable[[str], PublishWindow] | None = None,
) -> OfferedBatch:
    async with store.begin() as tx:
        return await SqlOffers(tx).offer(now, now - OLD, of or (lambda _: window), most)


def ids(offered: OfferedBatch) -> list[str]:
    return [one.run_id for one in offered.runs]


async def test_a_run_is_offered_once_with_its_queue_and_urgency(store: Database) -> None:
    (run_id,) = await ask(store, NOON, request(queue="scraping", priority=3))

    first, second = await offer(store), await offer(store, now=NOON + SECOND)

    assert first.runs == [OfferedRun(run_id, "scraping", 3)]
    assert not second.runs
    assert (await row_of(store, run_id))["offered_at"] == NOON


async def test_waiting_makes_urgent(store: Database) -> None:
    await ask(store, NOON, request(priority=10))

    assert (await offer(store, now=NOON + 2 * MINUTE)).runs[0].priority == 6


async def test_what_nobody_claimed_is_offered_again_where_somebody_has_a_slot(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    await offer(store)
    later = NOON + 16 * SECOND

    without = await offer(store, PublishWindow(100, again=False), now=later)
    with_slots = await offer(store, now=later)

    assert (ids(without), ids(with_slots)) == ([], [run_id])


async def test_a_window_holds_no_more_than_it_says(store: Database) -> None:
    await ask(store, NOON, *(request() for _ in range(30)))

    first, second = await offer(store, PublishWindow(20)), await offer(store, PublishWindow(25))

    assert (len(first.runs), first.full) == (20, True)
    assert (len(second.runs), second.full) == (5, True)
    assert (await offer(store, PublishWindow(25))).full


async def test_what_was_lost_long_ago_fills_a_window_only_where_nobody_has_a_slot(store: Database) -> None:
    await ask(store, NOON, *(request() for _ in range(30)))
    await offer(store, PublishWindow(20))
    later = NOON + 16 * SECOND

    assert len((await offer(store, PublishWindow(20, again=False), now=later)).runs) == 0
    assert len((await offer(store, PublishWindow(20), now=later)).runs) == 20


async def test_each_queue_has_its_window_and_each_tenant_its_share(store: Database) -> None:
    await ask(store, NOON, *(request(tenant_id="flood") for _ in range(50)))
    await ask(store, NOON, *(request(tenant_id="quiet") for _ in range(5)))
    await ask(store, NOON, *(request(tenant_id="flood", queue="other") for _ in range(50)))

    offered = await offer(store, of=lambda queue: PublishWindow(10 if queue == "default" else 3))

    assert Counter(one.queue for one in offered.runs) == {"default": 10, "other": 3}
    async with store.read() as tx:
        found = [await SqlRuns(tx).get("quiet", one.run_id) for one in offered.runs if one.queue == "default"]
    assert sum(run is not None for run in found) == 5


async def test_the_most_urgent_are_offered_first(store: Database) -> None:
    await ask(store, NOON, *(request(priority=9) for _ in range(5)))
    urgent = await ask(store, NOON, *(request(priority=1) for _ in range(5)))

    assert set(ids(await offer(store, PublishWindow(5)))) == set(urgent)


async def test_two_schedulers_never_offer_the_same(store: Database) -> None:
    run_ids = await ask(store, NOON, *(request() for _ in range(60)))
    other = store if store.url.startswith("sqlite") else Database(store.url, bind_clock=True)

    offered = await asyncio.gather(*(offer(one) for one in (store, other, store, other)))
    if other is not store:
        await other.close()

    assert Counter(run_id for one in offered for run_id in ids(one)) <= Counter(run_ids)


async def test_a_mark_is_taken_back_only_by_who_carries_it(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    await offer(store)

    async with store.begin() as tx:
        stale = await SqlOffers(tx).take_back([run_id], NOON - SECOND)
        ours = await SqlOffers(tx).take_back([run_id], NOON)
        again = await SqlOffers(tx).take_back([run_id], NOON)

    assert (stale, ours, again) == (0, 1, 0)
    assert ids(await offer(store, now=NOON + SECOND)) == [run_id]


async def test_a_claimed_run_is_offered_no_more_until_it_is_handed_back(store: Database) -> None:
    (run_id,) = await ask(store, NOON)
    await offer(store)
    (claimed,) = await claim(store, NOON, run_id)
    meanwhile = await offer(store, now=NOON + MINUTE)

    await finish(store, claimed, HandedBack(), NOON + MINUTE)

    assert not meanwhile.runs
    assert ids(await offer(store, now=NOON + MINUTE)) == [run_id]


async def test_a_paused_queue_offers_nothing(store: Database) -> None:
    await ask(store, NOON, request(queue="scraping"))
    await sql(store, "INSERT INTO queues (name, paused_at) VALUES ('scraping', :at)", at=_stored(store))

    assert not (await offer(store)).runs


async def test_a_capped_tenant_is_offered_what_it_may_start(store: Database) -> None:
    async with store.begin() as tx:
        said = Tenant(tenant_id="capped", limits={"concurrent_runs": 3}, updated_by="root", updated_at=NOON)
        await SqlTenants(tx).put(said)
    await ask(store, NOON, *(request(tenant_id="capped") for _ in range(10)))

    first, second = await offer(store), await offer(store, now=NOON + SECOND)

    assert (len(first.runs), len(second.runs)) == (3, 0)


def _stored(store: Database) -> object:
    from foliot.db.metadata import moment_out

    return moment_out(store.dialect.name, NOON)
