"""Requests for crawls on every database: the same request has one job, however many make it at once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Forbidden, Invalid, TooMany
from foliot.core.ids import RUN, new_id
from foliot.core.limits import TenantLimits
from foliot.db.database import Database
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.tables import runs
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.crawls.model import KnownJob, PendingCrawl
from foliot.features.crawls.sql import SqlCrawls, crawl_requests, forget_expired
from foliot.features.crawls.usecases import CACHED_FOR, CrawlAnswer, Crawls
from foliot.features.jobs.usecases import Jobs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.testing import open_store
from tests.givens import NOON, ask, request, sql
from tests.world import World

SEO: dict[str, Any] = {
    "user_id": "abc123",
    "spider": "seo",
    "start_urls": ["https://example.com/a", "https://example.com/b"],
    "depth": 2,
    "params": {"lang": "en", "max_pages": 10},
}
MINE = LOCAL.tenant_id


async def crawl(world: World, caller: Caller = LOCAL, **changes: Any) -> CrawlAnswer:
    return await world.cases[Crawls].request(caller, {**SEO, **changes})


async def crawls_of(world: World) -> list[str]:
    async with world.store.read() as tx:
        return list((await tx.conn.execute(select(runs.c.id).where(runs.c.kind == "crawl"))).scalars())


# --- what is the same -------------------------------------------------------------------------------------------------


async def test_the_same_request_again_is_given_the_same_job(world: World) -> None:
    first = await crawl(world)
    world.clock.advance(10)
    second = await crawl(world)

    assert first.run is not None
    assert (first.job_id, first.cached_at) == (first.run.id, None)
    assert (second.job_id, second.run) == (first.job_id, None)
    assert second.cached_at == first.run.created_at
    assert await crawls_of(world) == [first.job_id]


async def test_the_run_is_a_crawl_of_its_user_in_the_queue_of_crawls(world: World) -> None:
    made = (await crawl(world, priority=3)).run

    assert made is not None
    assert (made.kind, made.queue, made.priority, made.user_id) == ("crawl", "scraping", 3, "abc123")
    assert (made.schedule_id, made.origin.value, made.state) == (None, "manual", RunState.QUEUED)
    assert made.action == {
        "spider": "seo",
        "project": "DiscoveryBot",
        "start_urls": SEO["start_urls"],
        "depth": 2,
        "params": SEO["params"],
    }


async def test_what_says_something_makes_a_job_of_its_own(world: World) -> None:
    others: list[dict[str, Any]] = [
        {"user_id": "someone else"},
        {"user_id": None},
        {"spider": "other"},
        {"start_urls": ["https://example.com/a"]},
        {"start_urls": ["https://example.com/a,https://example.com/b"]},
        {"depth": 3},
        {"depth": None},
        {"params": {"lang": "en", "max_pages": 11}},
        {"params": {"lang": "en", "max_pages": "10"}},
        {"params": {}},
        {"project": "Another"},
        {"min_items": 1},
    ]
    made = [await crawl(world), *[await crawl(world, **other) for other in others]]

    assert len({one.job_id for one in made}) == len(made)


async def test_two_tenants_never_share_a_job(world: World) -> None:
    ours = await crawl(world, Caller("acme", "ada", Role.OPERATOR))
    theirs = await crawl(world, Caller("other", "ada", Role.OPERATOR))

    assert ours.job_id != theirs.job_id
    assert theirs.cached_at is None


async def test_without_a_user_it_is_whoever_asks(world: World) -> None:
    ada, bob = (Caller("acme", name, Role.OPERATOR) for name in ("ada", "bob"))
    first = await crawl(world, ada, user_id=None)

    assert first.run is not None
    assert first.run.user_id == "ada"
    assert (await crawl(world, bob, user_id=None)).job_id != first.job_id
    assert (await crawl(world, bob, user_id="ada")).job_id == first.job_id, "whoever may crawl may name another user"


async def test_the_trail_says_who_asked_and_for_whom(world: World) -> None:
    ada = Caller("acme", "ada", Role.OPERATOR)
    made = await crawl(world, ada)
    await crawl(world, ada)

    (entry,) = await world.cases[AuditLog].list(replace(ada, role=Role.ADMIN), PageRequest())

    assert (entry.user_id, entry.verb, entry.thing, entry.thing_id) == ("ada", "create", "crawl", made.job_id)
    assert entry.became is not None
    assert (entry.became["user_id"], entry.became["action"]["spider"]) == ("abc123", "seo")


async def test_a_viewer_may_not_crawl(world: World) -> None:
    with pytest.raises(Forbidden):
        await crawl(world, Caller("acme", "eve", Role.VIEWER))
    narrow = Caller("acme", "key", Role.OPERATOR, scopes=frozenset({"crawl:run"}))
    with pytest.raises(Forbidden, match="schedule"):
        await crawl(world, narrow, interval="0 9 * * *")
    assert (await crawl(world, narrow)).run is not None


async def test_a_tenant_has_no_more_crawls_a_minute_than_runs(world: World) -> None:
    world.cases[Limiter].default = TenantLimits(run_now_per_minute=2)
    await crawl(world)
    for _ in range(5):
        assert (await crawl(world)).cached_at is not None, "what is not started is not counted"
    await crawl(world, depth=3)

    with pytest.raises(TooMany):
        await crawl(world, depth=4)
    assert len(await crawls_of(world)) == 2
    world.clock.advance(60)
    assert (await crawl(world, depth=4)).cached_at is None, "the refused one left no trace"


# --- for how long -----------------------------------------------------------------------------------------------------


async def test_after_its_time_a_request_is_new_again(world: World) -> None:
    first = await crawl(world)
    world.clock.advance(CACHED_FOR - timedelta(microseconds=1))
    assert (await crawl(world)).job_id == first.job_id
    world.clock.advance(timedelta(microseconds=1))
    second = await crawl(world)

    assert second.job_id != first.job_id
    assert (await crawl(world)).job_id == second.job_id
    world.clock.advance(CACHED_FOR)
    assert (await crawl(world)).job_id not in {first.job_id, second.job_id}


async def test_no_time_at_all_is_no_deduplication(world: World) -> None:
    cases = replace(world.cases[Crawls], cached_for=timedelta())

    assert len({(await cases.request(LOCAL, SEO)).job_id for _ in range(3)}) == 3


async def test_a_crawl_that_ended_well_still_counts_and_one_that_went_wrong_is_forgotten(world: World) -> None:
    async def again(depth: int, state: RunState) -> bool:
        first = await crawl(world, depth=depth)
        await world.end(first.job_id, state, {"code": "crawl_failed", "message": "no"})
        second = await crawl(world, depth=depth)
        assert (second.run is None) == (second.cached_at is not None) == (second.job_id == first.job_id)
        assert (await crawl(world, depth=depth)).job_id == second.job_id
        return second.job_id == first.job_id

    ended = [state for state in RunState if state.final]
    assert {state for depth, state in enumerate(ended) if await again(depth, state)} == {
        RunState.SUCCESS,
        RunState.PARTIAL,
    }


async def test_a_crawl_that_is_being_stopped_is_forgotten_before_it_has_ended(world: World) -> None:
    first = await crawl(world)
    await world.claim(first.job_id)
    assert (await crawl(world)).job_id == first.job_id
    await world.cases[Jobs].cancel(LOCAL, first.job_id)

    assert (await crawl(world)).job_id != first.job_id


async def test_a_crawl_whose_run_was_pruned_is_forgotten(world: World) -> None:
    first = await crawl(world)
    await sql(world.store, "DELETE FROM runs")

    assert (await crawl(world)).job_id != first.job_id


async def test_whoever_ignores_the_cache_has_a_new_job_which_others_are_given_then(world: World) -> None:
    first = await crawl(world)
    second = await crawl(world, ignore_cache=True)
    third = await world.cases[Crawls].request(LOCAL, SEO, ignore_cache=True)

    assert len({first.job_id, second.job_id, third.job_id}) == 3
    assert second.run is not None
    assert second.run.action is not None
    assert second.run.action["params"] == {**SEO["params"], "ignore_cache": True}, "the spider's cache is ignored too"
    assert (await crawl(world)).job_id == third.job_id


async def test_what_has_expired_is_deleted_in_the_end(world: World) -> None:
    await crawl(world)
    await crawl(world, depth=3)

    async def left(after: timedelta) -> int:
        async with world.store.begin() as tx:
            await forget_expired(tx.conn, tx.dialect, world.clock.now() + after, 100)
            return await tx.conn.scalar(select(func.count()).select_from(crawl_requests)) or 0

    assert await left(CACHED_FOR) == 2
    assert await left(CACHED_FOR + timedelta(seconds=1)) == 0


# --- at once ----------------------------------------------------------------------------------------------------------


async def test_many_at_once_have_one_job(world: World, database_url: str) -> None:
    """Two processes' worth of them: each has its own connections and its own queue in front."""
    if database_url.startswith("sqlite"):
        made = await asyncio.gather(*(crawl(world) for _ in range(60)))
    else:
        async with open_store(database_url) as other:
            second = World.on(other)
            second.clock.set(world.clock.now())
            made = await asyncio.gather(*(crawl(each) for _ in range(30) for each in (world, second)))

    assert len({one.job_id for one in made}) == 1
    assert sum(one.cached_at is None for one in made) == 1
    assert await crawls_of(world) == [made[0].job_id]
    assert world.cases[Crawls].turns._lines == {}


def asked(world: World, fingerprint: str = "f" * 64) -> PendingCrawl:
    now = world.clock.now()
    return PendingCrawl(
        tenant_id=MINE, fingerprint=fingerprint, job_id=new_id(RUN), now=now, expires_at=now + CACHED_FOR
    )


async def started(tx: Any, wanted: PendingCrawl) -> KnownJob:
    """What the use case does in its transaction."""
    known: KnownJob = await SqlCrawls(tx).settle(wanted, anew=False)
    if known.job_id == wanted.job_id:
        await SqlRuns(tx).add([request(id=wanted.job_id, tenant_id=MINE, kind="crawl")], wanted.now)
    return known


@pytest.mark.parametrize("before", ["nothing", "expired"])
@pytest.mark.parametrize("commits", [True, False], ids=["commits", "undoes"])
async def test_the_second_waits_for_the_first_and_believes_what_it_committed(
    server_database_url: str, commits: bool, before: str
) -> None:
    """The first has written its request and its run when the second comes; the second must see both, or neither."""
    async with open_store(server_database_url) as store, open_store(server_database_url) as other:
        world = World.on(store)
        if before == "expired":
            async with store.begin() as tx:
                await SqlCrawls(tx).settle(asked(world), anew=False)
            world.clock.advance(CACHED_FOR)
        first, second = asked(world), asked(world)
        began = asyncio.Event()

        async def come_second() -> KnownJob:
            async with other.begin() as tx:
                # So that the transaction, and whatever it looks at by, is older than the first one's commit.
                await tx.conn.execute(select(func.count()).select_from(runs))
                began.set()
                return await started(tx, second)

        async with store.begin() as tx:
            await started(tx, first)
            waiting = asyncio.create_task(come_second())
            await began.wait()
            done, _ = await asyncio.wait({waiting}, timeout=0.3)
            assert not done, "it must wait for whoever came first"
            if not commits:
                await tx.conn.rollback()
        known = await asyncio.wait_for(waiting, 10)

        assert known.job_id == (first.job_id if commits else second.job_id)
        async with store.read() as tx:
            assert list((await tx.conn.execute(select(runs.c.id))).scalars()) == [known.job_id]


async def test_two_who_find_it_expired_judge_one_after_the_other(
    server_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits in its judgement for the other to come there too, which must not happen."""
    judge, arrived, both = SqlCrawls._counts, list[SqlCrawls](), asyncio.Event()

    async def wait_and_judge(self: SqlCrawls, *about: Any) -> bool:
        arrived.append(self)
        if len(arrived) == 2:
            both.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                await both.wait()
        return await judge(self, *about)

    async def come(store: Database, now: World) -> KnownJob:
        async with store.begin() as tx:
            return await started(tx, asked(now))

    async with open_store(server_database_url) as store, open_store(server_database_url) as other:
        world = World.on(store)
        await come(store, world)
        world.clock.advance(CACHED_FOR)
        monkeypatch.setattr(SqlCrawls, "_counts", wait_and_judge)
        first, second = await asyncio.gather(come(store, world), come(other, world))

    assert first.job_id == second.job_id


async def test_of_many_who_find_it_expired_one_replaces_it(server_database_url: str) -> None:
    async with open_store(server_database_url) as store, open_store(server_database_url) as other:
        world, second = World.on(store), World.on(other)
        old = await crawl(world)
        for each in (world, second):
            each.clock.set(NOON + 2 * CACHED_FOR)
        made = await asyncio.gather(*(crawl(each) for _ in range(15) for each in (world, second)))

        assert len({one.job_id for one in made}) == 1
        assert made[0].job_id != old.job_id
        assert len(await crawls_of(world)) == 2


# --- planned ----------------------------------------------------------------------------------------------------------


async def test_a_moment_makes_a_one_off_and_a_rhythm_a_periodic_schedule(world: World) -> None:
    once = await crawl(world, schedule_at="2027-06-01T09:00:00+02:00")
    often = await crawl(world, interval="0 9 * * *", timezone="Europe/Stockholm", priority=2)

    assert once.schedule is not None
    assert often.schedule is not None
    assert (once.job_id, once.schedule.name) == (once.schedule.id, f"crawl-{once.schedule.id}")
    assert (once.schedule.spec.type.value, str(once.schedule.next_at)) == ("oneoff", "2027-06-01 07:00:00+00:00")
    assert (often.schedule.spec.kind, often.schedule.spec.queue, often.schedule.spec.priority) == (
        "crawl",
        "scraping",
        2,
    )
    assert str(often.schedule.next_at) == "2027-01-05 08:00:00+00:00"
    assert (often.schedule.user_id, often.schedule.action["spider"]) == ("abc123", "seo")
    assert await crawls_of(world) == []
    listed = await world.cases[Schedules].list(LOCAL, PageRequest(), kind="crawl")
    assert [one.id for one in listed] == [often.job_id, once.job_id]


async def test_a_rhythm_may_be_a_number_of_seconds_or_parts(world: World) -> None:
    hourly = await crawl(world, interval=3600)
    parts = await crawl(world, interval={"hours": 4})

    assert hourly.schedule is not None
    assert parts.schedule is not None
    assert (hourly.schedule.spec.type.value, str(hourly.schedule.next_at)) == ("interval", "2027-01-04 13:00:00+00:00")
    assert str(parts.schedule.next_at) == "2027-01-04 16:00:00+00:00"


async def test_the_trigger_is_part_of_the_request(world: World) -> None:
    made = [
        await crawl(world),
        await crawl(world, interval="0 9 * * *"),
        await crawl(world, interval="0 10 * * *"),
        await crawl(world, interval="0 9 * * *", timezone="Europe/Stockholm"),
        await crawl(world, schedule_at="2027-06-01T09:00:00Z"),
    ]
    again = await crawl(world, interval="0 9 * * *")

    assert len({one.job_id for one in made}) == len(made)
    assert (again.job_id, again.cached_at) == (made[1].job_id, NOON)
    assert again.schedule is not None
    assert (await crawl(world, schedule_at="2027-06-01T11:00:00+02:00")).job_id == made[-1].job_id


async def test_a_deleted_schedule_is_forgotten(world: World) -> None:
    first = await crawl(world, interval="0 9 * * *")
    await world.cases[Schedules].delete(LOCAL, first.job_id)

    assert (await crawl(world, interval="0 9 * * *")).job_id != first.job_id


async def test_runs_fired_by_a_schedule_are_nobody_elses_answer(world: World) -> None:
    planned = await crawl(world, interval="*/5 * * * *")
    await world.pass_time(6)
    (fired,) = await crawls_of(world)
    now = await crawl(world)

    assert now.job_id not in {planned.job_id, fired}
    assert now.cached_at is None


async def test_a_tenant_has_no_more_planned_crawls_than_schedules(world: World) -> None:
    world.cases[Limiter].default = TenantLimits(schedules=1)
    await crawl(world, interval="0 9 * * *")

    with pytest.raises(TooMany):
        await crawl(world, interval="0 10 * * *")
    world.cases[Limiter].default = TenantLimits(schedules=2)
    assert (await crawl(world, interval="0 10 * * *")).cached_at is None, "the refused one left no trace"


# --- the same key twice -----------------------------------------------------------------------------------------------


async def test_an_idempotency_key_has_one_effect_even_where_the_cache_is_ignored(world: World) -> None:
    once = IdempotentRequest("key-1", "print", 200, lambda made: made.job_id)
    first = await world.cases[Crawls].request(LOCAL, SEO, once, ignore_cache=True)
    with pytest.raises(AnsweredBefore) as again:
        await world.cases[Crawls].request(LOCAL, SEO, once, ignore_cache=True)

    assert again.value.body == first.job_id
    other = IdempotentRequest("key-2", "print", 200, lambda made: made.job_id)
    assert (await world.cases[Crawls].request(LOCAL, SEO, other)).job_id == first.job_id
    with pytest.raises(AnsweredBefore) as cached:
        await world.cases[Crawls].request(LOCAL, SEO, other)
    assert cached.value.body == first.job_id
    assert await crawls_of(world) == [first.job_id]


# --- the list of jobs -------------------------------------------------------------------------------------------------


async def test_jobs_are_listed_newest_first_by_status_and_counted(world: World) -> None:
    made = [(await crawl(world, depth=depth)).job_id for depth in range(6)]
    await world.end(made[0], RunState.SUCCESS)
    await world.end(made[1], RunState.DEAD_LETTER, {"code": "x", "message": "y"})
    await world.end(made[2], RunState.FAILED, {"code": "x", "message": "y"})
    await world.claim(made[3])
    await ask(world.store, NOON, request(tenant_id=MINE), request(tenant_id="other", kind="crawl"))

    async def found(status: str | None = None, **part: Any) -> tuple[list[int], int]:
        jobs, total = await world.cases[Jobs].list(LOCAL, status, **part)
        return [made.index(job.id) for job in jobs], total

    assert await found() == ([5, 4, 3, 2, 1, 0], 6)
    assert await found(limit=2, skip=1) == ([4, 3], 6)
    assert await found(limit=3, skip=4) == ([1, 0], 6)
    assert await found(limit=3, skip=60) == ([], 6)
    assert await found("pending") == ([5, 4], 2)
    assert await found("RUNNING") == await found("IN_PROGRESS") == ([3], 1)
    assert await found("finished") == await found("COMPLETED") == await found("success") == ([0], 1)
    assert await found("error") == await found("FAILED") == ([2, 1], 2)
    assert await found("dead_letter") == ([1], 1)
    assert await found("cancelled") == ([], 0)
    with pytest.raises(Invalid, match="status_filter"):
        await found("asleep")
