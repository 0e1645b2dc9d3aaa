"""`render: auto`: plain HTTP first, a browser where that found nothing, and at once where one was needed before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from foliot.cluster import machine
from foliot.cluster.process_pool import reader_pool
from foliot.db.database import Database
from foliot.engine.model.run import AttemptError, Fence
from foliot.features.articles.fetch.extractor_pool import ExtractorPool
from foliot.features.articles.fetch.scraper import PageScraper
from foliot.features.articles.model import ClaimedArticle, ExtractedPage
from foliot.features.fetching.answer import looks_empty
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.model import FetchFailure, FetchOptions, FetchRequest, Page, Render, host_of
from foliot.features.fetching.render.memory import REST, TRIES, RenderMemory
from foliot.net.client import HttpEgress
from foliot.testing import StoppedClock, open_store
from tests.features.fetching.rendered import SCRIPTED, Site, renderer, site

TEXT = "<p>" + "A long and quiet text about nothing in particular. " * 20 + "</p>"
FULL = f"<!doctype html><title>News</title><script>1</script><article><h1>News</h1>{TEXT}</article>"


@dataclass
class RecordedRenderer:
    """Answers with one document, and remembers what it was asked for."""

    html: str = FULL
    failure: FetchFailure | None = None
    urls: list[str] = field(default_factory=list)

    async def render(self, request: FetchRequest) -> Page | FetchFailure:
        self.urls.append(request.url)
        if self.failure is not None:
            return self.failure
        rendered = self.html.encode()
        return Page(url=request.url, status=200, headers={}, body=rendered, rendered=rendered)

    async def close(self) -> None:
        self.urls.clear()


@dataclass
class Setup:
    fetcher: Fetcher
    browser: RecordedRenderer
    memory: RenderMemory
    shop: Site
    clock: StoppedClock
    store: Database

    async def get(self, path: str = "/", render: Render | None = None, tenant_id: str = "acme") -> Page | FetchFailure:
        options = FetchOptions(render=render)
        return await self.fetcher.fetch(FetchRequest(url=self.shop.url(path), tenant_id=tenant_id, options=options))


@asynccontextmanager
async def setup(*, html: str = FULL, browser: bool = True) -> AsyncIterator[Setup]:
    clock = StoppedClock()
    pages = {"/": SCRIPTED, "/full": FULL, "/other": SCRIPTED}
    async with site(pages) as shop, HttpEgress(loopback=True) as egress, open_store() as store:
        memory = RenderMemory(store=store, clock=clock, keep=timedelta(days=7))
        made = RecordedRenderer(html)
        fetched = PageFetcher(egress=egress, renderer=made if browser else None, memory=memory if browser else None)
        yield Setup(Fetcher(pages=fetched, clock=clock), made, memory, shop, clock, store)


async def test_never_asks_no_browser_and_always_asks_at_once() -> None:
    async with setup() as given:
        page = await given.get(render=Render.NEVER)
        assert isinstance(page, Page)
        assert page.rendered is None
        assert given.browser.urls == []
        page = await given.get(render=Render.ALWAYS)
        assert isinstance(page, Page)
        assert page.rendered is not None
        assert given.shop.paths == ["/"]


async def test_auto_asks_a_browser_where_there_is_no_text_and_at_once_from_then_on() -> None:
    async with setup() as given:
        page = await given.get("/full")
        assert isinstance(page, Page)
        assert page.rendered is None
        assert given.browser.urls == []

        page = await given.get("/")
        assert isinstance(page, Page)
        assert page.rendered == FULL.encode()
        assert given.shop.paths == ["/full", "/"]

        await given.get("/other")
        assert given.shop.paths == ["/full", "/"]
        assert given.browser.urls == [given.shop.url("/"), given.shop.url("/other")]


async def test_what_a_host_needs_is_known_to_other_processes_ends_and_is_each_tenants_own() -> None:
    async with setup() as given:
        await given.get("/")
        host = host_of(given.shop.url("/"))
        other = RenderMemory(store=given.store, clock=given.clock)
        assert await other.needs("acme", host)
        assert not await other.needs("beta", host)
        given.clock.advance(timedelta(days=7, seconds=31))
        assert not await other.needs("acme", host)
        assert not await given.memory.needs("acme", host)


async def test_a_host_at_which_a_browser_is_of_no_help_is_not_rendered_again_for_a_while() -> None:
    async with setup(html=SCRIPTED) as given:
        for _ in range(TRIES + 2):
            page = await given.get("/")
            assert isinstance(page, Page)
            assert page.rendered is None
        assert len(given.browser.urls) == TRIES
        given.clock.advance(timedelta(seconds=REST + 1))
        await given.get("/")
        assert len(given.browser.urls) == TRIES + 1
        assert not await given.memory.needs("acme", host_of(given.shop.url("/")))


async def test_without_a_browser_auto_is_never_and_always_says_what_is_missing() -> None:
    async with setup(browser=False) as given:
        for mode in (None, Render.AUTO):
            page = await given.get("/", mode)
            assert isinstance(page, Page)
            assert page.rendered is None
        failure = await given.get("/", Render.ALWAYS)
        assert isinstance(failure, FetchFailure)
        assert (failure.problem.code, failure.permanent) == ("no_browser", True)
        assert "FOLIOT_BROWSER" in failure.problem.message


async def test_a_browser_that_fails_leaves_the_page_as_it_came() -> None:
    async with setup() as given:
        given.browser.failure = FetchFailure(problem=AttemptError("render_timeout", "Too slow."))
        page = await given.get("/")
        assert isinstance(page, Page)
        assert page.body == SCRIPTED.encode()


@pytest.mark.parametrize(
    ("html", "empty"),
    [
        (SCRIPTED, True),
        (FULL, False),
        ("<p>short, but whole</p>", False),
        ("<script>" + "var a = 'text'; " * 1000 + "</script><div id=app></div>", True),
        ("<!-- " + "comment " * 1000 + "--><script></script>", True),
        ("<script></script>" + "<b>" * 3000 + "</b>" * 3000, False),
        ("<script>" * 10_000, True),
        ("<" * 50_000 + "<script", True),
    ],
)
def test_a_page_looks_empty_when_it_is_a_frame_for_scripts(html: str, empty: bool) -> None:
    page = Page(url="http://x/", status=200, headers={"content-type": "text/html"}, body=html.encode())
    assert looks_empty(page) is empty


def test_only_pages_of_html_look_empty() -> None:
    feed = Page(url="http://x/", status=200, headers={"content-type": "application/json"}, body=b"<script></script>")
    assert not looks_empty(feed)


# --- articles ---------------------------------------------------------------------------------------------------------

STORY = (
    "<!doctype html><title>Shell</title><body><div id=app></div><script>"
    f"document.getElementById('app').innerHTML = `<article><h1>A story by script</h1>{TEXT}</article>`</script>"
)


@asynccontextmanager
async def scraping(fetcher: PageFetcher, clock: StoppedClock) -> AsyncIterator[PageScraper]:
    pool = reader_pool(machine.ReaderCapacity(1, 1024 * machine.MEBIBYTE))
    try:
        yield PageScraper(
            fetcher=fetcher, readers=ExtractorPool(pool=pool, many=1, patience=timedelta(minutes=1)), clock=clock
        )
    finally:
        await pool.close()


def claimed(url: str, clock: StoppedClock) -> ClaimedArticle:
    fence = Fence("art_1", 1, "tok_1")
    return ClaimedArticle(
        fence=fence, tenant_id="acme", url=url, host=host_of(url), attempt=1, start_at=clock.now(), robots=""
    )


@pytest.mark.slow
async def test_an_article_made_by_a_script_is_read_in_a_real_browser() -> None:
    clock = StoppedClock()
    async with site({"/": STORY, "/2": STORY}) as shop, HttpEgress(loopback=True) as egress, open_store() as store:
        memory = RenderMemory(store=store, clock=clock)
        without = PageFetcher(egress=egress)
        async with scraping(without, clock) as scraper:
            failure = await scraper.scrape(claimed(shop.url(), clock))
            assert isinstance(failure, FetchFailure)
            assert failure.problem.code == "no_text"
            assert "FOLIOT_BROWSER" in failure.problem.message
        async with renderer(seconds=40) as browsers:
            fetcher = replace(without, renderer=browsers, memory=memory)
            async with scraping(fetcher, clock) as scraper:
                read = await scraper.scrape(claimed(shop.url(), clock))
                assert isinstance(read, ExtractedPage), read
                assert read.title == "A story by script"
                assert await memory.needs("acme", host_of(shop.url()))
                before = len(shop.paths)
                assert isinstance(await scraper.scrape(claimed(shop.url("/2"), clock)), ExtractedPage)
                assert shop.paths[before:].count("/2") == 1
