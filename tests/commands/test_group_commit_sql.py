"""Requests of the same moment on every database: written by a few statements, and each of them as if it were alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from foliot.commands.audit_sql import SqlAuditLog, trail
from foliot.commands.group_commit import SMALL
from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL
from foliot.core.errors import Conflict, NotFound, TooMany
from foliot.core.ids import SCHEDULE, new_id
from foliot.core.limits import TenantLimits
from foliot.engine.model.views import PageRequest, RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.engine.sql.tables import runs
from foliot.features.audit_log.chain import ChainVerifier
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.crawls.sql import crawl_requests
from foliot.features.crawls.usecases import CrawlAnswer, Crawls
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import open_store
from tests.givens import statements
from tests.world import HOURLY, World

MINE = LOCAL.tenant_id


async def crawl(world: World, number: int, **changes: Any) -> CrawlAnswer:
    asked = {"user_id": "ada", "spider": "seo", "start_urls": [f"https://example.com/{number}"], "depth": 2}
    return await world.cases[Crawls].request(LOCAL, {**asked, **changes})


async def count(world: World, table: Any) -> int:
    async with world.store.read() as tx:
        return int((await tx.conn.execute(select(func.count()).select_from(table))).scalar_one())


async def read(world: World, run_id: str) -> RunView:
    async with world.store.read(MINE) as tx:
        found = await SqlRuns(tx).get(MINE, run_id)
    assert found is not None
    return found


async def warmed(world: World) -> None:
    """What is asked once for each process, and the tenant's limits."""
    await crawl(world, -1)


# --- crawls -----------------------------------------------------------------------------------------------------------


async def test_a_crawl_that_nobody_asked_for_takes_a_handful_of_statements(world: World) -> None:
    await warmed(world)

    with statements(world.store) as seen:
        await crawl(world, 1)

    # The claim, and a look whose it is where it cannot say so; run and trail. The wall comes with BEGIN.
    assert len(seen) == {"postgresql": 2, "sqlite": 4, "mysql": 4}[world.store.dialect.name], seen


async def test_fifty_crawls_of_one_moment_take_as_many_statements_as_one(world: World) -> None:
    await warmed(world)

    with statements(world.store) as seen:
        made = await asyncio.gather(*(crawl(world, number) for number in range(50)))

    assert len(seen) <= 4, seen
    assert len({one.job_id for one in made}) == 50
    assert all(one.cached_at is None for one in made)
    assert (await count(world, runs), await count(world, crawl_requests), await count(world, trail)) == (51, 51, 51)


async def test_what_was_asked_for_here_before_is_looked_for_and_not_written(world: World) -> None:
    first = await crawl(world, 1)

    with statements(world.store) as seen:
        again = await crawl(world, 1)

    assert again.job_id == first.job_id
    assert not [one for one in seen if one.startswith(("INSERT", "UPDATE", "DELETE", "WITH"))]


async def test_what_is_answered_is_what_is_read_afterwards(world: World) -> None:
    made = await crawl(world, 1, params={"lang": "en", "deep": {"list": [1, 2.5, None]}}, priority=2)

    assert made.run == await read(world, made.job_id)


async def test_equal_and_different_requests_of_one_moment_have_a_job_for_each_that_differs(world: World) -> None:
    made = await asyncio.gather(*(crawl(world, number % 5) for number in range(25)))

    assert len({one.job_id for one in made}) == 5
    assert sum(one.cached_at is None for one in made) == 5
    assert await count(world, runs) == 5


async def test_two_processes_that_ask_for_the_same_many_make_each_once(server_database_url: str) -> None:
    async with open_store(server_database_url) as store, open_store(server_database_url) as other:
        one, two = World.on(store), World.on(other)
        made = await asyncio.gather(
            *(crawl(one, number) for number in range(40)), *(crawl(two, number) for number in reversed(range(40)))
        )

        assert len({each.job_id for each in made}) == 40
        assert sum(each.cached_at is None for each in made) == 40
        assert await count(one, runs) == 40


async def test_a_poisoned_one_fails_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    add = SqlRuns.add

    async def choke(self: SqlRuns, requests: Sequence[RunRequest], *rest: Any) -> None:
        await add(self, requests, *rest)
        if any(request.user_id == "poison" for request in requests):
            raise RuntimeError("this one cannot be stored")

    monkeypatch.setattr(SqlRuns, "add", choke)
    world.cases[Limiter].default = TenantLimits(run_now_per_minute=5)

    heard = await asyncio.gather(
        *(crawl(world, number, user_id="poison" if number == 2 else "ada") for number in range(5)),
        return_exceptions=True,
    )

    assert [type(one) for one in heard] == [CrawlAnswer, CrawlAnswer, RuntimeError, CrawlAnswer, CrawlAnswer]
    assert (await count(world, runs), await count(world, crawl_requests), await count(world, trail)) == (4, 4, 4)


async def test_a_limit_lets_exactly_so_many_of_one_moment_through(world: World) -> None:
    world.cases[Limiter].default = TenantLimits(run_now_per_minute=3)

    heard = await asyncio.gather(*(crawl(world, number) for number in range(5)), return_exceptions=True)

    refused = [number for number, one in enumerate(heard) if isinstance(one, TooMany)]
    assert len(refused) == 2
    assert (await count(world, runs), await count(world, crawl_requests), await count(world, trail)) == (3, 3, 3)
    again = await asyncio.gather(*(crawl(world, number) for number in range(5) if number not in refused))
    assert all(one.cached_at is not None for one in again), "what is not started is not counted"
    world.clock.advance(60)
    assert (await crawl(world, refused[0])).cached_at is None, "the refused one left no trace"


async def test_tenants_of_one_moment_have_jobs_of_their_own(world: World) -> None:
    others = replace(LOCAL, tenant_id="other")
    asked = {"user_id": "ada", "spider": "seo", "start_urls": ["https://example.com/"]}

    mine, theirs = await asyncio.gather(*(world.cases[Crawls].request(who, asked) for who in (LOCAL, others)))

    assert mine.job_id != theirs.job_id
    assert mine.run is not None
    assert theirs.run is not None
    assert (mine.run.tenant_id, theirs.run.tenant_id) == (MINE, "other")


# --- runs of schedules ------------------------------------------------------------------------------------------------


async def test_fifty_runs_of_schedules_take_as_many_statements_as_one(world: World) -> None:
    made = [await world.schedule(HOURLY, name=f"Hourly {number}") for number in range(3)]

    with statements(world.store) as seen:
        begun = await asyncio.gather(*(world.cases[Schedules].run_now(LOCAL, made[n % 3].id) for n in range(50)))

    assert len(seen) <= 4, seen
    assert len({run.id for run in begun}) == 50
    assert await count(world, runs) == 50
    assert [run.schedule_name for run in begun[:3]] == ["Hourly 0", "Hourly 1", "Hourly 2"]
    assert begun[7] == await read(world, begun[7].id)


async def test_an_override_is_answered_as_it_is_read(world: World) -> None:
    schedule = await world.schedule(HOURLY)

    made = await world.cases[Schedules].run_now(LOCAL, schedule.id, {"payload": {"body": {"a": [1, None]}}})

    assert made == await read(world, made.id)


async def test_many_changes_of_a_large_action_are_each_written_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together they would be more than a database takes in one statement, or waits for."""
    large = {"url": "https://example.com/hook", "method": "POST", "body": "x" * (SMALL + 1)}
    schedule = await world.schedule(HOURLY, payload=large)
    add, written = SqlRuns.add, list[int]()

    async def weigh(self: SqlRuns, requests: Sequence[RunRequest], *rest: Any) -> None:
        written.append(len(requests))
        await add(self, requests, *rest)

    monkeypatch.setattr(SqlRuns, "add", weigh)
    wishes = [{"payload": {"url": f"https://example.com/{number}"}} for number in range(3)]

    changed = await asyncio.gather(*(world.cases[Schedules].run_now(LOCAL, schedule.id, one) for one in wishes))
    assert written == [1, 1, 1]
    assert [run.action["url"] for run in changed if run.action] == [one["payload"]["url"] for one in wishes]

    await asyncio.gather(*(world.cases[Schedules].run_now(LOCAL, schedule.id) for _ in range(3)))
    assert written[3:] == [3], "without a change a run carries nothing"


async def test_each_of_one_moment_hears_its_own_error(world: World) -> None:
    well, deleted = await world.schedule(HOURLY), await world.schedule(HOURLY, name="Gone")
    await world.cases[Schedules].delete(LOCAL, deleted.id)
    asked = [well.id, deleted.id, new_id(SCHEDULE), well.id]

    heard = await asyncio.gather(*(world.cases[Schedules].run_now(LOCAL, one) for one in asked), return_exceptions=True)

    assert [type(one) for one in heard] == [RunView, Conflict, NotFound, RunView]
    assert await count(world, runs) == 2


async def test_a_schedule_that_somebody_holds_delays_no_other(server_database_url: str) -> None:
    async with open_store(server_database_url) as store, open_store(server_database_url) as other:
        world = World.on(store)
        held, free = await world.schedule(HOURLY), await world.schedule(HOURLY, name="Free")
        async with other.begin() as tx:
            await SqlSchedules(tx).get(MINE, held.id, lock=True)
            waiting = asyncio.create_task(world.cases[Schedules].run_now(LOCAL, held.id))
            quick = await asyncio.wait_for(world.cases[Schedules].run_now(LOCAL, free.id), 0.9)
            assert quick.schedule_id == free.id
            assert not waiting.done()
        assert (await asyncio.wait_for(waiting, 10)).schedule_id == held.id


async def test_the_trail_of_one_moment_is_whole(world: World) -> None:
    schedule = await world.schedule(HOURLY)
    await asyncio.gather(
        *(crawl(world, number) for number in range(20)),
        *(world.cases[Schedules].run_now(LOCAL, schedule.id) for _ in range(20)),
    )
    async with world.store.begin() as tx:
        await SqlAuditLog(tx).chain(1000)

    verified = await world.cases[ChainVerifier].verify(LOCAL)

    assert (verified.entries, list(verified.breaks)) == (41, [])
    told = await world.cases[AuditLog].list(LOCAL, PageRequest(limit=100))
    assert sorted({entry.verb for entry in told}) == ["create", "run_now"]
