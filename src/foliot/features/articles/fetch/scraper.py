"""Fetches a page if robots.txt allows it, and extracts the article."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foliot.cluster.pool_port import ProcessDied
from foliot.core.ports import Clock
from foliot.engine.model.run import AttemptError
from foliot.features.articles.fetch import request
from foliot.features.articles.fetch.extractor_pool import ExtractorPool, FetchedPage, TookTooLong, UnreadablePage
from foliot.features.articles.fetch.request import LONGEST_PAUSE, PageFetcher, PageResponse, header, judge, never
from foliot.features.articles.model import (
    NO_WORD,
    NO_WORD_KEPT,
    ClaimedArticle,
    ExtractedPage,
    FetchFailure,
    PageMoved,
    PageUnchanged,
    RobotsRules,
)
from foliot.pages.article import NO_TEXT, SIGN_IN

MOST_VALIDATOR = 1000
MISSING = {
    NO_TEXT: never("no_text", "Nothing on the page reads like an article; it may want a browser."),
    SIGN_IN: never("sign_in", "The page asks for a sign-in."),
}


UNHEARD = FetchFailure(
    problem=AttemptError(
        "robots_unavailable", "The host could not say what it allows, so nothing was fetched from it."
    ),
    retry_after=NO_WORD_KEPT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScraper:
    """Implements `Scraper` by egress and the extractor pool; safe for concurrent calls."""

    fetcher: PageFetcher
    readers: ExtractorPool
    clock: Clock

    async def robots(self, taken: ClaimedArticle) -> RobotsRules | FetchFailure:
        """Fetches robots.txt of this article's host; a host that cannot serve it is paused for a while."""
        fetched = await self.fetcher.robots(taken)
        if isinstance(fetched, FetchFailure):
            return fetched if fetched.permanent else RobotsRules(NO_WORD)
        return request.judge_robots(fetched.reply, self.clock.now())

    async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
        """The extracted article, the target of a redirect, or why there is none."""
        if taken.robots == NO_WORD:
            return UNHEARD
        fetched = await self.fetcher.page(taken, _known(taken))
        if not isinstance(fetched, PageResponse):
            return fetched
        found = judge(fetched.reply, self.clock.now())
        if isinstance(found, PageUnchanged) and not _known(taken):
            return never("http_304", "The host says that the page is as it was, and was not asked that.")
        return found or await self._read(fetched, taken.tenant_id)

    async def _read(self, fetched: PageResponse, tenant_id: str) -> ExtractedPage | FetchFailure:
        reply = fetched.reply
        page = FetchedPage(fetched.url, header(reply.headers, "content-type"), reply.body, tenant_id)
        try:
            extracted = await self.readers.read(page)
        except UnreadablePage as why:
            said = str(why)[:300].rstrip(".")
            missed = never("unreadable", f"The page could not be read: {said}.")
            # Other pages of the host may be as slow: the pause keeps them from occupying processes and slots.
            return replace(missed, pause=LONGEST_PAUSE) if isinstance(why, TookTooLong) else missed
        except ProcessDied:
            # Another page may have used up the memory: the next try shows whether it was this one.
            return FetchFailure(problem=AttemptError("unreadable", "The page brought its reader down."))
        if "missing" in extracted:
            return MISSING[extracted["missing"]]
        return ExtractedPage(
            **extracted,
            etag=header(reply.headers, "etag")[:MOST_VALIDATOR] or None,
            last_modified=header(reply.headers, "last-modified")[:64] or None,
        )


def _known(taken: ClaimedArticle) -> dict[str, str]:
    known = {"If-None-Match": taken.etag, "If-Modified-Since": taken.last_modified}
    return {name: value for name, value in known.items() if value}
