"""Where pipelines write: tables on three databases, and collections of MongoDB."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from foliot import Item
from foliot.core.errors import Unavailable
from foliot.features.pipelines.chain.run import ChainFailed, is_permanent, told
from foliot.features.pipelines.steps.sinks import MongoSink, SqlSink
from foliot.testing import GivenPages, stream
from tests.features.pipelines.test_docs_transforms import WEB, chain
from tests.mongo_server import MongoServer, NoMongo, named
from tests.services import free_port

DATABASE = f"foliot_pipelines_{os.getpid()}"


def sql(url: str, /, **kwargs: Any) -> SqlSink:
    """As people write the URL: without a driver."""
    plain = make_url(url)
    plain = plain.set(drivername=plain.get_backend_name())
    return SqlSink.model_validate({"url": plain.render_as_string(hide_password=False), "table": "things", **kwargs})


async def asked(url: str, statement: str) -> Sequence[Any]:
    """Say this to the database, past everything of ours; what it answers."""
    engine = create_async_engine(url)
    try:
        async with engine.begin() as conn:
            answer = await conn.execute(text(statement))
            return [tuple(row) for row in answer] if answer.returns_rows else []
    finally:
        await engine.dispose()


async def test_a_table_is_made_of_the_first_item_and_items_go_on(bare_database_url: str) -> None:
    items: list[Item] = [
        {"id": 1, "name": "ä", "price": 1.5, "new": True, "tags": ["a"]},
        {"id": 2, "name": None, "new": False},
        {"id": 3, "other": 1},
    ]

    found = await stream(sql(bare_database_url), items=items, on_error="skip")

    assert found.items == items[:2]
    assert "things has no column 'other'; give `columns`" in found.log[0]
    rows = await asked(bare_database_url, "SELECT id, name, price FROM things ORDER BY id")
    assert rows == [(1, "ä", 1.5), (2, None, None)]


async def test_with_a_key_the_later_one_takes_the_earlier_ones_place(bare_database_url: str) -> None:
    sink = sql(bare_database_url, key="url", batch_size=3)
    items: list[Item] = [{"url": letter, "n": number} for number, letter in enumerate("abaacb")]

    first = await stream(sink, items=items)
    await stream(sink, items=[{"url": "a", "n": 9}, {"url": "b", "n": 9}])
    third = await stream(sink, items=[{"n": 1}, {"url": "z" * 300, "n": 1}], on_error="skip")

    rows = await asked(bare_database_url, "SELECT url, n FROM things WHERE url < 'd' ORDER BY url")
    assert rows == [("a", 9), ("b", 9), ("c", 4)]
    assert len(first.items) == 6
    assert "it has no 'url', which is part of the key" in third.log[0]


async def test_what_one_item_breaks_is_about_that_item_alone(bare_database_url: str) -> None:
    await asked(
        bare_database_url,
        "CREATE TABLE things (id INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n > 0), day DATE, at TIMESTAMP NULL, "
        "price DECIMAL(10, 2), name VARCHAR(5))",
    )
    good: Item = {
        "id": 1,
        "n": "7",
        "day": "2027-01-02",
        "at": "2027-01-02T03:04:05+01:00",
        "price": "12.50",
        "name": "x",
    }
    bad: list[Item] = [
        {"id": 2, "n": 0},
        {"id": 3},
        {"id": 1, "n": 1},
        {"id": 4, "n": 1, "day": "soon"},
        {"id": 5, "n": 1, "name": "too long"},
        {"id": 6, "n": "many"},
        {"id": 7, "n": 2**80},
        {"id": 8, "n": 1, "name": "\x00"},
        {"id": 9, "n": 1, "name": "\ud800"},
    ]

    found = await stream(sql(bare_database_url), items=[good, *bad, {"id": 10, "n": 1}], on_error="skip")

    assert [item["id"] for item in found.items] == [1, 10]
    assert found.failed == len(bad)
    rows = await asked(bare_database_url, "SELECT id, n, day, at, price, name FROM things ORDER BY id")
    assert [row[:2] for row in rows] == [(1, 7), (10, 1)]
    assert "2027-01-02 02:04:05" in str(rows[0][3])


async def test_columns_choose_and_a_table_need_not_be_made(bare_database_url: str) -> None:
    await asked(bare_database_url, "CREATE TABLE things (id INTEGER PRIMARY KEY, name VARCHAR(50) DEFAULT 'none')")

    await stream(sql(bare_database_url, columns=["id"]), items=[{"id": 1, "name": "x", "body": "long"}])

    assert await asked(bare_database_url, "SELECT id, name FROM things") == [(1, "none")]


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"create": False}, "table: does not exist, and create is false"),
        ({"table": "there", "key": "name"}, "needs a primary key or a unique index on exactly (name)"),
        ({"table": "there", "columns": ["other"]}, "columns: has 'other', which is not a column of there"),
    ],
)
async def test_a_table_that_cannot_be_used_ends_the_run_for_good(
    sqlite_database_url: str, kwargs: dict[str, Any], said: str
) -> None:
    await asked(sqlite_database_url, "CREATE TABLE there (id INTEGER PRIMARY KEY, name TEXT)")

    with pytest.raises(ChainFailed) as failed:
        await stream(sql(sqlite_database_url, **kwargs), items=[{"id": 1, "name": "x"}], on_error="skip")

    assert said in told(failed.value.cause)
    assert is_permanent(failed.value.cause)


async def test_a_database_that_is_away_is_tried_again_later_and_named_nowhere() -> None:
    sink = SqlSink(url=f"postgresql://somebody:hunter2@127.0.0.1:{free_port()}/there", table="things")

    with pytest.raises(ChainFailed) as failed:
        await stream(sink, items=[{"id": 1}], on_error="skip")

    assert isinstance(failed.value.cause, Unavailable)
    assert not is_permanent(failed.value.cause)
    said = told(failed.value.cause)
    assert "does not answer" in said
    assert not {"127.0.0.1", "somebody", "hunter2"} & set(said.replace("@", " ").replace(":", " ").split())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("oracle://a/b", "must begin with one of sqlite://"),
        ("nothing", "must be a database URL"),
        ("sqlite://", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
        ("sqlite:///../a.db", "must not have .."),
    ],
)
async def test_a_url_that_cannot_be_one_is_refused(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(ChainFailed, match=said) as failed:
        await stream(SqlSink(url=url, table="things"), items=[{"id": 1}], out=tmp_path)

    assert is_permanent(failed.value.cause)


async def test_a_relative_path_is_below_the_directory_for_files(tmp_path: Path) -> None:
    await stream(SqlSink(url="sqlite:///deep/a.db", table="things"), items=[{"id": 1}], out=tmp_path)

    assert await asked(f"sqlite+aiosqlite:///{tmp_path}/deep/a.db", "SELECT id FROM things") == [(1,)]


async def test_our_own_database_is_nobodys_sink(tmp_path: Path) -> None:
    from foliot.core.errors import Invalid
    from foliot.features.pipelines.model import RowTarget
    from foliot.features.pipelines.sql.sink import SqlSinkDatabase

    shelf = SqlSinkDatabase(tmp_path / "out", own=tmp_path / "foliot.db")

    with pytest.raises(Invalid, match="Foliot's own database"):
        async with shelf.open(RowTarget(url=f"sqlite:///{tmp_path}/foliot.db", name="runs")):
            pass


async def test_a_file_of_sqlite_is_where_files_may_be(tmp_path: Path) -> None:
    from foliot.core.errors import Invalid
    from foliot.features.pipelines.model import RowTarget
    from foliot.features.pipelines.sql.sink import SqlSinkDatabase

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path)
    shelf = SqlSinkDatabase(tmp_path / "out", more=(tmp_path / "more",))

    for outside in (f"sqlite:///{tmp_path}/a.db", "sqlite:///link/a.db"):
        with pytest.raises(Invalid, match="FOLIOT_SINK_DIRS"):
            async with shelf.open(RowTarget(url=outside, name="things")):
                pass
    for inside in ("a.db", f"{tmp_path}/out/b.db", f"{tmp_path}/more/c.db"):
        async with shelf.open(RowTarget(url=f"sqlite:///{inside}", name="things")) as rows:
            assert await rows.put([{"id": 1}]) == {}
    assert not (tmp_path / "a.db").exists()


# --- MongoDB ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoServer]:
    server = MongoServer(tmp_path_factory.mktemp("mongo"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.services)])
async def mongo(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Any]]:
    """The URI of a server, and an empty collection there."""
    if request.param == "real":
        try:
            url = named()
        except NoMongo as missing:
            pytest.skip(str(missing))
    else:
        url = request.getfixturevalue("stand_in").url
    async with AsyncMongoClient[Any](url, tz_aware=True) as client:
        things = client[DATABASE]["things"]
        await things.delete_many({})
        yield url, things
        await client.drop_database(DATABASE)


def collection(uri: str, **kwargs: Any) -> MongoSink:
    return MongoSink.model_validate({"uri": uri, "database": DATABASE, "collection": "things", **kwargs})


async def test_items_become_documents(mongo: tuple[str, Any]) -> None:
    uri, things = mongo
    items: list[Item] = [{"id": number, "in": {"list": [number]}} for number in range(5)]

    found = await stream(collection(uri, batch_size=2), items=items)

    assert found.items == items
    kept = [{name: one[name] for name in ("id", "in")} async for one in things.find({}).sort("id")]
    assert kept == items


async def test_the_example_of_the_page_writes(mongo: tuple[str, Any]) -> None:
    uri, things = mongo
    secrets = {"news-mongo": f"{uri.rstrip('/')}/{DATABASE}"}

    await stream(*chain("MongoSink"), egress=GivenPages(WEB), secrets=secrets)

    kept = [one["title"] async for one in things.database["entries"].find({}).sort("title")]
    assert kept == ["New prices", "Weather"]


async def test_with_a_key_a_document_takes_the_others_place(mongo: tuple[str, Any]) -> None:
    uri, things = mongo

    await stream(collection(uri, key="url"), items=[{"url": "a", "n": 1}])
    found = await stream(collection(uri, key="url"), items=[{"url": "a", "n": 2}, {"n": 1}], on_error="skip")

    assert [(one["url"], one["n"]) async for one in things.find({})] == [("a", 2)]
    assert "it has no 'url', which is part of the key" in found.log[0]


async def test_no_item_asks_mongodb_a_question_of_its_own(mongo: tuple[str, Any]) -> None:
    uri, things = mongo
    await stream(collection(uri, key="url"), items=[{"url": "a", "n": 1}])

    items: list[Item] = [{"url": {"$ne": 1}, "n": 2}, {"url": ["a"], "n": 3}, {"$set": {"n": 4}, "url": "a"}]
    for key in ({}, {"key": "url"}):
        found = await stream(collection(uri, **key), items=[items[2], {"url": "b"}], on_error="skip")
        assert (found.items, found.failed) == ([{"url": "b"}], 1)
    found = await stream(collection(uri, key="url"), items=items, on_error="skip")

    assert (found.items, found.failed) == ([], 3)
    assert [one["n"] async for one in things.find({"url": "a"})] == [1]


async def test_what_no_document_can_hold_fails_its_item(mongo: tuple[str, Any]) -> None:
    uri, things = mongo

    found = await stream(
        collection(uri), items=[{"id": 1, "x": 2**80}, {"id": 2}, {"id": 3, "x": "\ud800"}], on_error="skip"
    )

    assert ([item["id"] for item in found.items], found.failed) == ([2], 2)
    assert [one["id"] async for one in things.find({})] == [2]


async def test_a_mongodb_that_is_away_is_named_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foliot.features.pipelines.mongo_documents.PATIENCE", 100)

    with pytest.raises(ChainFailed) as failed:
        await stream(collection(f"mongodb://somebody:hunter2@127.0.0.1:{free_port()}/"), items=[{"id": 1}])

    assert told(failed.value.cause) == "MongoDB does not answer (ServerSelectionTimeoutError)"
    assert not is_permanent(failed.value.cause)


async def test_a_uri_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(ChainFailed, match="cannot be used by the driver of MongoDB") as failed:
        await stream(collection("http://127.0.0.1/"), items=[{"id": 1}])

    assert is_permanent(failed.value.cause)
