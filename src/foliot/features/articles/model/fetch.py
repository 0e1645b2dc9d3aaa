"""What is asked of the store about articles, and of whoever fetches them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from foliot.engine.model.run import DEFAULT_PRIORITY, AttemptError, Fence, RunState
from foliot.engine.model.views import AttemptEnding, ClaimedRun
from foliot.features.articles.model.article import ItemState


def host_of(url: str) -> str:
    """The host of a URL in its one spelling, with the port where it is not the usual one."""
    return url.partition("://")[2].partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArticle:
    """One article that a job asks for."""

    url: str
    """Normalised: two spellings of one page are one article."""
    url_hash: str
    host: str
    source: str = ""
    category: str = ""
    priority: int = DEFAULT_PRIORITY

    @classmethod
    def of(cls, article: Mapping[str, Any]) -> WantedArticle:
        """As an action keeps it, with its URL in one spelling."""
        url = str(article["url"])
        return cls(
            url=url,
            url_hash=hashlib.sha256(url.encode()).hexdigest(),
            host=host_of(url),
            source=article.get("source") or "",
            category=article.get("category") or "",
            priority=article.get("priority") or DEFAULT_PRIORITY,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedArticle:
    """An article in the hands of one attempt."""

    fence: Fence
    """Its `run_id` is the article's id."""
    tenant_id: str
    url: str
    host: str
    attempt: int
    start_at: datetime
    """Its host is not to be asked before this moment."""
    latest_at: datetime | None = None
    """Nor after this one: the moments that follow belong to others."""
    etag: str | None = None
    last_modified: str | None = None
    robots: str | None = None
    """What the host allows; None while nobody has asked it."""
    moves: int = 0
    """How often the page has led on to another place; `url` and `host` are the last of them."""
    robots_due: bool = False
    """This turn belongs to the question what the host allows; the page comes with a later one."""
    slowed: bool = False
    """The host asked for patience once, and is asked less often than it might be since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedPage:
    """What a page says."""

    title: str | None = None
    content: str | None = None
    author: str | None = None
    published_at: str | None = None
    language: str | None = None
    canonical_url: str | None = None
    image: str | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUpdate:
    """What an answer taught about its host."""

    pause: timedelta | None = None
    """The host asked for this much silence: of this tenant, and of everybody when several are asked for it."""
    robots: str | None = None
    crawl_delay: timedelta | None = None
    well: bool = False
    """It answered as it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchEnding:
    """How an attempt at an article ended, ready to be written: exactly one of the four ways."""

    fence: Fence
    host: str
    at: datetime
    tenant_id: str = ""
    """Whose request taught what `news` says; nobody's, when it is about the host itself."""
    page: ExtractedPage | None = None
    unchanged: bool = False
    """The page is as it was."""
    problem: AttemptError | None = None
    retry_at: datetime | None = None
    """When to try again; None when there is no other try."""
    handed_back: bool = False
    """Nothing came of it yet: the article returns to its queue and keeps its attempt."""
    moved_to: str | None = None
    """Where the page is said to be; with `handed_back`, for that host has turns of its own."""
    lost: bool = False
    """Written for an attempt that vanished, by whoever took its article back: its fence ends with it."""
    news: HostUpdate = HostUpdate()


@dataclass(frozen=True, slots=True)
class EndedBatches:
    """Runs of batches that a transaction ended, each as it was stored; to be counted once that is committed."""

    runs: Sequence[tuple[ClaimedRun, AttemptEnding, RunState]] = ()
    released: int = 0
    """How many buffered runs could begin because these ended."""


@dataclass(frozen=True, slots=True)
class EndingsEffect:
    """What a group of endings changed."""

    accepted: frozenset[str] = frozenset()
    jobs: Sequence[str] = ()
    """Jobs that have moved."""
    finished: Sequence[str] = ()
    """Those of them that wait for nothing any more."""
    later: Sequence[datetime] = ()
    """When articles will be tried again."""
    ended: EndedBatches = EndedBatches()
    """The runs of those that are finished, which ended with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One article of one job, as people see it."""

    article_id: str
    position: int
    url: str
    source: str
    category: str
    priority: int
    state: ItemState
    at: datetime | None
    error: Mapping[str, Any] | None
    page: ExtractedPage
    scraped_at: datetime | None
    previous_scraped_at: datetime | None
    """When it was last read as it was before it changed; None when nobody has seen it change."""
    reference_count: int = 0
    """How many jobs have wanted it."""
    retry_count: int = 0
    """How often it was tried again, for whichever job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousContent:
    """What a page said before it changed."""

    title: str | None
    content: str | None
    scraped_at: datetime


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """A place in the order in which articles change."""

    at: datetime
    article_id: str = ""


@dataclass(frozen=True, slots=True)
class ChangedArticle:
    """An article that was read at some time, where it stands in that order, and when it was read."""

    mark: ChangeCursor
    scraped_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleView:
    """What is known of an article that was read, whoever asked for it."""

    id: str
    tenant_id: str
    url: str
    host: str
    page: ExtractedPage
    scraped_at: datetime
    reference_count: int
    retry_count: int
    created_at: datetime
    updated_at: datetime


Avoid = Callable[[str, str], bool]
"""Whether a tenant's articles of a host are not to be taken now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """Why there is no page, in words, and what to do about it."""

    problem: AttemptError
    permanent: bool = False
    retry_after: timedelta | None = None
    pause: timedelta | None = None
    """How long the host is to be left alone by this tenant."""


@dataclass(frozen=True, slots=True)
class PageUnchanged:
    """The page is as it was when it was last fetched."""


@dataclass(frozen=True, slots=True)
class PageMoved:
    """The page is elsewhere, be it on the same host: the next request is another turn."""

    url: str


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What a host allows, as its robots.txt says; the text is kept for every worker."""

    robots: str
    crawl_delay: timedelta | None = None
    pause: timedelta | None = None
    """How long the host is to be left alone, when it could not say what it allows."""


class Scraper(Protocol):
    """Fetches and reads pages, politely."""

    async def robots(self, taken: ClaimedArticle) -> RobotsRules | FetchFailure:
        """Ask the host of this article what it allows. A host that has nothing to say allows everything."""
        ...

    async def scrape(self, taken: ClaimedArticle) -> ExtractedPage | PageUnchanged | PageMoved | FetchFailure:
        """Fetch the page, if its host allows, and read it."""
        ...
