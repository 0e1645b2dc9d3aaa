"""Fetches a page if robots.txt allows it, and extracts the article."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from foliot.cluster.page_reader import ProcessDied
from foliot.core.ports import Clock
from foliot.engine.model.run import AttemptError
from foliot.features.articles.fetch.extractor_pool import ExtractorPool, FetchedPage, TookTooLong, UnreadablePage
from foliot.features.articles.model import ClaimedArticle, ExtractedPage
from foliot.features.fetching.answer import LONGEST_PAUSE, header, judge, never
from foliot.features.fetching.fetcher import MISSED, MOST_REDIRECTS, TOO_MANY, PageFetcher
from foliot.features.fetching.model import (
    NO_WORD,
    FetchFailure,
    FetchRequest,
    KeepPage,
    Page,
    PageMoved,
    PageSource,
    PageUnchanged,
    RobotsRules,
    host_of,
)
from foliot.features.fetching.robots import judge_robots
from foliot.pages.article import NO_TEXT, SIGN_IN

MOST_VALIDATOR = 1000
LATELY = 600.0
"""Seconds in which two pages of a host that crash their readers make it wait."""
HOSTS = 10_000
_SCRIPTED = frozenset({"no_text", "empty_page"})
"""What a page that is made by a script looks like without one."""
UNRENDERED = never(
    "no_text", "No article was found on the page; it may need a browser, and none is configured: see FOLIOT_BROWSER."
)
MISSING = {
    NO_TEXT: never("no_text", "No article was found on the page; it may need a browser."),
    SIGN_IN: never("sign_in", "The page requires a sign-in."),
}


@dataclass(slots=True)
class ReaderDeaths:
    """Hosts whose pages have lately crashed their readers: a second one within the time makes the host wait."""

    _last: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def again(self, host: str, now: float) -> bool:
        """Note a crash by a page of this host; whether there was another one lately."""
        before = self._last.pop(host, None)
        self._last[host] = now
        if len(self._last) > HOSTS:
            self._last.popitem(last=False)
        return before is not None and now - before < LATELY


@dataclass(slots=True)
class ScriptedArticles:
    """Articles without text as they came, which a browser renders when this process has claimed them again.

    Another process that claims one tries plain HTTP once more.
    """

    _missed: OrderedDict[str, FetchFailure] = field(default_factory=OrderedDict)

    def put(self, article_id: str, missed: FetchFailure) -> None:
        self._missed[article_id] = missed
        if len(self._missed) > HOSTS:
            self._missed.popitem(last=False)

    def pop(self, article_id: str) -> FetchFailure | None:
        return self._missed.pop(article_id, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScraper:
    """Implements `Scraper` by egress and the extractor pool; safe for concurrent calls."""

    fetcher: PageFetcher
    readers: ExtractorPool
    clock: Clock
    keeper: KeepPage | None = None
    deaths: ReaderDeaths = field(default_factory=ReaderDeaths)
    scripted: ScriptedArticles = field(default_factory=ScriptedArticles)

    async def robots(self, taken: ClaimedArticle) -> RobotsRules | FetchFailure:
        """Fetches robots.txt of this article's host; a host that cannot serve it is paused for a while."""
        fetched = await self.fetcher.robots(taken.url, taken.tenant_id, taken.options.access)
        if isinstance(fetched, FetchFailure):
            return fetched if fetched.permanent else RobotsRules(NO_WORD)
        return judge_robots(fetched, self.clock.now())

    async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
        """The extracted article, the target of a redirect, or why there is none."""
        request = self._request(taken)
        if (missed := self.scripted.pop(taken.fence.run_id)) is not None:
            return await self._rendered(request, None, missed)
        page = await self.fetcher.once(request, taken.robots)
        if isinstance(page, PageMoved):
            return TOO_MANY if taken.moves >= MOST_REDIRECTS else page
        if isinstance(page, FetchFailure):
            return page
        read = await self._judged(request, taken, page)
        if page.may_render and isinstance(read, FetchFailure) and read.problem.code in _SCRIPTED:
            if taken.latest_at is None:
                return await self._rendered(request, page, read)
            # The browser's request is another one to the host, which keeps its interval: it takes the next turn.
            self.scripted.put(taken.fence.run_id, read)
            return MISSED
        await self._keep(page, request)
        return read

    async def _judged(
        self, request: FetchRequest, taken: ClaimedArticle, page: Page
    ) -> ExtractedPage | PageUnchanged | FetchFailure:
        judged = judge(page, self.clock.now())
        if isinstance(judged, PageUnchanged) and not _known(taken):
            return never("http_304", "The host answered 304 Not Modified to a request that was not conditional.")
        return judged or await self._read(page, request.tenant_id)

    async def _keep(self, page: Page, request: FetchRequest) -> None:
        """Stores the page as it came, where its batch wants that."""
        if request.options.keep is not None and self.keeper is not None:
            await self.keeper.keep(page, request)

    async def _rendered(
        self, request: FetchRequest, plain: Page | None, missed: FetchFailure
    ) -> ExtractedPage | FetchFailure:
        """The article of the rendered page; as it was, if a browser is of no help."""
        page = await self.fetcher.in_browser(request)
        if (kept := plain if isinstance(page, FetchFailure) else page) is not None:
            await self._keep(kept, request)
        if isinstance(page, FetchFailure):
            # A page that brings its browser down is judged like one that brings its reader down.
            return page if page.pause is not None else missed
        read = await self._read(page, request.tenant_id) if page.status == 200 else missed
        await self.fetcher.learn(request, helped=isinstance(read, ExtractedPage))
        return read

    def _request(self, taken: ClaimedArticle) -> FetchRequest:
        latest = None
        if taken.latest_at is not None:
            latest = asyncio.get_running_loop().time() + (taken.latest_at - self.clock.now()).total_seconds()
        return FetchRequest(
            url=taken.url,
            tenant_id=taken.tenant_id,
            known=_known(taken),
            timeout=self.fetcher.timeout,
            options=taken.options,
            source=PageSource("article", taken.fence.run_id),
            latest=latest,
        )

    async def _read(self, fetched: Page, tenant_id: str) -> ExtractedPage | FetchFailure:
        page = FetchedPage(fetched.url, fetched.content_type, fetched.content, tenant_id)
        try:
            extracted = await self.readers.read(page)
        except UnreadablePage as why:
            said = str(why)[:300].rstrip(".")
            missed = never("unreadable", f"The page could not be read: {said}.")
            # Other pages of the host may be as slow: the pause keeps them from occupying processes and slots.
            return replace(missed, pause=LONGEST_PAUSE) if isinstance(why, TookTooLong) else missed
        except ProcessDied:
            # Another page may have used up the memory: the next try shows whether it was this one. A host whose pages
            # keep killing readers waits.
            again = self.deaths.again(host_of(fetched.url), self.clock.monotonic())
            problem = AttemptError("unreadable", "The page crashed its reader.")
            return FetchFailure(problem=problem, pause=LONGEST_PAUSE if again else None)
        if "missing" in extracted:
            missing = extracted["missing"]
            return UNRENDERED if missing == NO_TEXT and self.fetcher.renderer is None else MISSING[missing]
        return ExtractedPage(
            **extracted,
            rendered=fetched.rendered is not None or None,
            etag=header(fetched.headers, "etag")[:MOST_VALIDATOR] or None,
            last_modified=header(fetched.headers, "last-modified")[:64] or None,
        )


def _known(taken: ClaimedArticle) -> dict[str, str]:
    known = {"If-None-Match": taken.etag, "If-Modified-Since": taken.last_modified}
    return {name: value for name, value in known.items() if value}
