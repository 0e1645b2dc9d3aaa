"""A page or a selector that was made to take for ever costs its own tenant, and nobody's server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from foliot.actions.articles.extraction import extract
from foliot.piping import InPool
from foliot.ports.pipelines import Unreadable
from foliot.ports.tasks import Attempt
from foliot.tasks.builtin.fetching import NoPrice, visit
from foliot.tasks.builtin.products import Watched
from foliot.tasks.context import TaskContext
from foliot.tasks.reader import SILENCE
from foliot.testing import GivenPages
from foliot.workers import machine
from foliot.workers.reader_pool import reader_pool

HERE = "http://shop.test"
GOOD = "<html><body><article><span class=price>12,50 €</span><p>A good rucksack, and a long text.</p></article></body></html>"
SIBLINGS = "<html><body>" + "<b></b>" * 40_000
STRUCTURED = '<html><body><script type="application/ld+json">[' + ",".join(["[]"] * 1_000_000) + "]</script>" + GOOD
PAGES = {f"{HERE}/good": GOOD, f"{HERE}/siblings": SIBLINGS, f"{HERE}/structured": STRUCTURED}
ROOM = 60
"""Seconds for what takes milliseconds on a machine with nothing else to do."""


@dataclass
class Pause:
    """How long this process kept its loop from everybody, by the processor's clock."""

    longest: float = 0.0

    async def watch(self) -> None:
        while True:
            began = time.process_time()
            await asyncio.sleep(0.01)
            self.longest = max(self.longest, time.process_time() - began)


@contextmanager
def watched() -> Iterator[Pause]:
    pause = Pause()
    task = asyncio.create_task(pause.watch())
    yield pause
    task.cancel()


@pytest.fixture
async def apart() -> AsyncIterator[InPool]:
    pool = reader_pool(machine.Readers(2, 400 * machine.MEBIBYTE))
    yield InPool(pool, 2, page=timedelta(seconds=1))
    await pool.close()


def of(tenant: str) -> TaskContext:
    attempt = Attempt(run_id="r", tenant_id=tenant, schedule_id=None, attempt=1, max_attempts=1, scheduled_for=None)
    return TaskContext.of("scrape_competitor_prices", attempt, SILENCE)


async def price(apart: InPool, tenant: str, path: str, *selectors: str) -> str:
    one = Watched(competitor="shop", product="p", url=f"{HERE}/{path}", selectors=list(selectors))
    found = await visit(GivenPages(PAGES), apart, one, of(tenant), timedelta(seconds=30))
    return str(found.price)


async def test_prices_of_others_are_found_while_a_page_and_a_selector_take_for_ever(apart: InPool) -> None:
    await price(apart, "good", "good")
    with watched() as pause:
        bad = [asyncio.create_task(price(apart, "bad", "siblings", "b ~ b ~ b")) for _ in range(6)]
        bad += [asyncio.create_task(price(apart, "bad", "structured")) for _ in range(4)]
        await asyncio.sleep(0)
        async with asyncio.timeout(ROOM):
            good = [await price(apart, "good", "good") for _ in range(2)]
        assert sum(one.done() for one in bad) < len(bad), "those of the bad tenant still wait for their turns"
        for one in bad:
            one.cancel()
        told = await asyncio.gather(*bad, return_exceptions=True)

    assert good == ["12.500000"] * 2
    assert pause.longest < 1.0
    assert not [one for one in told if not isinstance(one, str | NoPrice | asyncio.CancelledError)]


async def test_a_page_that_takes_for_ever_is_given_up_and_says_so(apart: InPool) -> None:
    with pytest.raises(NoPrice, match=r"its page cannot be read: it takes longer than 1 s"):
        await price(apart, "bad", "siblings", "b ~ b ~ b")


async def test_structured_data_without_end_is_not_looked_at(apart: InPool) -> None:
    assert await price(apart, "good", "structured") == "12.500000"


async def test_a_tenant_on_probation_has_one_reader_and_no_other_waits_for_it(apart: InPool) -> None:
    apart.probation.begin("bad")
    bad = [asyncio.create_task(price(apart, "bad", "siblings", "b ~ b ~ b")) for _ in range(4)]
    await asyncio.sleep(0)
    async with asyncio.timeout(ROOM):
        for _ in range(3):
            assert await price(apart, "good", "good") == "12.500000"

    assert apart.pool.processes == 2  # type: ignore[attr-defined]
    assert sum(one.done() for one in bad) <= 2
    for one in bad:
        one.cancel()
    await asyncio.gather(*bad, return_exceptions=True)


async def test_a_small_page_that_becomes_a_huge_tree_is_refused_before_it_does(apart: InPool) -> None:
    """A few kilobytes on the wire; its reader lives on."""
    about = {"content_type": "text/html", "url": HERE}
    with pytest.raises(Unreadable, match=r"it has 6,000,000 tags, and at most 50,000 are read"):
        await apart(extract, b"<b>" * 6_000_000, about, "bad")
    with pytest.raises(Unreadable, match=r"more than 256 deep"):
        await apart(extract, b"<html><body>" + b"<div>" * 1000 + b"<p>text</p>", about, "bad")

    assert not apart.probation.holds("bad")
    assert "long text" in (await apart(extract, GOOD.encode(), about, "good"))["content"]
    assert apart.pool.processes == 1  # type: ignore[attr-defined]
