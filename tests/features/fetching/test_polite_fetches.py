"""All callers together never ask a host more often than it allows, on every database and from several processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

from sqlalchemy import event, select

from foliot.db.database import Database
from foliot.features.fetching.fetcher import MISSED
from foliot.features.fetching.model import NO_NEWS, FetchFailure, FetchOptions, FetchRequest, Page, Robots
from foliot.features.fetching.politeness import Politeness
from foliot.features.fetching.tables import host_pauses, host_turns, hosts
from tests.features.fetching.fetch_parts import answer, processes, timed_site

MARGIN = 0.03
"""Seconds by which two requests that start on time may arrive closer together."""


def every(milliseconds: float, together: int = 8) -> Politeness:
    return Politeness(interval=timedelta(milliseconds=milliseconds), together=together)


async def test_requests_of_several_processes_and_tenants_are_an_interval_apart(store: Database) -> None:
    async with timed_site() as site, processes(store, 3, every(600)) as made:
        await asyncio.gather(
            *(process.get(site.url(f"/{number}"), f"t{number % 2}") for number, process in enumerate(made * 2))
        )

    assert len(site.pages) == 6
    assert min(site.gaps) >= 0.6 - MARGIN, site.gaps


async def test_a_crawl_delay_holds_from_the_first_page_on(store: Database) -> None:
    robots = answer(body=b"User-agent: *\nCrawl-delay: 0.6\nDisallow: /private")
    async with timed_site({"/robots.txt": robots}) as site, processes(store, 2) as made:
        statuses = await asyncio.gather(
            *(process.get(site.url("/a")) for process in made * 2), made[0].get(site.url("/private"))
        )

    assert statuses == [200, 200, 200, 200, 0]
    assert [path for _, path in site.asked] == ["/robots.txt", "/a", "/a", "/a", "/a"]
    assert min(site.gaps) >= 0.6 - MARGIN, site.gaps


async def test_a_page_that_robots_disallow_is_fetched_only_where_that_is_said(store: Database) -> None:
    robots = answer(body=b"User-agent: *\nDisallow: /private")
    async with timed_site({"/robots.txt": robots}) as site, processes(store) as (process,):
        asked = FetchRequest(url=site.url("/private"), tenant_id="default")
        refused = await process.fetcher.fetch(asked)
        said = FetchRequest(url=site.url("/private"), tenant_id="default", options=FetchOptions(robots=Robots.IGNORE))
        fetched = await process.fetcher.fetch(said)

    assert isinstance(refused, FetchFailure)
    assert refused.problem.code == "robots_disallowed"
    assert isinstance(fetched, Page)
    assert site.pages == ["/private"]


async def test_no_more_requests_are_open_at_once_than_the_host_allows(store: Database) -> None:
    async with timed_site(delay=0.05) as site, processes(store, 2, Politeness(together=3)) as made:
        await asyncio.gather(*(process.get(site.url(f"/{number}")) for number in range(15) for process in made))

    assert len(site.pages) == 30
    assert site.most_open <= 3


async def test_a_host_without_an_interval_costs_no_query_for_each_request(store: Database) -> None:
    async with timed_site() as site, processes(store, 1, Politeness(together=4)) as (process,):
        await process.get(site.url("/first"))
        statements = Counter[str]()

        def count(*_: object) -> None:
            statements["all"] += 1

        engine = store.engines.write.sync_engine
        event.listen(engine, "before_cursor_execute", count)
        try:
            for number in range(100):
                assert await process.get(site.url(f"/{number}")) == 200
        finally:
            event.remove(engine, "before_cursor_execute", count)

    assert statements["all"] < 40, "a hundred requests one after the other"


async def test_turns_are_taken_ahead_where_the_rate_is_high(store: Database) -> None:
    async with timed_site() as site, processes(store, 1, every(10)) as (process,):
        rounds = process.turns.clock.now()
        await asyncio.gather(*(process.get(site.url(f"/{number}")) for number in range(100)))
        took = (process.turns.clock.now() - rounds).total_seconds()

    assert len(site.pages) == 100
    assert took >= 0.95, "ten milliseconds each"


async def test_a_429_on_two_paths_pauses_everything(store: Database) -> None:
    slow = answer(429, b"", Retry_After="2")
    async with timed_site({"/a": slow, "/b": slow}) as site, processes(store, 2) as (one, other):
        await one.get(site.url("/ok"))
        assert await one.get(site.url("/a"), "first") == 429
        assert await one.get(site.url("/c"), "second") == 200, "one answer to one tenant is not for the others"
        await asyncio.sleep(2)
        assert await one.get(site.url("/b"), "first") == 429
        before = len(site.asked)
        last = site.asked[-1][0]
        await asyncio.gather(other.get(site.url("/d"), "second"), one.get(site.url("/e"), "third"))

    assert all(at - last >= 2 - 0.1 for at, _ in site.asked[before:])


async def test_a_slowed_host_becomes_quick_again_by_steps(store: Database) -> None:
    async with timed_site({"/a": answer(503, b"", Retry_After="1")}) as site, processes(store) as (process,):
        await process.get(site.url("/ok"))
        await process.get(site.url("/a"))
        for number in range(6):
            await process.get(site.url(f"/{number}"))

    slow = site.gaps[3:]
    assert slow[0] >= 0.4, "half a second apart at first"
    assert slow[-1] < slow[0]


async def test_tenants_take_turns_at_a_host(store: Database) -> None:
    async with timed_site() as site, processes(store, 1, every(100)) as (process,):
        await process.get(site.url("/first"))
        many = [asyncio.create_task(process.get(site.url(f"/many/{number}"), "many")) for number in range(20)]
        await asyncio.sleep(0.3)
        await process.get(site.url("/few"), "few")
        done = len(site.pages)
        await asyncio.gather(*many)

    assert done <= 10, "the tenant with one page did not wait for the twenty of the other"


async def test_callers_of_one_tenant_take_turns_at_a_host(store: Database) -> None:
    async with timed_site() as site, processes(store, 1, every(100)) as (process,):
        await process.get(site.url("/first"))
        many = [asyncio.create_task(process.get(site.url(f"/many/{n}"), caller="hooks")) for n in range(20)]
        await asyncio.sleep(0.3)
        await asyncio.gather(*(process.get(site.url(f"/few/{n}"), caller="run_1") for n in range(3)))
        done = len(site.pages)
        for task in many:
            task.cancel()
        await asyncio.gather(*many, return_exceptions=True)

    assert done <= 14, "the caller with three pages had every second turn"


async def test_the_holder_that_waited_longest_has_the_next_turn(store: Database) -> None:
    async with timed_site() as site, processes(store, 3, every(600)) as made:
        await made[0].get(site.url("/first"))
        tasks = [
            asyncio.create_task(process.get(site.url(f"/{at}/{number}")))
            for at, process in enumerate(made)
            for number in range(6)
        ]
        while len(site.pages) < 10:
            await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    counts = Counter(path.split("/")[1] for path in site.pages[1:10])
    assert all(counts[str(at)] >= 2 for at in range(3)), counts
    assert min(site.gaps[1:]) >= 0.6 - MARGIN, site.gaps


async def test_a_request_that_would_start_too_late_waits_for_another_turn(store: Database) -> None:
    async with timed_site() as site, processes(store, 1, every(300)) as (process,):
        await process.get(site.url("/first"))
        turn = await process.turns.take(site.host, "default")
        assert turn.latest is not None
        await asyncio.sleep(turn.latest - asyncio.get_running_loop().time() + 0.01)
        late = FetchRequest(url=site.url("/late"), tenant_id="default", latest=turn.latest)
        answer = await process.fetcher.pages.once(late, None)
        await process.turns.done(turn, NO_NEWS)
        assert await process.get(site.url("/next")) == 200

    assert answer is MISSED
    assert site.pages == ["/first", "/next"]


async def test_a_host_whose_answers_become_slow_is_asked_less_often_until_they_are_quick(store: Database) -> None:
    async with timed_site() as site, processes(store, 1, Politeness(together=2)) as (process,):
        for number in range(12):
            await process.get(site.url(f"/{number}"))
        site.delay = 0.8
        for number in range(8):
            await process.get(site.url(f"/slow/{number}"))
        async with store.read() as tx:
            (slowed,) = (await tx.conn.execute(select(host_pauses.c.interval_ms, host_pauses.c.reason))).all()
        site.delay = 0.0
        before = len(site.gaps)
        for number in range(12):
            await process.get(site.url(f"/quick/{number}"))

    assert slowed.interval_ms >= 500
    assert "is usual" in slowed.reason
    assert max(site.gaps[before:]) >= 0.4
    assert site.gaps[-1] < max(site.gaps[before:]), "shorter step by step"


async def test_processes_take_turns_at_a_host(store: Database) -> None:
    async with timed_site() as site, processes(store, 2, every(400)) as (one, other):
        await one.get(site.url("/first"))
        many = [asyncio.create_task(one.get(site.url(f"/one/{number}"))) for number in range(12)]
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(other.get(site.url(f"/other/{number}")) for number in range(2)))
        waited = asyncio.get_running_loop().time() - began
        for task in many:
            task.cancel()
        await asyncio.gather(*many, return_exceptions=True)

    assert waited < 3, "every second turn"


async def test_what_a_process_held_is_released(store: Database) -> None:
    async with timed_site() as site, processes(store) as (process,):
        await process.get(site.url("/a"))
        async with asyncio.timeout(5):
            while process.turns.queues:
                process.turns.feed.wake(*process.turns.topics)
                await asyncio.sleep(0.1)
    async with store.read() as tx:
        rows = (await tx.conn.execute(select(host_turns))).all()
        known = (await tx.conn.execute(select(hosts.c.host))).scalars().all()

    assert rows == []
    assert list(known) == [site.host]


async def test_a_cancelled_request_gives_its_turn_back(store: Database) -> None:
    async with timed_site(delay=0.05) as site, processes(store, 1, Politeness(together=1)) as (process,):
        await process.get(site.url("/first"))
        waiting = [asyncio.create_task(process.get(site.url(f"/{number}"))) for number in range(5)]
        await asyncio.sleep(0.02)
        for task in waiting[:4]:
            task.cancel()
        async with asyncio.timeout(5):
            assert await waiting[4] == 200
