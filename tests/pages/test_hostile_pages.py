"""A page or a selector that was made to take for ever costs its own tenant only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from foliot.cluster import machine
from foliot.cluster.process_pool import reader_pool
from foliot.core.egress import OutgoingResponse
from foliot.features.fetching import robots
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.model import FetchRequest
from foliot.features.pipelines.model import Unreadable
from foliot.features.pipelines.steps.parsers import JsonParser, read_json
from foliot.features.pipelines.wiring import PooledCall
from foliot.features.prices.tasks.fetch import NoPrice, visit
from foliot.pages.article import extract
from foliot.pages.charset import decoded
from foliot.testing import GivenPages, StoppedClock, contexts

HERE = "http://shop.test"
GOOD = "<html><body><article><span class=price>12,50 €</span><p>A good rucksack, and a long text.</p></article>"
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
async def apart() -> AsyncIterator[PooledCall]:
    pool = reader_pool(machine.ReaderCapacity(2, 400 * machine.MEBIBYTE))
    yield PooledCall(pool, 2, page=timedelta(seconds=1))
    await pool.close()


async def price(apart: PooledCall, tenant: str, path: str, *selectors: str) -> str:
    request = FetchRequest(url=f"{HERE}/{path}", tenant_id=tenant)
    fetcher = Fetcher(pages=PageFetcher(egress=GivenPages(PAGES)), clock=StoppedClock())
    found = await visit(fetcher, apart, request, list(selectors))
    return str(found.price)


async def test_prices_of_others_are_found_while_a_page_and_a_selector_take_for_ever(apart: PooledCall) -> None:
    await price(apart, "good", "good")
    with watched() as pause:
        bad = [asyncio.create_task(price(apart, "bad", "siblings", "b ~ b ~ b")) for _ in range(6)]
        await asyncio.sleep(0)
        async with asyncio.timeout(ROOM):
            good = await price(apart, "good", "good")
        assert sum(one.done() for one in bad) < len(bad), "those of the bad tenant still wait for their turns"
        for one in bad:
            one.cancel()
        told = await asyncio.gather(*bad, return_exceptions=True)

    assert good == "12.500000"
    assert pause.longest < 1.0
    assert not [one for one in told if not isinstance(one, str | NoPrice | asyncio.CancelledError)]


@pytest.mark.parametrize("selector", ["b ~ b ~ b", "//b[following::b[preceding::b[contains(., 'x')]]]"])
async def test_a_page_that_takes_for_ever_is_given_up_and_says_so(apart: PooledCall, selector: str) -> None:
    with pytest.raises(NoPrice, match=r"its page cannot be read: it takes longer than 1 s"):
        await price(apart, "bad", "siblings", selector)


async def test_structured_data_without_end_is_not_looked_at(apart: PooledCall) -> None:
    assert await price(apart, "good", "structured") == "12.500000"


async def test_a_tenant_on_probation_has_one_reader_and_no_other_waits_for_it(apart: PooledCall) -> None:
    apart.probation.begin("bad")
    bad = [asyncio.create_task(price(apart, "bad", "siblings", "b ~ b ~ b")) for _ in range(4)]
    await asyncio.sleep(0)
    async with asyncio.timeout(ROOM):
        assert await price(apart, "good", "good") == "12.500000"

    assert apart.pool.processes == 2  # type: ignore[attr-defined]
    assert sum(one.done() for one in bad) <= 2
    for one in bad:
        one.cancel()
    await asyncio.gather(*bad, return_exceptions=True)


async def test_a_small_page_that_becomes_a_huge_tree_is_refused_before_it_does(apart: PooledCall) -> None:
    """A few kilobytes on the wire; its reader lives on."""
    apart.page = timedelta(seconds=ROOM)
    about = {"content_type": "text/html", "url": HERE}
    with pytest.raises(Unreadable, match=r"it has 6,000,000 tags; at most 50,000 are read"):
        await apart(extract, b"<b>" * 6_000_000, about, "bad")
    with pytest.raises(Unreadable, match=r"more than 250 deep"):
        await apart(extract, b"<html><body>" + b"<div>" * 1000 + b"<p>text</p>", about, "bad")

    assert not apart.probation.holds("bad")
    assert "long text" in (await apart(extract, GOOD.encode(), about, "good"))["content"]
    assert apart.pool.processes == 1  # type: ignore[attr-defined]


# --- elsewhere --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "raw_unicode_escape"])
def test_an_encoding_that_no_page_has_is_not_decoded_by(name: str) -> None:
    body = "späte Züge".encode("latin-1") * 100_000
    began = time.process_time()
    text = decoded(body, f"text/html; charset={name}")

    assert time.process_time() - began < 2.0
    assert text.startswith("sp\ufffdte Z\ufffdge")


def test_a_robots_txt_without_end_is_read_up_to_a_bound() -> None:
    body = b"User-agent: *\n" + b"".join(b"Disallow: /no/%d\n" % at for at in range(30_000))
    reply = OutgoingResponse(status=200, headers={}, body=body, truncated=False, elapsed=timedelta())
    said = robots.judge_robots(reply, datetime(2027, 1, 4, tzinfo=UTC)).robots

    assert len(said.splitlines()) == robots.MOST_LINES
    assert not robots.allows(said, f"{HERE}/no/1")


async def test_a_large_json_document_is_read_apart_and_in_parts(apart: PooledCall) -> None:
    rows = [{"id": at, "text": "x" * 1000} for at in range(8000)]
    body = orjson.dumps({"data": rows})
    found: list[Any] = []
    at: int | None = 0
    while at is not None:
        part = await apart(read_json, body, {"path": "data", "fields": {}, "start": at}, "good")
        assert part["error"] is None
        found += part["found"]
        at = part["next"]

    assert found == rows


async def test_a_json_document_that_becomes_huge_costs_a_reader_and_not_the_server() -> None:
    asked: list[int] = []

    async def given(function: Any, body: bytes, parameters: Any, tenant_id: str) -> Any:
        asked.append(len(body))
        raise Unreadable("MemoryError")

    step = JsonParser(path="")
    [(made, ctx)] = contexts([step], on_error="skip")
    ctx.outside = replace(ctx.outside, apart=given)
    bomb = "[" + ",".join(["{}"] * 1_000_000) + "]"

    async def items() -> AsyncIterator[dict[str, Any]]:
        yield {"body": bomb}
        yield {"body": '{"a": 1}'}

    assert [item async for item in made.run(items(), ctx)] == [{"a": 1}]
    assert asked == [len(bomb)]
