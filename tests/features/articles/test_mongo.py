"""Articles in MongoDB: every one that was read, complete, through outages on either side."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient
from sqlalchemy import update

from foliot.core.errors import Invalid
from foliot.engine.model.run import RunState
from foliot.features.articles.model import ClaimedArticle, ExtractedPage
from foliot.features.articles.mongo import MongoArticles, SinkUnavailable
from foliot.features.articles.mongo_copier import ArticleCopier
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.articles.tables import articles
from tests.features.articles.test_fetcher import House, Library, house, pages
from tests.mongo_server import MongoServer, NoMongo, named

DATABASE = f"foliot_test_{os.getpid()}"


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoServer]:
    server = MongoServer(tmp_path_factory.mktemp("mongo"))
    server.start()
    yield server
    server.stop()


@dataclass(frozen=True)
class Kept:
    """What is in a server."""

    url: str
    client: AsyncMongoClient[Any]

    async def wipe(self) -> None:
        for name in ("articles", "foliot_marks"):
            await self.client[DATABASE][name].delete_many({})

    async def articles(self) -> dict[str, Any]:
        return {one["url"]: one async for one in self.client[DATABASE].articles.find({})}


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.services)])
async def mongo(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    """A server without our documents."""
    if request.param == "real":
        try:
            url = named()
        except NoMongo as missing:
            pytest.skip(str(missing))
    else:
        url = request.getfixturevalue("stand_in").url
    async with AsyncMongoClient[Any](url, tz_aware=True) as client:
        kept = Kept(url, client)
        await kept.wipe()
        yield kept
        await kept.wipe()


@asynccontextmanager
async def copier(here: House, url: str, **changes: Any) -> AsyncIterator[ArticleCopier]:
    sink = MongoArticles(url, DATABASE)
    try:
        yield ArticleCopier(clock=here.clock, store=here.store, sink=sink, **changes)
    finally:
        await sink.close()


async def done(here: House, *urls: str) -> str:
    made = await here.submit(list(urls), ignore_cache=True)
    assert await here.ended(made.run.id) is RunState.SUCCESS
    return made.run.id


async def rounds(copies: ArticleCopier) -> int:
    """What the first round writes that finds the server: the driver looks for it twice a second."""
    for _ in range(100):
        with suppress(SinkUnavailable):
            return (await copies.run_once()).written
    raise AssertionError(copies.away)


async def test_what_was_read_is_written_whole_and_written_again_when_it_is_read_again(
    database_url: str, mongo: Kept
) -> None:
    said: dict[str, Any] = {
        "title": "Été",
        "content": "one\n" * 1000,
        "author": "Ada",
        "published_at": "2027-01-01",
        "language": "en",
    }
    page = ExtractedPage(**said, image="https://news.test/i.png")
    async with house(database_url) as here, copier(here, mongo.url) as copies:
        library = Library(lambda taken: page)
        await here.engine(library)
        await done(here, "https://news.test/1")
        assert (await copies.run_once()).written == 1
        [first] = (await mongo.articles()).values()
        assert (await copies.run_once()).written == 0

        library.answer = lambda taken: ExtractedPage(title="New", content="two")
        await done(here, "https://news.test/1")
        assert (await copies.run_once()).written == 1
        [second] = (await mongo.articles()).values()

    assert {name: first[name] for name in said} == said
    assert (first["tenant_id"], first["host"], first["status"]) == ("default", "news.test", "SCRAPED")
    assert (first["reference_count"], first["retry_count"], first["canonical_url"]) == (1, 0, None)
    assert first["created_at"] <= first["scraped_at"] <= first["updated_at"]
    assert (second["_id"], second["title"], second["author"]) == (first["_id"], "New", None)
    assert second["scraped_at"] > first["scraped_at"]


async def test_who_begins_anew_goes_on_where_the_last_one_stopped(sqlite_database_url: str, mongo: Kept) -> None:
    async with house(sqlite_database_url) as here:
        await here.engine(Library())
        await done(here, *pages(5))
        await done(here, *pages(10)[5:])
        async with copier(here, mongo.url, look=3, overlap=timedelta()) as before:
            rounds = [(await before.run_once()).written for _ in range(4)]
        await done(here, "https://news.test/new")
        async with copier(here, mongo.url, overlap=timedelta()) as after:
            again = (await after.run_once()).written

    assert rounds == [3, 3, 3, 1]
    # Those of the second job may stand at the very moment that was remembered.
    assert 1 <= again <= 6
    assert set(await mongo.articles()) == {*pages(10), "https://news.test/new"}


async def test_a_change_that_shows_up_behind_a_younger_one_is_found(sqlite_database_url: str, mongo: Kept) -> None:
    async with house(sqlite_database_url) as here, copier(here, mongo.url) as copies:
        await here.engine(Library())
        await done(here, "https://news.test/young")
        await copies.run_once()
        await done(here, "https://news.test/old")
        stamped = here.clock.now() - timedelta(seconds=20)
        async with here.store.begin() as tx:
            late = update(articles).where(articles.c.url == "https://news.test/old")
            await SqlArticles(tx).conn.execute(late.values(updated_at=stamped))

        assert (await copies.run_once()).written == 1
    assert set(await mongo.articles()) == {"https://news.test/young", "https://news.test/old"}


async def test_one_that_cannot_be_held_is_named_and_the_others_are_written(
    sqlite_database_url: str, mongo: Kept
) -> None:
    def answer(taken: ClaimedArticle) -> ExtractedPage:
        return ExtractedPage(title="T", content="x" * (17 * 1024 * 1024 if taken.url.endswith("/1") else 10))

    async with house(sqlite_database_url) as here, copier(here, mongo.url) as copies:
        await here.engine(Library(answer))
        await done(here, *pages(4))
        await copies.run_once()

        assert copies.report() == {"mongodb": {"written": 3, "refused": 1, "error": None}}
        assert (await copies.run_once()).written == 0
    assert set(await mongo.articles()) == set(pages(4)) - {"https://news.test/1"}


async def test_a_server_that_is_away_touches_no_job_and_loses_nothing(
    sqlite_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foliot.features.articles.mongo.PATIENCE", 300)
    server = MongoServer(tmp_path / "mongo")
    async with house(sqlite_database_url) as here, copier(here, server.url) as copies:
        await here.engine(Library())
        await done(here, *pages(5))
        with pytest.raises(SinkUnavailable):
            await copies.run_once()
        away = copies.away
        server.start()
        try:
            assert await rounds(copies) == 5
            server.stop()
            await done(here, "https://news.test/new")
            with pytest.raises(SinkUnavailable):
                await copies.run_once()
            server.start()
            assert await rounds(copies) == 1
            async with AsyncMongoClient[Any](server.url) as client:
                assert set(await Kept(server.url, client).articles()) == {*pages(5), "https://news.test/new"}
        finally:
            server.stop()

    assert away == "MongoDB does not answer (ServerSelectionTimeoutError)"
    assert copies.away is None


def test_a_url_that_the_driver_refuses_is_said_without_its_password() -> None:
    with pytest.raises(Invalid, match="MONGO_URI: cannot be used") as refused:
        MongoArticles("mongodb://ada:hunter2@h:99999999/", DATABASE)

    assert "hunter2" not in str(refused.value)


async def test_closing_while_the_driver_connects_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.features.articles.mongo.PATIENCE", 500)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as queue:
        for _ in range(3):
            # The queue of the server is full after these: the driver's connect hangs.
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        sink = MongoArticles(f"mongodb://127.0.0.1:{full.getsockname()[1]}/", DATABASE)
        check = asyncio.create_task(sink.check())
        while not sink._heartbeats._running:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ResourceWarning)
            await sink.close()
            with pytest.raises(SinkUnavailable):
                await check
            gc.collect()
    assert [str(warning.message) for warning in said if warning.category is ResourceWarning] == []
