"""Pages and settings that were made to take for ever: a visit ends, says so, and costs its own tenant only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from foliot.cluster import machine
from foliot.cluster.process_pool import reader_pool
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.model import PageSource
from foliot.features.pipelines.wiring import PAGES, PooledCall
from foliot.features.watches.model.request import read_watch
from foliot.features.watches.model.visit import Reading
from foliot.features.watches.model.watch import PageState, WatchedPage, url_hash
from foliot.features.watches.visitor import PageVisitor, VisitPlan
from foliot.pages.suggestions import selectors_for
from foliot.pages.text_diff import changed_lines, diff_texts
from foliot.testing import StoppedClock
from tests.features.watches.test_watches import SHOP, product
from tests.scripted_site import ScriptedSite

ROOM = 60
"""Seconds for what takes a few of them on a machine with nothing else to do."""


@pytest.fixture
async def visitor() -> AsyncIterator[PageVisitor]:
    pool = reader_pool(machine.ReaderCapacity(2, 400 * machine.MEBIBYTE))
    site = ScriptedSite()
    fetcher = Fetcher(pages=PageFetcher(egress=site), clock=StoppedClock())
    yield PageVisitor(fetcher=fetcher, apart=PooledCall(pool, 2, page=timedelta(seconds=1)), guard=site)
    await pool.close()


def site_of(visitor: PageVisitor) -> ScriptedSite:
    assert isinstance(visitor.guard, ScriptedSite)
    return visitor.guard


async def visit(visitor: PageVisitor, tenant: str, old_text: str | None = None, **settings: Any) -> Reading:
    schedule = {"type": "interval", "interval_seconds": 3600}
    read = read_watch({"name": "one", "urls": [f"{SHOP}/1"], "schedule": schedule, **settings}, visitor.guard)
    plan = VisitPlan(tenant, read, read.reading_digest, PageSource("watch", "wat_1"))
    url = f"{SHOP}/1"
    now = StoppedClock().now()
    page = WatchedPage(id="wpg_1", tenant_id=tenant, watch_id="wat_1", url=url, url_hash=url_hash(url), first_at=now)
    async with asyncio.timeout(ROOM):
        return await visitor.visit(plan, page, old_text)


@pytest.mark.parametrize(
    "settings",
    [
        {"ignore": [{"regex": "(x+x+)+y"}]},
        {"fields": {"price": {"regex": "(x+x+)+y", "type": "text"}}},
        {"select": "//b[following::b[preceding::b[contains(., 'z')]]]"},
        {"ignore": ["b ~ b ~ b"]},
    ],
)
async def test_settings_that_take_for_ever_are_an_error_of_the_page_and_others_are_read(
    visitor: PageVisitor, settings: dict[str, Any]
) -> None:
    site_of(visitor).write("/1", "<p>" + "x" * 200 + "</p>" + "<b>n</b>" * 20_000)
    bad = [asyncio.create_task(visit(visitor, "bad", **settings)) for _ in range(2)]
    await asyncio.sleep(0)
    good = await visit(visitor, "good", fields={"text": "p"})
    assert good.state is PageState.SAME
    for read in await asyncio.gather(*bad):
        assert read.state is PageState.ERROR
        assert read.problem is not None
        assert (read.problem["code"], "longer than 1 s" in read.problem["message"]) == ("unreadable", True)


async def test_texts_whose_difference_takes_for_ever_are_a_change_without_a_diff(visitor: PageVisitor) -> None:
    old = "\n".join(["start", *(["a", "b"] * 990), "end"])
    site_of(visitor).write("/1", "".join(f"<p>{line}</p>" for line in ["begin", *(["b", "b", "a"] * 660), "stop"]))
    read = await visit(visitor, "bad", old)
    assert (read.state, read.text is not None) == (PageState.SAME, True)
    assert read.text != old


def test_everything_that_a_site_may_slow_down_has_the_time_of_one_page() -> None:
    assert {changed_lines, diff_texts, selectors_for} <= PAGES


async def test_numbers_beyond_all_bounds_are_no_values(visitor: PageVisitor) -> None:
    numbers = {"infinite": "1e999", "long": "9" * 30, "longer": "9" * 400}
    body = "{" + ",".join(f'"{name}": {value}' for name, value in numbers.items()) + "}"
    site_of(visitor).write("/1", body, content_type="application/json")
    fields = {name: {"json": name, "type": "number", "optional": True} for name in numbers}
    assert (await visit(visitor, "bad", fields=fields)).fields == {"infinite": None, "long": 1e30, "longer": None}
    site_of(visitor).write("/1", product("9" * 400 + " €") + f"<h2>{'9' * 400}</h2>")
    fields = {
        "price": {"css": ".price", "type": "price", "optional": True},
        "number": {"css": "h2", "type": "number", "optional": True},
    }
    assert (await visit(visitor, "bad", fields=fields)).fields == {"price": None, "number": None}
