"""Jobs and crawl items in MongoDB: in their current state, through outages on either side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from foliot.cli.check.connections import check_mongo
from foliot.config.settings import Settings
from foliot.core.access import LOCAL
from foliot.db.clock import StoreClock
from foliot.engine.model.run import ParkedUpdate, RunState
from foliot.engine.sql.parked import SqlParked
from foliot.features.articles.mongo import MongoArticles, MongoJobs
from foliot.features.articles.usecases import Articles
from foliot.features.crawls.usecases import Crawls
from foliot.features.expectations.usecases import DataQuality
from foliot.features.jobs.mongo_copier import JobCopier
from foliot.features.jobs.usecases import Jobs
from tests.features.articles.test_mongo import DATABASE, Kept, mongo, stand_in  # noqa: F401 -- fixtures
from tests.mongo_server import MongoServer
from tests.services import free_port
from tests.world import World, open_world

CRAWL = {
    "user_id": "abc123",
    "spider": "seo",
    "start_urls": ["https://example.com"],
    "depth": 2,
    "params": {"lang": "en"},
}


@asynccontextmanager
async def copier(world: World, url: str) -> AsyncIterator[JobCopier]:
    sink = MongoArticles(url, DATABASE)
    try:
        await sink.check()
        yield JobCopier(clock=world.clock, store=world.store, sink=MongoJobs(sink))
    finally:
        await sink.close()


async def kept(mongo: Kept, name: str) -> dict[str, Any]:  # noqa: F811 -- the fixture
    return {one["_id"]: one async for one in mongo.client[DATABASE][name].find({})}


async def wipe(mongo: Kept) -> None:  # noqa: F811 -- the fixture
    for name in ("jobs", "items", "foliot_marks"):
        await mongo.client[DATABASE][name].delete_many({})


@asynccontextmanager
async def present() -> AsyncIterator[World]:
    """A world of today: ids are made by the clock on the wall, and are found by it."""
    async with open_world() as world:
        world.clock.set(StoreClock().now())
        yield world


async def test_a_crawl_is_copied_as_it_moves_and_its_items_when_it_has_ended(mongo: Kept) -> None:  # noqa: F811
    await wipe(mongo)
    async with present() as world, copier(world, mongo.url) as carrying:
        run_id = (await world.cases[Crawls].request(LOCAL, CRAWL)).job_id
        await carrying.run_once()
        before = (await kept(mongo, "jobs"))[run_id]
        (claimed,) = await world.claim(run_id)
        handle = {"jobid": run_id, "node": "http://scrapyd:6800"}
        items = [{"url": "https://example.com"}, {"n": 2}]
        now = world.clock.now()
        parking = ParkedUpdate(fence=claimed.fence, handle=handle, poll_at=now, at=now, items=items)
        async with world.store.begin() as tx:
            await SqlParked(tx).park([parking], world.clock.now())
        async with world.store.begin() as tx:
            (looked,) = await SqlParked(tx).claim([run_id], "w", timedelta(seconds=30), world.clock.now(), "tok_look")
        await world.finish(looked)
        await carrying.run_once()
        written = carrying.written
        await carrying.run_once()

        assert {name: before[name] for name in ("user_id", "spider", "start_urls", "depth", "params", "status")} == {
            **CRAWL,
            "status": "pending",
        }
        assert {"scheduled_at", "next_run", "scrapyd_job_id", "created_at", "updated_at"} <= set(before)
        after = (await kept(mongo, "jobs"))[run_id]
        assert (after["status"], after["state"], after["scrapyd_job_id"]) == ("finished", "success", run_id)
        found = await kept(mongo, "items")
        assert [(one["job_id"], one["item"]) for _, one in sorted(found.items())] == [
            (run_id, {"url": "https://example.com"}),
            (run_id, {"n": 2}),
        ]
        assert carrying.written == written, "what stands still is written once"


async def test_the_items_of_a_degraded_crawl_are_copied_once_they_are_released(mongo: Kept) -> None:  # noqa: F811
    await wipe(mongo)
    async with present() as world, copier(world, mongo.url) as carrying:
        ended = []
        for number in range(2):
            run_id = (await world.cases[Crawls].request(LOCAL, {**CRAWL, "depth": number})).job_id
            (claimed,) = await world.claim(run_id)
            now = world.clock.now()
            handle = {"jobid": run_id, "node": "http://scrapyd:6800"}
            parking = ParkedUpdate(fence=claimed.fence, handle=handle, poll_at=now, at=now, items=[{"n": number}])
            async with world.store.begin() as tx:
                await SqlParked(tx).park([parking], now)
            async with world.store.begin() as tx:
                (looked,) = await SqlParked(tx).claim([run_id], "w", timedelta(seconds=30), now, f"tok_{number}")
            await world.finish(looked, RunState.DEGRADED)
            ended.append(run_id)
        await carrying.run_once()
        assert {one["state"] for one in (await kept(mongo, "jobs")).values()} == {"degraded"}
        assert await kept(mongo, "items") == {}
        world.clock.advance(3600)
        await carrying.run_once()
        await world.cases[DataQuality].drop(LOCAL, ended[0])
        await world.cases[DataQuality].release(LOCAL, ended[1])
        await carrying.run_once()
        assert [one["item"] for one in (await kept(mongo, "items")).values()] == [{"n": 1}]
        written = carrying.written
        await carrying.run_once()
        assert carrying.written == written, "what was released is written once"


async def test_a_job_of_articles_is_copied_with_its_counts_also_by_who_begins_anew(mongo: Kept) -> None:  # noqa: F811
    await wipe(mongo)
    async with present() as world:
        wanted = {"articles": [{"url": f"https://news.test/{at}"} for at in range(3)]}
        job_id = (await world.cases[Articles].submit(LOCAL, wanted)).run.id
        async with copier(world, mongo.url) as first:
            await first.run_once()
        before = (await kept(mongo, "jobs"))[job_id]
        world.clock.advance(3600)
        await world.cases[Jobs].cancel(LOCAL, job_id)
        async with copier(world, mongo.url) as second:
            await second.run_once()
        after = (await kept(mongo, "jobs"))[job_id]

    assert (before["status"], before["total_articles"], before["new_articles"]) == ("IN_PROGRESS", 3, 3)
    assert (len(before["article_ids"]), before["completed_count"], before["completed_at"]) == (3, 0, None)
    assert (after["status"], after["state"]) == ("CANCELLED", RunState.CANCELLED)
    assert after["completed_at"] is not None


async def test_check_speaks_of_mongodb(stand_in: MongoServer) -> None:  # noqa: F811 -- the fixture
    (well,) = await check_mongo(Settings.load({"MONGO_URI": stand_in.url}))
    (away,) = await check_mongo(
        Settings.load({"MONGO_URI": f"mongodb://127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=500"})
    )

    assert (well.level, well.key) == ("ok", "FOLIOT_MONGO_URI")
    assert "job_scheduler" in well.message
    assert (away.level, "must be reachable" in away.message) == ("error", True)
    assert await check_mongo(Settings.load({})) == []
