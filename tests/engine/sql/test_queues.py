"""Queues in the store: what is said of them, and that nothing starts in a paused one, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import func, select

from foliot.db.database import Database
from foliot.engine.model.node import NodeRequest
from foliot.engine.model.queue import QueuePause
from foliot.engine.model.run import AttemptError, Failed, HandedBack, Succeeded
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.queues import SqlQueues
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.tables import runs
from foliot.testing import open_store
from tests.givens import LEASE, NOON, SECOND, ask, claim, finish, ready, request, row_of, sql, statements

FAILED = Failed(AttemptError("http_500", "no"))
LATER = NOON + 60 * SECOND


async def pause(store: Database, name: str = "default") -> None:
    async with store.begin() as tx:
        await SqlQueues(tx).close(name)
        await SqlQueues(tx).put(QueuePause(name, NOON, "root", "because"))


async def resume(store: Database, name: str = "default") -> None:
    async with store.begin() as tx:
        await SqlQueues(tx).forget_offers(name)
        await SqlQueues(tx).put(QueuePause(name))


async def started(store: Database) -> int:
    """How many runs were ever started."""
    async with store.read() as tx:
        return (await tx.conn.execute(select(func.count()).where(runs.c.started_at.is_not(None)))).scalar_one()


# --- what is said -----------------------------------------------------------------------------------------------------


async def test_what_is_said_of_a_queue_is_kept(store: Database) -> None:
    await pause(store, "scraping")
    await pause(store)
    await resume(store)

    async with store.read() as tx:
        assert list(await SqlQueues(tx).said()) == [
            QueuePause("default"),
            QueuePause("scraping", NOON, "root", "because"),
        ]
        assert await SqlQueues(tx).get("scraping") == QueuePause("scraping", NOON, "root", "because")
        assert await SqlQueues(tx).get("Scraping") == QueuePause("Scraping")


async def test_what_runs_is_counted_by_queue_and_tenant(store: Database) -> None:
    here = await ask(store, NOON, request(), request(queue="scraping"), request(tenant_id="globex"))
    await ask(store, NOON, request())
    await claim(store, NOON, *here)

    async with store.read() as tx:
        assert await SqlQueues(tx).in_flight() == {"default": 2, "scraping": 1}
        assert await SqlQueues(tx).in_flight("globex") == {"default": 1}


async def test_a_process_hears_the_last_wish_when_it_reports(store: Database) -> None:
    async with store.begin() as tx:
        assert await SqlRetention(tx).report("n1", "worker", NOON, NOON, {}) is None
        await SqlRetention(tx).wish("n1", NodeRequest.DRAIN)
        assert await SqlRetention(tx).report("n1", "worker", NOON, LATER, {}) is NodeRequest.DRAIN
        await SqlRetention(tx).wish("n1", NodeRequest.RESTART)
        assert await SqlRetention(tx).report("n1", "worker", NOON, LATER, {}) is NodeRequest.RESTART
        assert await SqlRetention(tx).report("n2", "worker", NOON, LATER, {}) is None


# --- paused -----------------------------------------------------------------------------------------------------------


async def test_no_run_of_a_paused_queue_is_picked_or_claimed(store: Database) -> None:
    paused = await ask(store, NOON, request(), request(tenant_id="globex"))
    others = await ask(store, NOON, request(queue="scraping"))

    await pause(store)

    assert await ready(store, NOON) == others
    assert [one.fence.run_id for one in await claim(store, NOON, *paused, *others)] == others
    assert (await row_of(store, paused[0]))["state"] == "queued"

    await resume(store)
    assert set(await ready(store, NOON)) == set(paused)
    assert len(await claim(store, NOON, *paused)) == 2


async def test_what_runs_when_its_queue_is_paused_ends_and_its_retry_waits(store: Database) -> None:
    good, bad = await ask(store, NOON, request(), request())
    first, second = sorted(await claim(store, NOON, good, bad), key=lambda one: one.fence.run_id == bad)

    await pause(store)
    await finish(store, first, Succeeded(), NOON)
    await finish(store, second, FAILED, NOON)

    assert (await row_of(store, good))["state"] == "success"
    assert await claim(store, LATER, bad) == []
    await resume(store)
    assert len(await claim(store, LATER, bad)) == 1


async def test_pausing_costs_the_claims_no_statement(store: Database) -> None:
    made = await ask(store, NOON, request(), request())
    await ready(store, NOON)
    await pause(store, "scraping")

    with statements(store) as seen:
        await ready(store, NOON)
        await claim(store, NOON, *made)

    assert len(seen) == 4, seen


async def test_a_run_is_offered_anew_whenever_it_gets_a_lane(store: Database) -> None:
    retried, back, waiting = await ask(store, NOON, request(), request(), request())
    assert (await row_of(store, retried))["offered_at"] is None
    async with store.begin() as tx:
        await tx.conn.execute(runs.update().values(offered_at=NOON))

    held = {one.fence.run_id: one for one in await claim(store, NOON, retried, back)}
    await finish(store, held[retried], FAILED, NOON)
    await finish(store, held[back], HandedBack(), NOON)

    assert (await row_of(store, retried))["offered_at"] is None
    assert (await row_of(store, back))["offered_at"] is None
    assert (await row_of(store, waiting))["offered_at"] is not None
    await resume(store)
    assert (await row_of(store, waiting))["offered_at"] is None


@pytest.mark.parametrize("wish", ["drain", "restart"])
async def test_wishes_are_few(wish: str, store: Database) -> None:
    async with store.begin() as tx:
        await SqlRetention(tx).report("n1", "worker", NOON, NOON, {})
    assert await sql(store, "UPDATE nodes SET wish = :wish WHERE id = 'n1'", wish=wish) == 1
    with pytest.raises(Exception, match=r"(?i)check|constraint"):
        await sql(store, "UPDATE nodes SET wish = 'dance' WHERE id = 'n1'")


# --- at once ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def several(url: str, count: int) -> AsyncIterator[Sequence[Database]]:
    """Processes that share a database."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_store(url)) for _ in range(count)]


async def test_a_pause_is_answered_after_the_claims_under_way(server_database_url: str) -> None:
    async with several(server_database_url, 3) as (worker, other, operator):
        mine, theirs = await ask(worker, NOON, request(), request())
        await pause(operator, "scraping")
        async with worker.begin() as tx:
            assert len(await SqlClaims(tx).claim([mine], "w1", LEASE, NOON)) == 1
            pausing = asyncio.create_task(pause(operator))
            done, _ = await asyncio.wait({pausing}, timeout=0.3)
            assert not done, "the claim is not written yet, so the pause cannot be"
        await pausing

        assert await claim(other, NOON, theirs) == []
        assert await started(other) == 1


async def test_a_claim_that_looked_before_the_pause_takes_nothing_after_it(
    server_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first statement may see the queue open and pass the gate only afterwards; its second one looks again."""
    async with several(server_database_url, 2) as (worker, operator):
        made = await ask(worker, NOON, request(), request(queue="scraping"))
        look = SqlClaims._let_through

        async def look_then_pause(claims: SqlClaims, rows: Sequence[Any], *rest: Any) -> Sequence[Any]:
            async with operator.begin() as tx:
                await SqlQueues(tx).put(QueuePause("default", NOON, "root", ""))
            return await look(claims, rows, *rest)

        monkeypatch.setattr(SqlClaims, "_let_through", look_then_pause)

        assert [one.fence.run_id for one in await claim(worker, NOON, *made)] == made[1:]
        assert (await row_of(worker, made[0]))["state"] == "queued"


async def test_whoever_claims_while_a_queue_is_being_paused_takes_nothing(server_database_url: str) -> None:
    async with several(server_database_url, 2) as (worker, operator):
        (run_id,) = await ask(worker, NOON, request())
        async with operator.begin() as tx:
            await SqlQueues(tx).close("default")
            claiming = asyncio.create_task(claim(worker, NOON, run_id))
            await asyncio.wait({claiming}, timeout=0.3)
            await SqlQueues(tx).put(QueuePause("default", NOON, "root", ""))

        assert await claiming == []
        assert (await row_of(worker, run_id))["state"] == "queued"


async def test_nothing_starts_after_a_pause_however_many_claim_at_once(server_database_url: str) -> None:
    async with several(server_database_url, 5) as (operator, *workers):
        made = await ask(operator, NOON, *(request() for _ in range(400)))
        await pause(operator, "scraping")
        going = True

        async def work(store: Database, mine: Sequence[str]) -> None:
            for run_id in mine:
                while going and not await claim(store, NOON, run_id):
                    await asyncio.sleep(0)

        working = [asyncio.create_task(work(one, made[at::4])) for at, one in enumerate(workers)]
        for _ in range(10):
            await asyncio.sleep(0.02)
            await pause(operator)
            before = await started(operator)
            await asyncio.sleep(0.03)
            assert await started(operator) == before
            await resume(operator)
        going = False
        await asyncio.gather(*working)
        assert await started(operator) > 10
