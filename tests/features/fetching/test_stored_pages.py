"""Pages are kept as they came: once per tenant and body, within a quota, and read again by their tenant alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.core.access import Caller, Role
from foliot.core.errors import Invalid, NotFound
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.fetching.model import FetchOptions, FetchRequest, Page, PageSource
from foliot.features.stored_pages.bodies import LocalBodies
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.stored_pages.model import IN_DATABASE
from foliot.features.stored_pages.sql import SqlPages
from foliot.features.stored_pages.usecases import StoredPages
from foliot.testing import StoppedClock

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


async def test_nothing_is_stored_unless_it_is_asked_for(keeper: PageKeeper, stored: StoredPages) -> None:
    assert await keeper.keep(page(b"x"), wanted(keep=None)) is None
    assert await stored.list(ANN, FIRST) == []


@pytest.mark.parametrize("q", ["shop", "host:", "host:a host:b", "since:soon", "status:20", "colour:red"])
async def test_a_filter_that_cannot_be_read_is_refused(stored: StoredPages, q: str) -> None:
    with pytest.raises(Invalid):
        await stored.list(ANN, FIRST, q)
