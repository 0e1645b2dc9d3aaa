"""Pages are kept as they came: once per tenant and body, within a quota, and read again by their tenant alone."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from urllib import request as urls

import pytest
from moto.server import ThreadedMotoServer
from warcio.archiveiterator import ArchiveIterator

from foliot.core.access import Caller, Role
from foliot.core.errors import Invalid, NotFound
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.fetching.model import FetchOptions, FetchRequest, Page, PageSource
from foliot.features.stored_pages.attention import FullQuotas
from foliot.features.stored_pages.bodies import LocalBodies, S3Bodies
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.stored_pages.model import IN_DATABASE, PageFilter
from foliot.features.stored_pages.sql import SqlPages
from foliot.features.stored_pages.usecases import StoredPages
from foliot.features.stored_pages.warc import head
from foliot.testing import StoppedClock
from tests.givens import statements

ANN = Caller("acme", "ann", Role.VIEWER)
BOB = Caller("beta", "bob", Role.ADMIN)
HOUR = timedelta(hours=1)
FIRST = PageRequest(50)


def wanted(tenant: str = "acme", keep: timedelta | None = HOUR) -> FetchRequest:
    options = FetchOptions(keep=keep)
    return FetchRequest(url="https://a.test/1", tenant_id=tenant, options=options, source=PageSource("run", "run_1"))


def page(body: bytes, path: str = "1", headers: Mapping[str, str] | None = None, rendered: bytes | None = None) -> Page:
    named = {"content-type": "text/html", **(headers or {})}
    return Page(url=f"https://a.test/{path}", status=200, headers=named, body=body, rendered=rendered)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def keeper(store: Database, clock: StoppedClock, tmp_path: Path) -> PageKeeper:
    return PageKeeper(store=store, clock=clock, bodies=LocalBodies(tmp_path / "pages"), quota=10_000_000)


@pytest.fixture
def stored(store: Database, clock: StoppedClock, keeper: PageKeeper) -> StoredPages:
    return StoredPages(store=store, clock=clock, keeper=keeper)


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


async def test_a_page_comes_back_as_it_came_without_cookies(keeper: PageKeeper, stored: StoredPages) -> None:
    body = b"<p>hello</p>" * 1000
    made = await keeper.keep(page(body, headers={"set-cookie": "secret", "etag": "x"}), wanted())
    assert made is not None
    found = await stored.body(ANN, made)
    (listed,) = await stored.list(ANN, FIRST, "host:a.test since:1d status:200 url:/1")

    assert (found.body, found.content_type) == (body, "text/html")
    assert listed.headers == {"content-type": "text/html", "etag": "x"}
    assert listed.stored_bytes * 4 < listed.bytes == len(body)
    assert (listed.source_kind, listed.source_id) == ("run", "run_1")


async def test_equal_bodies_of_a_tenant_are_stored_once_and_go_with_their_last_page(
    keeper: PageKeeper, store: Database, clock: StoppedClock, tmp_path: Path
) -> None:
    body = noise(IN_DATABASE + 1000)
    await keeper.keep(page(body, "1"), wanted())
    await keeper.keep(page(body, "2"), wanted(keep=3 * HOUR))
    async with store.read() as tx:
        assert await SqlPages(tx).total("acme") < len(body) * 1.1
    assert len(list(tmp_path.rglob("*.zst"))) == 1

    clock.advance(2 * HOUR)
    assert await keeper.prune(10) == 1
    assert len(list(tmp_path.rglob("*.zst"))) == 1
    clock.advance(2 * HOUR)
    assert await keeper.prune(10) == 1
    assert list(tmp_path.rglob("*.zst")) == []


async def test_a_page_of_another_tenant_is_unknown(keeper: PageKeeper, stored: StoredPages) -> None:
    made = await keeper.keep(page(b"<p>x</p>"), wanted())
    assert made is not None

    assert await stored.list(BOB, FIRST) == []
    with pytest.raises(NotFound):
        await stored.body(BOB, made)


async def test_a_rendered_page_has_both_bodies(keeper: PageKeeper, stored: StoredPages) -> None:
    made = await keeper.keep(page(b"<script/>", rendered=b"<p>by script</p>"), wanted())
    assert made is not None

    assert (await stored.body(ANN, made)).body == b"<script/>"
    assert (await stored.body(ANN, made, rendered=True)).body == b"<p>by script</p>"


async def test_a_full_quota_keeps_the_newest(store: Database, clock: StoppedClock, tmp_path: Path) -> None:
    keeper = PageKeeper(store=store, clock=clock, bodies=LocalBodies(tmp_path), quota=25_000)
    for number in range(5):
        await keeper.keep(page(noise(10_000) + bytes([number]), str(number)), wanted())
    pages = await StoredPages(store=store, clock=clock, keeper=keeper).list(ANN, FIRST)

    assert [kept.url[-1] for kept in pages] == ["4", "3"]


async def test_a_full_quota_needs_attention_for_a_day(store: Database, clock: StoppedClock, tmp_path: Path) -> None:
    keeper = PageKeeper(store=store, clock=clock, bodies=LocalBodies(tmp_path), quota=25_000)
    source = FullQuotas(clock)
    for number in range(2):
        await keeper.keep(page(noise(10_000) + bytes([number]), str(number)), wanted())
    async with store.read() as tx:
        assert await source(tx, ANN) == ()
    for number in range(2, 5):
        await keeper.keep(page(noise(10_000) + bytes([number]), str(number)), wanted())
    async with store.read() as tx:
        (entry,) = await source(tx, ANN)
        assert (entry.kind.value, entry.count, await source(tx, BOB)) == ("pages", 3, ())
    clock.advance(timedelta(hours=25))
    async with store.read() as tx:
        assert await source(tx, ANN) == ()


async def test_the_bytes_of_a_tenant_are_not_counted_for_each_page(
    store: Database, clock: StoppedClock, keeper: PageKeeper
) -> None:
    await keeper.keep(page(b"first"), wanted())
    with statements(store) as sent:
        for number in range(5):
            await keeper.keep(page(b"page %d" % number, str(number)), wanted())
    assert not [each for each in sent if "sum(" in each.lower()]


async def test_an_export_is_read_by_the_tools_of_archives(
    keeper: PageKeeper, stored: StoredPages, tmp_path: Path
) -> None:
    await keeper.keep(page(b"<p>plain</p>", "1", headers={"content-encoding": "gzip", "x-a": "b"}), wanted())
    await keeper.keep(page(b"<script/>", "2", rendered=b"<p>by script</p>"), wanted())
    piece, after = await stored.archived(ANN, PageFilter(), None)
    file = tmp_path / "pages.warc.gz"
    file.write_bytes(head("Foliot/test", stored.clock.now()) + piece)

    with file.open("rb") as stream:
        found = [
            (each.rec_type, each.rec_headers.get_header("WARC-Target-URI"), each.content_stream().read())
            for each in ArchiveIterator(stream, check_digests="raise")
        ]
    assert after is None
    assert [each[:2] for each in found] == [
        ("warcinfo", None),
        ("response", "https://a.test/2"),
        ("conversion", "https://a.test/2"),
        ("response", "https://a.test/1"),
    ]
    assert [each[2] for each in found[1:]] == [b"<script/>", b"<p>by script</p>", b"<p>plain</p>"]
    assert (await stored.archived(BOB, PageFilter(), None))[0] == b""


async def test_a_header_of_a_page_cannot_begin_a_record(keeper: PageKeeper, stored: StoredPages) -> None:
    await keeper.keep(page(b"x", headers={"x-a": "b\r\n\r\nWARC/1.1\r\nWARC-Type: response"}), wanted())
    piece, _ = await stored.archived(ANN, PageFilter(), None)
    assert [each.rec_type for each in ArchiveIterator(io.BytesIO(piece))] == ["response"]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A real server that speaks S3, with an empty bucket; yields its address."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    urls.urlopen(urls.Request(f"http://{host}:{port}/foliot", method="PUT"), timeout=10).close()
    yield f"http://{host}:{port}"
    server.stop()


async def test_large_bodies_are_kept_in_s3_read_from_there_and_deleted(
    store: Database, clock: StoppedClock, bucket: str
) -> None:
    bodies = S3Bodies("s3://foliot/pages", bucket)
    keeper = PageKeeper(store=store, clock=clock, bodies=bodies, quota=10_000_000)
    stored = StoredPages(store=store, clock=clock, keeper=keeper)
    large, small = noise(IN_DATABASE + 1000), b"<p>small</p>"
    first = await keeper.keep(page(large, "1"), wanted())
    await keeper.keep(page(large, "2"), wanted())
    second = await keeper.keep(page(small, "3"), wanted())
    assert first is not None
    assert second is not None

    assert (await stored.body(ANN, first)).body == large
    assert (await stored.body(ANN, second)).body == small
    assert len(listed(bucket)) == 1, "equal bodies are one object, and small ones are in the database"
    assert listed(bucket)[0].startswith("pages/")
    clock.advance(2 * HOUR)
    assert await keeper.prune(10) == 3
    assert listed(bucket) == []


async def test_a_bucket_that_cannot_be_reached_loses_the_page_and_not_what_was_fetched(
    store: Database, clock: StoppedClock, monkeypatch: pytest.MonkeyPatch, bucket: str
) -> None:
    bodies = S3Bodies("s3://another-bucket/pages", bucket)
    keeper = PageKeeper(store=store, clock=clock, bodies=bodies, quota=10_000_000)
    assert await keeper.keep(page(noise(IN_DATABASE + 1000)), wanted()) is None


def listed(bucket: str) -> list[str]:
    """The names of the objects."""
    with urls.urlopen(f"{bucket}/foliot?list-type=2", timeout=10) as answer:
        return re.findall(r"<Key>([^<]+)</Key>", answer.read().decode())


async def test_nothing_is_stored_unless_it_is_asked_for(keeper: PageKeeper, stored: StoredPages) -> None:
    assert await keeper.keep(page(b"x"), wanted(keep=None)) is None
    assert await stored.list(ANN, FIRST) == []


@pytest.mark.parametrize("q", ["shop", "host:", "host:a host:b", "since:soon", "status:20", "colour:red"])
async def test_a_filter_that_cannot_be_read_is_refused(stored: StoredPages, q: str) -> None:
    with pytest.raises(Invalid):
        await stored.list(ANN, FIRST, q)
